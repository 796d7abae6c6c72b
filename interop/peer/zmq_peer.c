/* ZeroMQ over norm://, for runs with its NORM transport:
 *
 *   zmq_peer pub|xpub|sub|xsub ADDRESS MESSAGES BYTES [PAUSE]
 *
 * A publisher waits a second for its subscribers, then sends MESSAGES messages of BYTES bytes: a number, and a
 * pattern that follows from it. PAUSE is microseconds between messages. Then it says "end" until its standard
 * input is closed.
 * A subscriber takes messages until it hears "end", and says what came:
 *   got N first N gaps N wrong N seconds S
 * Exit codes: 0 done, 1 failed, 2 usage. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int failed(const char *what) {
    fprintf(stderr, "%s: %s\n", what, zmq_strerror(zmq_errno()));
    return 1;
}

/* Whether standard input is closed, after so many microseconds. */
static int is_over(long wait) {
    char byte;
    fd_set set;
    struct timeval time = {0, wait};
    FD_ZERO(&set);
    FD_SET(0, &set);
    return select(1, &set, NULL, NULL, &time) > 0 && read(0, &byte, 1) == 0;
}

static int publish(void *socket, const char *address, long messages, size_t bytes, long pause) {
    char *message = malloc(bytes);
    if (zmq_bind(socket, address) != 0) return failed("bind");
    sleep(1);
    double began = now();
    for (long number = 0; number < messages; ++number) {
        memset(message, (int)(number % 251), bytes);
        memcpy(message, &number, sizeof number);
        if (zmq_send(socket, message, bytes, 0) < 0) return failed("send");
        if (pause > 0) usleep((useconds_t)pause);
    }
    fprintf(stderr, "queued in %.3f s\n", now() - began);
    while (!is_over(100000))
        if (zmq_send(socket, "end", 3, 0) < 0) return failed("send");
    free(message);
    return 0;
}

static int subscribe(void *socket, const char *address, size_t bytes, int joins) {
    char *message = malloc(bytes), *pattern = malloc(bytes);
    long got = 0, first = -1, next = 0, gaps = 0, wrong = 0;
    double began = 0, ended = 0;
    if (zmq_connect(socket, address) != 0) return failed("connect");
    if (joins && zmq_send(socket, "\1", 1, 0) < 0) return failed("subscribe");
    for (;;) {
        int length = zmq_recv(socket, message, bytes, 0);
        if (length < 0) return failed("receive");
        if (length == 3 && memcmp(message, "end", 3) == 0) break;
        long number;
        memcpy(&number, message, sizeof number);
        memset(pattern, (int)(number % 251), bytes);
        memcpy(pattern, &number, sizeof number);
        if ((size_t)length != bytes || memcmp(message, pattern, bytes) != 0) ++wrong;
        if (first < 0) {
            first = next = number;
            began = now();
        }
        if (number != next) ++gaps;
        next = number + 1;
        ++got;
        ended = now();
    }
    printf("got %ld first %ld gaps %ld wrong %ld seconds %.6f\n", got, first, gaps, wrong, ended - began);
    free(message);
    free(pattern);
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 5) return 2;
    const char *verb = argv[1];
    long messages = atol(argv[3]), pause = argc > 5 ? atol(argv[5]) : 0;
    size_t bytes = (size_t)atol(argv[4]);
    int sends = strstr(verb, "pub") != NULL, crossed = verb[0] == 'x';
    if (bytes < sizeof messages) return 2;
    void *context = zmq_ctx_new();
    void *socket = zmq_socket(context, sends ? (crossed ? ZMQ_XPUB : ZMQ_PUB) : (crossed ? ZMQ_XSUB : ZMQ_SUB));
    int none = 0, patience = 60000;
    zmq_setsockopt(socket, ZMQ_SNDHWM, &none, sizeof none);
    zmq_setsockopt(socket, ZMQ_RCVHWM, &none, sizeof none);
    zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof none);
    zmq_setsockopt(socket, ZMQ_RCVTIMEO, &patience, sizeof patience);
    if (!sends && !crossed) zmq_setsockopt(socket, ZMQ_SUBSCRIBE, "", 0);
    int code = sends ? publish(socket, argv[2], messages, bytes, pause)
                     : subscribe(socket, argv[2], bytes, crossed);
    double ends = now();
    zmq_close(socket);
    zmq_ctx_term(context);
    if (now() - ends > 1) {
        fprintf(stderr, "the end took %.1f s\n", now() - ends);
        return 1;
    }
    return code;
}
