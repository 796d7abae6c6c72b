/* Short messages over ZeroMQ, for `fanfare bench messages`:
 *
 *   zmq_messages pub|sub ENDPOINT MESSAGES BYTES PACED
 *
 * A publisher waits a second for its subscribers, sends MESSAGES messages of BYTES bytes, PACED a second
 * (0: as fast as it goes), and stays until its input ends. A message holds the time at which it was
 * published, and its number. A subscriber tells in its last line what has come. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

/* No message for so long: no more come. */
enum { SILENCE_MS = 20000 };

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int failed(const char *what) {
    fprintf(stderr, "%s: %s\n", what, zmq_strerror(zmq_errno()));
    return 1;
}

static int publish(void *socket, const char *endpoint, uint64_t messages, size_t bytes, uint64_t paced) {
    if (zmq_bind(socket, endpoint) != 0) return failed("bind");
    sleep(1);
    char *message = calloc(1, bytes);
    uint64_t began = now();
    for (uint64_t number = 0; number < messages; ++number) {
        uint64_t at = paced ? began + number * 1000000000u / paced : 0, early = now();
        if (at > early) {
            struct timespec pause = {(time_t)((at - early) / 1000000000u), (long)((at - early) % 1000000000u)};
            nanosleep(&pause, NULL);
        }
        uint64_t stamp = now();
        memcpy(message, &stamp, sizeof stamp);
        memcpy(message + sizeof stamp, &number, sizeof number);
        if (zmq_send(socket, message, bytes, 0) < 0) return failed("send");
    }
    char byte;
    while (read(0, &byte, 1) > 0) {}
    free(message);
    return 0;
}

static int by_size(const void *a, const void *b) {
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

static int subscribe(void *socket, const char *endpoint, uint64_t messages, size_t bytes) {
    if (zmq_connect(socket, endpoint) != 0) return failed("connect");
    char *message = malloc(bytes);
    uint64_t *delays = malloc((size_t)messages * sizeof *delays), received = 0, first = 0, last = 0;
    while (received < messages) {
        int length = zmq_recv(socket, message, bytes, 0);
        if (length < 0) break;
        if ((size_t)length != bytes) continue;
        uint64_t stamp;
        memcpy(&stamp, message, sizeof stamp);
        last = now();
        if (received == 0 || stamp < first) first = stamp;
        delays[received++] = last - stamp;
    }
    qsort(delays, (size_t)received, sizeof *delays, by_size);
    uint64_t p50 = received ? delays[received / 2] : 0, p99 = received ? delays[received * 99 / 100] : 0;
    printf("{\"received\":%llu,\"first_ns\":%llu,\"last_ns\":%llu,\"p50_ns\":%llu,\"p99_ns\":%llu,\"max_ns\":%llu}\n",
           (unsigned long long)received, (unsigned long long)first, (unsigned long long)last,
           (unsigned long long)p50, (unsigned long long)p99,
           (unsigned long long)(received ? delays[received - 1] : 0));
    free(message);
    free(delays);
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 6) return 2;
    uint64_t messages = strtoull(argv[3], NULL, 10), paced = strtoull(argv[5], NULL, 10);
    size_t bytes = strtoul(argv[4], NULL, 10);
    int sends = strcmp(argv[1], "pub") == 0, none = 0, silence = SILENCE_MS;
    if (bytes < 2 * sizeof messages) return 2;
    void *context = zmq_ctx_new();
    void *socket = zmq_socket(context, sends ? ZMQ_PUB : ZMQ_SUB);
    zmq_setsockopt(socket, ZMQ_SNDHWM, &none, sizeof none);
    zmq_setsockopt(socket, ZMQ_RCVHWM, &none, sizeof none);
    zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof none);
    zmq_setsockopt(socket, ZMQ_RCVTIMEO, &silence, sizeof silence);
    if (!sends) zmq_setsockopt(socket, ZMQ_SUBSCRIBE, "", 0);
    int code = sends ? publish(socket, argv[2], messages, bytes, paced) : subscribe(socket, argv[2], messages, bytes);
    zmq_close(socket);
    zmq_ctx_term(context);
    return code;
}
