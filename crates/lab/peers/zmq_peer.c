/* Publishes lines and prints what is published, over ZeroMQ's PUB and SUB on NORM (libzmq with libnorm): one
 * of the systems beside which groups are measured.
 *
 *   zmq_peer INTERFACE GROUP:PORT ID TOPIC...     topics are beginnings: position/
 *
 * Reads "TOPIC TEXT" lines and prints the texts that come. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

static char **topics;
static char place[128];

static void *listen_to(void *context) {
    void *socket = zmq_socket(context, ZMQ_SUB);
    int all = 0;
    zmq_setsockopt(socket, ZMQ_RCVHWM, &all, sizeof all);
    for (char **topic = topics; *topic != NULL; topic++) {
        zmq_setsockopt(socket, ZMQ_SUBSCRIBE, *topic, strlen(*topic));
    }
    if (zmq_connect(socket, place) != 0) {
        fprintf(stderr, "%s: %s\n", place, zmq_strerror(zmq_errno()));
        exit(1);
    }
    puts("ready");
    zmq_msg_t part;
    zmq_msg_init(&part);
    while (zmq_msg_recv(&part, socket, 0) >= 0) {
        /* Topic, then text. */
        if (!zmq_msg_more(&part)) {
            fwrite(zmq_msg_data(&part), 1, zmq_msg_size(&part), stdout);
            putchar('\n');
        }
    }
    return NULL;
}

int main(int count, char **arguments) {
    if (count < 5) {
        fprintf(stderr, "usage: zmq_peer INTERFACE GROUP:PORT ID TOPIC...\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 1 << 20);
    snprintf(place, sizeof place, "norm://%s,%s;%s", arguments[3], arguments[1], arguments[2]);
    topics = arguments + 4;
    void *context = zmq_ctx_new();
    void *socket = zmq_socket(context, ZMQ_PUB);
    int all = 0;
    zmq_setsockopt(socket, ZMQ_SNDHWM, &all, sizeof all);
    if (zmq_connect(socket, place) != 0) {
        fprintf(stderr, "%s: %s\n", place, zmq_strerror(zmq_errno()));
        return 1;
    }
    pthread_t listener;
    pthread_create(&listener, NULL, listen_to, context);
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    while ((length = getline(&line, &room, stdin)) > 0) {
        line[length - 1] = '\0';
        char *text = strchr(line, ' ');
        if (text == NULL) {
            continue;
        }
        *text++ = '\0';
        zmq_send(socket, line, strlen(line), ZMQ_SNDMORE);
        zmq_send(socket, text, strlen(text), 0);
    }
    pthread_join(listener, NULL);
    return 0;
}
