/* Publishes lines and prints what is published, over MQTT (libmosquitto): one of the systems beside which
 * groups are measured.
 *
 *   mqtt_peer SERVER PORT QUALITY NAME TOPIC...       topics as subscriptions have them: position/+
 *
 * Reads "TOPIC TEXT" lines and prints the texts that come. A session that the server keeps while the connection is
 * gone: with quality of service 1 or 2 nothing is lost that the server's queue holds. */
#include <mosquitto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A keep-alive must be longer than a document of 512 KiB takes on a radio of 600 kbit/s that others use, too:
 * libmosquitto and mosquitto count whole packets as life, and an answer waits behind them. */
enum { KEEPALIVE_S = 30, RETRY_MAX_S = 2 };

static char **topics;
static int quality;

static void on_connect(struct mosquitto *client, void *user, int code) {
    (void)user;
    if (code != 0) {
        return;
    }
    for (char **topic = topics; *topic != NULL; topic++) {
        mosquitto_subscribe(client, NULL, *topic, quality);
    }
    puts("ready");
}

static void on_message(struct mosquitto *client, void *user, const struct mosquitto_message *message) {
    (void)client, (void)user;
    fwrite(message->payload, 1, (size_t)message->payloadlen, stdout);
    putchar('\n');
}

int main(int count, char **arguments) {
    if (count < 6) {
        fprintf(stderr, "usage: mqtt_peer SERVER PORT QUALITY NAME TOPIC...\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 1 << 20);
    quality = atoi(arguments[3]);
    topics = arguments + 5;
    mosquitto_lib_init();
    struct mosquitto *client = mosquitto_new(arguments[4], false, NULL);
    if (client == NULL) {
        return 1;
    }
    mosquitto_connect_callback_set(client, on_connect);
    mosquitto_message_callback_set(client, on_message);
    mosquitto_reconnect_delay_set(client, 1, RETRY_MAX_S, false);
    mosquitto_max_inflight_messages_set(client, 0);
    mosquitto_int_option(client, MOSQ_OPT_TCP_NODELAY, 1);
    /* Later the loop does this; of a server that refuses the first time it makes no second attempt. */
    while (mosquitto_connect(client, arguments[1], atoi(arguments[2]), KEEPALIVE_S) != MOSQ_ERR_SUCCESS) {
        sleep(1);
    }
    if (mosquitto_loop_start(client) != MOSQ_ERR_SUCCESS) {
        return 1;
    }
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
        /* Without a connection it waits in the library. */
        mosquitto_publish(client, NULL, line, (int)strlen(text), text, quality, false);
    }
    mosquitto_loop_stop(client, true);
    return 0;
}
