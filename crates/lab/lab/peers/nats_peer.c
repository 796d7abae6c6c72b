/* Publishes lines and prints what is published, over NATS with JetStream (cnats): one of the systems
 * beside which groups are measured.
 *
 *   nats_peer SERVER NAME stream|file|core SUBJECT...     subjects as subscriptions have them: position.*
 *
 * Reads "SUBJECT TEXT" lines and prints the texts that come. `stream`: JetStream. A stream takes each message
 * once, and each client has a durable consumer for each subject: nothing is lost that the stream holds. `file`: the
 * stream is on disk, and is there again after the server was killed. `core`:
 * NATS alone, which tells those that are connected and keeps nothing. */
#include <nats/nats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* On a radio of 600 kbit/s that all share a document of 512 KiB takes 7 s alone: whoever gives it up earlier, or
 * takes a connection for dead because a ping waits behind it, sends it again and again. So a third of the
 * radio's rate is allowed for, and what is long may take a minute. */
enum { PING_MS = 10000, RETRY_MS = 1000, ANSWER_MS = 4000, BYTES_PER_MS = 8, ACK_WAIT_S = 30, LONG_ACK_WAIT_S = 60 };

static void on_message(natsConnection *server, natsSubscription *subscription, natsMsg *message, void *user) {
    (void)server, (void)subscription;
    fwrite(natsMsg_GetData(message), 1, (size_t)natsMsg_GetDataLength(message), stdout);
    putchar('\n');
    if (user != NULL) {
        natsMsg_Ack(message, NULL);
    }
    natsMsg_Destroy(message);
}

static void on_error(natsConnection *server, natsSubscription *subscription, natsStatus error, void *user) {
    (void)server, (void)subscription, (void)error, (void)user;
}

/* The stream may have been made by another client, or the server may be out of reach. */
static void make_stream(jsCtx *context, jsStorageType storage) {
    const char *subjects[] = {"position.>", "sensor.>", "document.>"};
    jsStreamConfig config;
    jsStreamConfig_Init(&config);
    config.Name = "COMPANY";
    config.Subjects = subjects;
    config.SubjectsLen = 3;
    config.Storage = storage;
    jsErrCode code = 0;
    for (;;) {
        natsStatus made = js_AddStream(NULL, context, &config, NULL, &code);
        if (made == NATS_OK || code == JSStreamNameExistErr) {
            return;
        }
        nats_Sleep(RETRY_MS);
    }
}

static void subscribe(jsCtx *context, const char *name, const char *subject, int number) {
    char durable[64];
    snprintf(durable, sizeof durable, "%s-%d", name, number);
    for (;;) {
        jsSubOptions options;
        jsSubOptions_Init(&options);
        options.Stream = "COMPANY";
        options.Config.Durable = durable;
        options.Config.DeliverPolicy = js_DeliverAll;
        options.Config.AckPolicy = js_AckExplicit;
        int64_t wait = strncmp(subject, "position", 8) == 0 ? ACK_WAIT_S : LONG_ACK_WAIT_S;
        options.Config.AckWait = wait * 1000000000;
        options.ManualAck = true;
        natsSubscription *subscription = NULL;
        if (js_Subscribe(&subscription, context, subject, on_message, context, NULL, &options, NULL) == NATS_OK) {
            return;
        }
        nats_Sleep(RETRY_MS);
    }
}

/* Until the stream has it: it knows by the id what it has already. */
static void publish(jsCtx *context, const char *subject, const char *text, const char *id) {
    for (;;) {
        jsPubOptions options;
        jsPubOptions_Init(&options);
        options.MsgId = id;
        options.MaxWait = ANSWER_MS + (int64_t)strlen(text) / BYTES_PER_MS;
        if (js_Publish(NULL, context, subject, text, (int)strlen(text), &options, NULL) == NATS_OK) {
            return;
        }
        nats_Sleep(RETRY_MS);
    }
}

int main(int count, char **arguments) {
    if (count < 5) {
        fprintf(stderr, "usage: nats_peer SERVER NAME stream|file|core SUBJECT...\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 1 << 20);
    const char *name = arguments[2];
    int on_disk = strcmp(arguments[3], "file") == 0, keeps = on_disk || strcmp(arguments[3], "stream") == 0;
    natsOptions *options = NULL;
    natsConnection *server = NULL;
    jsCtx *context = NULL;
    natsOptions_Create(&options);
    natsOptions_SetURL(options, arguments[1]);
    natsOptions_SetMaxReconnect(options, -1);
    natsOptions_SetReconnectWait(options, RETRY_MS);
    natsOptions_SetRetryOnFailedConnect(options, true, NULL, NULL);
    natsOptions_SetPingInterval(options, PING_MS);
    natsOptions_SetErrorHandler(options, on_error, NULL);
    natsStatus connected = natsConnection_Connect(&server, options);
    if (connected != NATS_OK && connected != NATS_NOT_YET_CONNECTED) {
        fprintf(stderr, "%s\n", natsStatus_GetText(connected));
        return 1;
    }
    if (natsConnection_JetStream(&context, server, NULL) != NATS_OK) {
        return 1;
    }
    if (keeps) {
        make_stream(context, on_disk ? js_FileStorage : js_MemoryStorage);
    }
    for (int number = 4; number < count; number++) {
        natsSubscription *subscription = NULL;
        if (keeps) {
            subscribe(context, name, arguments[number], number);
        } else if (natsConnection_Subscribe(&subscription, server, arguments[number], on_message, NULL) != NATS_OK) {
            return 1;
        }
    }
    puts("ready");
    char *line = NULL, id[96];
    size_t room = 0;
    ssize_t length;
    for (unsigned long number = 0; (length = getline(&line, &room, stdin)) > 0; number++) {
        line[length - 1] = '\0';
        char *text = strchr(line, ' ');
        if (text == NULL) {
            continue;
        }
        *text++ = '\0';
        snprintf(id, sizeof id, "%s-%lu", name, number);
        if (keeps) {
            publish(context, line, text, id);
        } else {
            natsConnection_PublishString(server, line, text);
        }
    }
    return 0;
}
