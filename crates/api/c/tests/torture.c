/* Handles are opened, used, stopped and closed by several threads at once, also while another thread
 * waits in them. */
#include <fanfare.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, ROUNDS = 12 };

static const char *group;
static _Atomic uint64_t handles[THREADS];

static void *use(void *number)
{
    unsigned seed = (unsigned)(size_t)number + 1;
    for (int i = 0; i < 4000; i++) {
        uint64_t handle = handles[rand_r(&seed) % THREADS];
        fanfare_event event;
        fanfare_message message;
        fanfare_status status;
        size_t taken;
        switch (rand_r(&seed) % 7) {
        case 0: fanfare_out_try_write(handle, "some bytes", 10, &taken); break;
        case 1: fanfare_out_flush(handle, true); break;
        case 2: fanfare_out_status(handle, &status); break;
        case 3: fanfare_out_next(handle, 0, &event); break;
        case 4: fanfare_group_next(handle, 1, &message); break;
        case 5: fanfare_options_set(handle, "rate", "5M"); break;
        default: fanfare_in_offset(handle, &(uint64_t){0}); break;
        }
    }
    return NULL;
}

static void *wait_in(void *handle)
{
    size_t count;
    char room[8];
    /* It comes back when the handle is closed. */
    if (fanfare_in_read(*(fanfare_in *)handle, room, sizeof room, -1, &count) == FANFARE_OK)
        exit(1);
    return NULL;
}

static void open_one(int place, int kind)
{
    uint64_t made = 0;
    switch (kind) {
    case 0: fanfare_out_open(group, 0, &made); break;
    case 1: fanfare_join(group, 0, &made); break;
    case 2: fanfare_options_new(&made); break;
    default: fanfare_in_open(group, 0, &made); break;
    }
    if (made == 0) {
        fprintf(stderr, "torture: %s\n", fanfare_error());
        exit(1);
    }
    handles[place] = made;
}

int main(int count, char **words)
{
    if (count != 2)
        return 2;
    group = words[1];
    for (int i = 0; i < THREADS; i++)
        open_one(i, i);
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, use, (void *)i);
    for (int round = 0; round < ROUNDS; round++) {
        int place = round % THREADS;
        fanfare_close(handles[place]);
        open_one(place, (round + round / THREADS) % 4);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);

    fanfare_in waiting;
    if (fanfare_in_open(group, 0, &waiting) != FANFARE_OK)
        return 1;
    pthread_t waiter;
    pthread_create(&waiter, NULL, wait_in, &waiting);
    fanfare_close(waiting);
    pthread_join(waiter, NULL);
    for (int i = 0; i < THREADS; i++)
        fanfare_close(handles[i]);
    printf("done\n");
    return 0;
}
