/* Publishes lines and prints what is published, over Redis (hiredis): one of the systems beside which groups
 * are measured.
 *
 *   redis_peer SERVER PORT KIND NAME TOPIC...     KIND is channels or streams; topics are beginnings: position/
 *
 * Reads "TOPIC TEXT" lines and prints the texts that come. Channels (PUBLISH, PSUBSCRIBE) have no memory: what is
 * published while a connection is gone is lost. A stream for each beginning (XADD, XREAD) keeps it: a reader goes
 * on after the last id that it has. */
#include <hiredis/hiredis.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Longer than a document of 512 KiB takes on a radio of 600 kbit/s that others use, too. */
enum { PATIENCE_S = 60, RETRY_S = 1, TOPICS_MAX = 8 };

static const char *server;
static int port, streams;
static char **topics;

static redisContext *connected(void) {
    for (;;) {
        struct timeval patience = {PATIENCE_S, 0};
        redisContext *context = redisConnectWithTimeout(server, port, patience);
        if (context != NULL && context->err == 0) {
            /* A connection that is dead is known after 5 + 3 x 5 s. */
            redisEnableKeepAlive(context);
            redisSetTimeout(context, patience);
            return context;
        }
        redisFree(context);
        sleep(RETRY_S);
    }
}

static void print(const redisReply *text) {
    fwrite(text->str, 1, text->len, stdout);
    putchar('\n');
}

static void listen_to_channels(void) {
    for (;; sleep(RETRY_S)) {
        redisContext *context = connected();
        for (char **topic = topics; *topic != NULL; topic++) {
            redisAppendCommand(context, "PSUBSCRIBE %s*", *topic);
        }
        redisReply *reply;
        for (;;) {
            reply = NULL;
            if (redisGetReply(context, (void **)&reply) != REDIS_OK) {
                break;
            }
            if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 4) {
                print(reply->element[3]);
            }
            freeReplyObject(reply);
        }
        redisFree(context);
    }
}

/* Of each stream the last id that came. */
static char last[TOPICS_MAX][48];

static void on_streams(const redisReply *reply) {
    for (size_t stream = 0; stream < reply->elements; stream++) {
        const redisReply *name = reply->element[stream]->element[0];
        const redisReply *entries = reply->element[stream]->element[1];
        for (size_t entry = 0; entry < entries->elements; entry++) {
            const redisReply *id = entries->element[entry]->element[0];
            const redisReply *fields = entries->element[entry]->element[1];
            for (int topic = 0; topics[topic] != NULL; topic++) {
                if (strcmp(topics[topic], name->str) == 0) {
                    snprintf(last[topic], sizeof last[topic], "%s", id->str);
                }
            }
            if (fields->elements == 2) {
                print(fields->element[1]);
            }
        }
    }
}

static void listen_to_streams(void) {
    int count = 0;
    while (topics[count] != NULL && count < TOPICS_MAX) {
        snprintf(last[count++], sizeof last[0], "0");
    }
    for (;; sleep(RETRY_S)) {
        redisContext *context = connected();
        for (;;) {
            const char *words[5 + 2 * TOPICS_MAX] = {"XREAD", "BLOCK", "5000", "STREAMS"};
            for (int topic = 0; topic < count; topic++) {
                words[4 + topic] = topics[topic];
                words[4 + count + topic] = last[topic];
            }
            redisReply *reply = redisCommandArgv(context, 4 + 2 * count, words, NULL);
            if (reply == NULL) {
                break;
            }
            if (reply->type == REDIS_REPLY_ARRAY) {
                on_streams(reply);
            }
            freeReplyObject(reply);
        }
        redisFree(context);
    }
}

static void *listen_to(void *none) {
    (void)none;
    puts("ready");
    if (streams) {
        listen_to_streams();
    } else {
        listen_to_channels();
    }
    return NULL;
}

/* Until the server has answered. Of two that arrive the reader counts one. */
static void publish(redisContext **context, char *topic, const char *text) {
    char beginning[64];
    snprintf(beginning, sizeof beginning, "%.*s", (int)(strcspn(topic, "/") + 1), topic);
    for (;;) {
        redisReply *reply = streams ? redisCommand(*context, "XADD %s * text %s", beginning, text)
                                    : redisCommand(*context, "PUBLISH %s %s", topic, text);
        if (reply != NULL) {
            freeReplyObject(reply);
            return;
        }
        redisFree(*context);
        *context = connected();
    }
}

int main(int count, char **arguments) {
    if (count < 6) {
        fprintf(stderr, "usage: redis_peer SERVER PORT channels|streams NAME TOPIC...\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 1 << 20);
    /* A connection to a killed server is an error to hiredis, and would be the end of the program. */
    signal(SIGPIPE, SIG_IGN);
    server = arguments[1];
    port = atoi(arguments[2]);
    streams = strcmp(arguments[3], "streams") == 0;
    topics = arguments + 5;
    pthread_t listener;
    pthread_create(&listener, NULL, listen_to, NULL);
    redisContext *context = connected();
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
        publish(&context, line, text);
    }
    return 0;
}
