/* Sends lines and prints those that come, each an object of data over NORM (libnorm): the system beside which
 * groups are measured in the tactical test.
 *
 *   norm_messages send INTERFACE GROUP PORT ID RATE GRTT PARITY SEGMENT
 *   norm_messages recv INTERFACE GROUP PORT ID
 *
 * The sender reads "TOPIC TEXT" lines, sends the texts and prints "sent @NUMBER@", with what stands between the
 * text's first two marks, when all of one has been sent once. RATE in bits per second, GRTT in seconds; PARITY
 * packets follow each block unasked; SEGMENT bytes at most are in each. normApi.h has C++ default arguments, so this is C++. */
#include <normApi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <string>
#include <unistd.h>

/* As much parity as a block has can be asked for: of less, a block that has lost more falls
 * back to explicit symbols. Nothing is given up because of a bound: messages and buffers are kept. */
enum { BLOCK = 64, PARITY_MAX = 64, OBJECTS_MAX = 8192, BUFFER = 64 << 20 };

static NormSessionHandle open_session(NormInstanceHandle instance, char **arguments) {
    unsigned id = (unsigned)strtoul(arguments[5], nullptr, 10);
    NormSessionHandle session = NormCreateSession(instance, arguments[3], (UINT16)atoi(arguments[4]), id);
    if (session == NORM_SESSION_INVALID) {
        fprintf(stderr, "norm_messages: cannot make the session\n");
        exit(1);
    }
    NormSetMulticastInterface(session, arguments[2]);
    NormSetTTL(session, 1);
    return session;
}

static void take(NormSessionHandle session, const std::string &line) {
    size_t space = line.find(' ');
    if (space == std::string::npos) {
        return;
    }
    /* libnorm sends from here as long as somebody may ask for it: it stays. */
    size_t length = line.size() - space - 1;
    char *text = (char *)malloc(length + 1);
    memcpy(text, line.c_str() + space + 1, length + 1);
    NormObjectHandle object = NormDataEnqueue(session, text, (UINT32)length);
    if (object == NORM_OBJECT_INVALID) {
        fprintf(stderr, "norm_messages: a message was refused\n");
        exit(1);
    }
    NormObjectSetUserData(object, text);
}

static void on_sent(NormObjectHandle object) {
    const char *text = (const char *)NormObjectGetUserData(object);
    const char *end = text != nullptr && *text == '@' ? strchr(text + 1, '@') : nullptr;
    if (end != nullptr) {
        printf("sent %.*s\n", (int)(end - text + 1), text);
    }
}

static int send_lines(NormInstanceHandle instance, NormSessionHandle session, char **arguments) {
    NormSetGrttEstimate(session, atof(arguments[7]));
    NormSetTxRate(session, atof(arguments[6]));
    NormSetCongestionControl(session, false);
    NormSetAutoParity(session, (unsigned char)atoi(arguments[8]));
    NormSetTxCacheBounds(session, NormSize(1) << 32, 8, OBJECTS_MAX);
    if (!NormStartSender(session, 1, BUFFER, (UINT16)atoi(arguments[9]), BLOCK, PARITY_MAX)) {
        fprintf(stderr, "norm_messages: cannot start the sender\n");
        return 1;
    }
    puts("ready");
    std::string waiting;
    char chunk[65536];
    for (;;) {
        NormEvent event;
        while (NormGetNextEvent(instance, &event, false)) {
            if (event.type == NORM_TX_OBJECT_SENT) {
                on_sent(event.object);
            }
        }
        pollfd both[2] = {{0, POLLIN, 0}, {NormGetDescriptor(instance), POLLIN, 0}};
        poll(both, 2, 100);
        if (both[0].revents == 0) {
            continue;
        }
        ssize_t length = read(0, chunk, sizeof chunk);
        if (length <= 0) {
            return 0;
        }
        waiting.append(chunk, (size_t)length);
        for (size_t end; (end = waiting.find('\n')) != std::string::npos; waiting.erase(0, end + 1)) {
            take(session, waiting.substr(0, end));
        }
    }
}

static int receive_lines(NormInstanceHandle instance, NormSessionHandle session) {
    NormSetRxCacheLimit(session, OBJECTS_MAX);
    if (!NormStartReceiver(session, BUFFER)) {
        fprintf(stderr, "norm_messages: cannot start the receiver\n");
        return 1;
    }
    puts("ready");
    NormEvent event;
    while (NormGetNextEvent(instance, &event)) {
        if (event.type == NORM_RX_OBJECT_COMPLETED) {
            const char *data = NormDataAccessData(event.object);
            fwrite(data, 1, (size_t)NormObjectGetSize(event.object), stdout);
            putchar('\n');
        }
    }
    return 0;
}

int main(int count, char **arguments) {
    bool sends = count == 10 && strcmp(arguments[1], "send") == 0;
    if (!sends && (count != 6 || strcmp(arguments[1], "recv") != 0)) {
        fprintf(stderr, "usage: norm_messages send INTERFACE GROUP PORT ID RATE GRTT PARITY SEGMENT\n"
                        "       norm_messages recv INTERFACE GROUP PORT ID\n");
        return 2;
    }
    setvbuf(stdout, nullptr, _IOLBF, 1 << 20);
    NormInstanceHandle instance = NormCreateInstance();
    NormSessionHandle session = open_session(instance, arguments);
    return sends ? send_lines(instance, session, arguments) : receive_lines(instance, session);
}
