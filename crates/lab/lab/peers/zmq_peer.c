/* Publishes lines and prints what is published, over ZeroMQ's PUB and SUB on NORM (libzmq with libnorm) or on TCP:
 * one of the systems beside which groups are measured.
 *
 *   zmq_peer INTERFACE GROUP:PORT ID TOPIC...     topics are beginnings: position/
 *   zmq_peer tcp PORT,ADDRESS,ADDRESS,... ID TOPIC...       all members; the one with number ID is this one
 *
 * Reads "TOPIC TEXT" lines and prints the texts that come.
 *
 * Two faults of libzmq 4.3.4 over NORM are worked around. A message of more than its buffer of 2048 bytes makes
 * the publisher's thread turn for ever (norm_engine_t::send_data never begins the second buffer at its start): long
 * texts go in pieces. Of messages of several parts that come from several publishers at once the parts are
 * mixed: topic, ID, piece, pieces and text are one part, with spaces between. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

enum { PIECE = 1800, HEADER = 200, PUBLISHERS_MAX = 256, TEXT_MAX = 1 << 20 };

static char **topics;
static char place[128];
/* By TCP: the port, and all members. */
static char *members;
static unsigned own;

/* What has come of a publisher's present text: pieces come in its order, or not at all. */
static struct {
    char *text;
    size_t length;
    unsigned pieces;
} partial[PUBLISHERS_MAX];

static void on_piece(const char *message, size_t length) {
    char header[HEADER + 1] = {0};
    memcpy(header, message, length < HEADER ? length : HEADER);
    unsigned id, piece, pieces;
    int begin = 0;
    if (sscanf(header, "%*s %u %u %u%n", &id, &piece, &pieces, &begin) != 3 || id >= PUBLISHERS_MAX) {
        return;
    }
    size_t content = length - (size_t)begin - 1;
    if (piece == 0) {
        partial[id].length = partial[id].pieces = 0;
    }
    if (piece != partial[id].pieces || partial[id].length + content > TEXT_MAX) {
        /* One before it is lost: the text is. */
        partial[id].pieces = pieces;
        return;
    }
    if (partial[id].text == NULL) {
        partial[id].text = malloc(TEXT_MAX);
    }
    memcpy(partial[id].text + partial[id].length, message + begin + 1, content);
    partial[id].length += content;
    if (++partial[id].pieces == pieces) {
        fwrite(partial[id].text, 1, partial[id].length, stdout);
        putchar('\n');
    }
}

static void go(int result) {
    if (result != 0) {
        fprintf(stderr, "%s: %s\n", place, zmq_strerror(zmq_errno()));
        exit(1);
    }
}

static void *listen_to(void *context) {
    void *socket = zmq_socket(context, ZMQ_SUB);
    int all = 0;
    zmq_setsockopt(socket, ZMQ_RCVHWM, &all, sizeof all);
    for (char **topic = topics; *topic != NULL; topic++) {
        zmq_setsockopt(socket, ZMQ_SUBSCRIBE, *topic, strlen(*topic));
    }
    if (members == NULL) {
        go(zmq_connect(socket, place));
    } else {
        char *rest = NULL, *port = strtok_r(members, ",", &rest), *member;
        for (unsigned number = 1; (member = strtok_r(NULL, ",", &rest)) != NULL; number++) {
            snprintf(place, sizeof place, "tcp://%s:%s", member, port);
            if (number != own) {
                go(zmq_connect(socket, place));
            }
        }
    }
    puts("ready");
    zmq_msg_t message;
    zmq_msg_init(&message);
    while (zmq_msg_recv(&message, socket, 0) >= 0) {
        on_piece(zmq_msg_data(&message), zmq_msg_size(&message));
    }
    return NULL;
}

static void publish(void *socket, const char *topic, const char *id, const char *text, size_t length) {
    size_t pieces = (length + PIECE - 1) / PIECE;
    char message[HEADER + PIECE];
    for (size_t piece = 0; piece < pieces; piece++) {
        size_t rest = length - piece * PIECE, content = rest < PIECE ? rest : PIECE;
        int header = snprintf(message, HEADER, "%s %s %zu %zu ", topic, id, piece, pieces);
        memcpy(message + header, text + piece * PIECE, content);
        zmq_send(socket, message, (size_t)header + content, 0);
    }
}

int main(int count, char **arguments) {
    if (count < 5) {
        fprintf(stderr, "usage: zmq_peer INTERFACE GROUP:PORT ID TOPIC...\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 1 << 20);
    if (strcmp(arguments[1], "tcp") == 0) {
        own = (unsigned)atoi(arguments[3]);
        members = arguments[2];
        snprintf(place, sizeof place, "tcp://*:%u", (unsigned)atoi(members));
    } else {
        snprintf(place, sizeof place, "norm://%s,%s;%s", arguments[3], arguments[1], arguments[2]);
    }
    topics = arguments + 4;
    void *context = zmq_ctx_new();
    void *socket = zmq_socket(context, ZMQ_PUB);
    int all = 0;
    zmq_setsockopt(socket, ZMQ_SNDHWM, &all, sizeof all);
    go(members == NULL ? zmq_connect(socket, place) : zmq_bind(socket, place));
    pthread_t listener;
    pthread_create(&listener, NULL, listen_to, context);
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    while ((length = getline(&line, &room, stdin)) > 0) {
        char *text = strchr(line, ' ');
        if (text == NULL || text - line > HEADER / 2) {
            continue;
        }
        *text++ = '\0';
        publish(socket, line, arguments[3], text, (size_t)(line + length - 1 - text));
    }
    pthread_join(listener, NULL);
    return 0;
}
