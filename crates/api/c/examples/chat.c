/* A chat without a server: lines of standard input go to everybody in the room, and what others say
 * is printed. At the end it waits until all members have the last line.
 *
 *   chat GROUP NAME
 */
#include <fanfare.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(fanfare_result result)
{
    if (result != FANFARE_OK) {
        fprintf(stderr, "chat: %s\n", fanfare_error());
        exit(1);
    }
}

static int members;

/* Prints what has come within so many milliseconds. */
static void listen_for(fanfare_group room, uint32_t own, int milliseconds)
{
    fanfare_message message;
    while (fanfare_group_next(room, milliseconds, &message) == FANFARE_OK) {
        if (message.kind == FANFARE_MESSAGE && message.node != own)
            printf("%s: %.*s\n", strrchr(message.topic, '/') + 1, (int)message.length,
                   (const char *)message.data);
        else if (message.kind == FANFARE_JOINED)
            printf("(%d here)\n", ++members + 1);
        else if (message.kind == FANFARE_GONE)
            printf("(%d here)\n", --members + 1);
        fflush(stdout);
    }
}

/* Whether anybody else has the message. */
static int is_held(fanfare_group room, uint32_t message)
{
    const fanfare_receipt *receipts;
    size_t count;
    check(fanfare_receipts(room, &receipts, &count));
    for (size_t i = 0; i < count; i++)
        if (receipts[i].message == message && receipts[i].standing == FANFARE_HOLDS)
            return 1;
    return 0;
}

int main(int count, char **words)
{
    if (count != 3) {
        fprintf(stderr, "usage: chat GROUP NAME\n");
        return 2;
    }
    fanfare_group room;
    fanfare_options said, heard;
    check(fanfare_join(words[1], 0, &room));
    check(fanfare_options_new(&said));
    check(fanfare_options_set(said, "receipts", "true"));
    check(fanfare_options_new(&heard));
    check(fanfare_options_set(heard, "ordering", "source"));
    check(fanfare_subscribe(room, "chat/#", heard, NULL));
    uint32_t own = fanfare_node(room), last = 0;
    int published = 0;

    char topic[256], line[4096];
    snprintf(topic, sizeof topic, "chat/%s", words[2]);
    for (;;) {
        struct pollfd input = {0, POLLIN, 0};
        listen_for(room, own, 20);
        if (poll(&input, 1, 0) == 0)
            continue;
        if (!fgets(line, sizeof line, stdin))
            break;
        check(fanfare_publish(room, topic, line, strcspn(line, "\n"), said, &last));
        published = 1;
    }
    for (int i = 0; published && members > 0 && i < 250 && !is_held(room, last); i++)
        listen_for(room, own, 20);

    check(fanfare_finish(room, NULL));
    fanfare_close(room);
    fanfare_close(said);
    fanfare_close(heard);
    return 0;
}
