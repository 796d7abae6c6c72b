/* Publishes lines and prints what is published, over AMQP (librabbitmq): RabbitMQ is one of the systems beside
 * which groups are measured.
 *
 *   amqp_peer SERVER PORT NAME TOPIC...       topics as AMQP binds them: position.#
 *
 * Reads "TOPIC TEXT" lines and prints the texts that come. A topic exchange, and a queue for each client that
 * stays while its connection is gone: nothing is lost that the queue holds. The publisher waits until the server
 * has confirmed. With DURABLE in the environment exchange, queues and messages survive the server. */
#include <pthread.h>
#include <amqp.h>
#include <amqp_tcp_socket.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

/* A heartbeat must be longer than a document of 512 KiB takes on a radio of 600 kbit/s that others use, too. */
enum { HEARTBEAT_S = 60, RETRY_S = 1, FRAME = 131072, CHANNEL = 1 };

static const char *server, *name;
static int port, durable;
static char **topics;

static int failed(amqp_connection_state_t connection) {
    return amqp_get_rpc_reply(connection).reply_type != AMQP_RESPONSE_NORMAL;
}

static amqp_connection_state_t try_connect(void) {
    amqp_connection_state_t connection = amqp_new_connection();
    amqp_socket_t *socket = amqp_tcp_socket_new(connection);
    struct timeval patience = {HEARTBEAT_S, 0};
    if (socket != NULL && amqp_socket_open_noblock(socket, server, port, &patience) == AMQP_STATUS_OK) {
        amqp_rpc_reply_t login = amqp_login(connection, "/", 0, FRAME, HEARTBEAT_S, AMQP_SASL_METHOD_PLAIN,
                                            "company", "company");
        if (login.reply_type == AMQP_RESPONSE_NORMAL) {
            amqp_channel_open(connection, CHANNEL);
            if (!failed(connection)) {
                amqp_exchange_declare(connection, CHANNEL, amqp_cstring_bytes("company"),
                                      amqp_cstring_bytes("topic"), 0, durable, 0, 0, amqp_empty_table);
                if (!failed(connection)) {
                    return connection;
                }
            }
        }
    }
    amqp_destroy_connection(connection);
    return NULL;
}

static amqp_connection_state_t connected(void) {
    amqp_connection_state_t connection;
    while ((connection = try_connect()) == NULL) {
        sleep(RETRY_S);
    }
    return connection;
}

static int subscribe(amqp_connection_state_t connection) {
    amqp_bytes_t queue = amqp_cstring_bytes(name);
    amqp_queue_declare(connection, CHANNEL, queue, 0, durable, 0, 0, amqp_empty_table);
    if (failed(connection)) {
        return 0;
    }
    for (char **topic = topics; *topic != NULL; topic++) {
        amqp_queue_bind(connection, CHANNEL, queue, amqp_cstring_bytes("company"), amqp_cstring_bytes(*topic),
                        amqp_empty_table);
        if (failed(connection)) {
            return 0;
        }
    }
    amqp_basic_consume(connection, CHANNEL, queue, amqp_empty_bytes, 0, 0, 0, amqp_empty_table);
    return !failed(connection);
}

static void *listen_to(void *none) {
    (void)none;
    puts("ready");
    for (;; sleep(RETRY_S)) {
        amqp_connection_state_t connection = connected();
        if (subscribe(connection)) {
            for (;;) {
                amqp_envelope_t envelope;
                amqp_maybe_release_buffers(connection);
                if (amqp_consume_message(connection, &envelope, NULL, 0).reply_type != AMQP_RESPONSE_NORMAL) {
                    break;
                }
                fwrite(envelope.message.body.bytes, 1, envelope.message.body.len, stdout);
                putchar('\n');
                amqp_basic_ack(connection, CHANNEL, envelope.delivery_tag, 0);
                amqp_destroy_envelope(&envelope);
            }
        }
        amqp_destroy_connection(connection);
    }
    return NULL;
}

static amqp_connection_state_t publisher(void) {
    for (;; sleep(RETRY_S)) {
        amqp_connection_state_t connection = connected();
        amqp_confirm_select(connection, CHANNEL);
        if (!failed(connection)) {
            return connection;
        }
        amqp_destroy_connection(connection);
    }
}

/* Until the server has confirmed. Of two that arrive the reader counts one. */
static void publish(amqp_connection_state_t *connection, const char *topic, const char *text) {
    amqp_basic_properties_t kept = {0};
    kept._flags = AMQP_BASIC_DELIVERY_MODE_FLAG;
    kept.delivery_mode = AMQP_DELIVERY_PERSISTENT;
    for (;;) {
        amqp_frame_t frame;
        struct timeval patience = {HEARTBEAT_S, 0};
        if (amqp_basic_publish(*connection, CHANNEL, amqp_cstring_bytes("company"), amqp_cstring_bytes(topic), 0, 0,
                               durable ? &kept : NULL, amqp_cstring_bytes(text)) == AMQP_STATUS_OK &&
            amqp_simple_wait_frame_noblock(*connection, &frame, &patience) == AMQP_STATUS_OK) {
            amqp_maybe_release_buffers(*connection);
            return;
        }
        amqp_destroy_connection(*connection);
        *connection = publisher();
    }
}

int main(int count, char **arguments) {
    if (count < 5) {
        fprintf(stderr, "usage: amqp_peer SERVER PORT NAME TOPIC...\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 1 << 20);
    server = arguments[1];
    port = atoi(arguments[2]);
    durable = getenv("DURABLE") != NULL;
    name = arguments[3];
    topics = arguments + 4;
    pthread_t listener;
    pthread_create(&listener, NULL, listen_to, NULL);
    amqp_connection_state_t connection = publisher();
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
        publish(&connection, line, text);
    }
    return 0;
}
