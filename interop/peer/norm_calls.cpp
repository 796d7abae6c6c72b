// Makes calls of libnorm in a random order, and prints what each returned and which events came.
//
//   norm_calls partner GROUP PORT CONTROL-PORT FOLDER
//   norm_calls calls GROUP PORT PARTNER-ADDRESS CONTROL-PORT FOLDER SEED
//
// The partner is a session of node 2 that receives everything, answers questions, and sends what it is
// told to by datagrams. `calls` is run on two libraries, each in a process of its own, with the same
// partner, and the outputs are compared. All calls are valid: handles live, sizes fit. What depends on
// the clock (round trips, rates that adapt, how often progress is told) is not printed.

#include <arpa/inet.h>
#include <dirent.h>
#include <normApi.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

static NormInstanceHandle instance;
static NormSessionHandle session;

static double now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

// The next event before `end`.
static bool next_event(double end, NormEvent &event) {
    pollfd waits = {NormGetDescriptor(instance), POLLIN, 0};
    for (;;) {
        double left = end - now();
        if (left <= 0) return false;
        if (poll(&waits, 1, (int)(left * 1000) + 1) > 0 && NormGetNextEvent(instance, &event, false))
            return true;
    }
}

static int control_socket(const char *bind_to, int port, const char *to) {
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = inet_addr(to ? to : bind_to);
    int done = to ? connect(fd, (sockaddr *)&address, sizeof address)
                  : bind(fd, (sockaddr *)&address, sizeof address);
    if (done) {
        perror("control");
        exit(2);
    }
    return fd;
}

static std::string pattern(unsigned length, unsigned seed) {
    std::string text(length, 0);
    for (unsigned i = 0; i < length; i++) text[i] = (char)('a' + (i * 7 + seed) % 26);
    return text;
}

static void write_file(const std::string &path, const std::string &text) {
    FILE *file = fopen(path.c_str(), "wb");
    if (!file || fwrite(text.data(), 1, text.size(), file) != text.size() || fclose(file)) {
        perror(path.c_str());
        exit(2);
    }
}

// ---- The partner --------------------------------------------------------------------------------

static int partner(char **words) {
    const char *group = words[0], *folder = words[3];
    int port = atoi(words[1]), control = control_socket("0.0.0.0", atoi(words[2]), 0);
    instance = NormCreateInstance(false);
    session = NormCreateSession(instance, group, port, 2);
    NormSetMulticastInterface(session, "eth0");
    NormSetTxRate(session, 50e6);
    NormSetGrttEstimate(session, 0.01);
    NormSetCacheDirectory(instance, folder);
    NormSetDefaultSyncPolicy(session, NORM_SYNC_STREAM);
    NormStartReceiver(session, 1 << 20);
    // Whoever has begun this waits for it.
    puts("ready");
    fflush(stdout);
    bool sends = false;
    NormObjectHandle last = NORM_OBJECT_INVALID, stream = NORM_OBJECT_INVALID;
    // What is sent has to stay where it is.
    static std::vector<std::string *> kept;
    pollfd waits[2] = {{NormGetDescriptor(instance), POLLIN, 0}, {control, POLLIN, 0}};
    int files = 0;
    for (;;) {
        poll(waits, 2, 1000);
        NormEvent event;
        while (NormGetNextEvent(instance, &event, false)) {
            if (event.type == NORM_RX_ACK_REQUEST) {
                char question[2000];
                unsigned length = sizeof question;
                NormNodeGetWatermarkEx(event.sender, question, &length);
                NormNodeSendAckEx(event.sender, "yes!", 4);
            }
            if (event.type == NORM_RX_OBJECT_UPDATED &&
                NormObjectGetType(event.object) == NORM_OBJECT_STREAM) {
                char bytes[2000];
                unsigned length;
                do {
                    length = sizeof bytes;
                } while (NormStreamRead(event.object, bytes, &length) && length > 0);
            }
        }
        char word[300];
        ssize_t length = recv(control, word, sizeof word - 1, MSG_DONTWAIT);
        if (length <= 0) continue;
        word[length] = 0;
        unsigned size = atoi(word + 1);
        // Not before it has something to send: when its probes are heard is chance.
        if (!sends) sends = NormStartSender(session, 77, 1 << 20, 1000, 16, 4);
        switch (word[0]) {
            case 'D':
                kept.push_back(new std::string(pattern(size, size)));
                last = NormDataEnqueue(session, kept.back()->data(), size, "its info", 8);
                break;
            case 'F': {
                std::string path = std::string(folder) + "/out" + std::to_string(files++);
                write_file(path, pattern(size, size));
                last = NormFileEnqueue(session, path.c_str(), "a name", 6);
                break;
            }
            case 'S':
                if (stream == NORM_OBJECT_INVALID)
                    stream = NormStreamOpen(session, 1 << 16, "stream", 6);
                NormStreamWrite(stream, pattern(size, size).data(), size);
                NormStreamFlush(stream, true, NORM_FLUSH_ACTIVE);
                break;
            case 'E':
                NormStreamClose(stream, true);
                stream = NORM_OBJECT_INVALID;
                break;
            case 'C':
                NormSendCommand(session, "do it", 5, true);
                break;
            case 'W':
                NormAddAckingNode(session, 1);
                if (last != NORM_OBJECT_INVALID) NormSetWatermarkEx(session, last, "have you?", 9);
                break;
            case 'Q':
                NormDestroyInstance(instance);
                return 0;
        }
    }
}

// ---- Random calls -------------------------------------------------------------------------------

static uint64_t state;
static unsigned random_below(unsigned most) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)((state >> 11) % most);
}
template <typename T> static T one_of(std::initializer_list<T> all) {
    return all.begin()[random_below(all.size())];
}
#define SAY(...) (printf(__VA_ARGS__), putchar('\n'))

struct Sent {
    NormObjectHandle handle;
    NormObjectType type;
    std::string *content, info, label;
    bool went, gone;
};
struct Came {
    NormObjectHandle handle;
    NormNodeHandle sender;
    NormObjectType type;
    std::string label;
    bool whole, gone, retained;
};

static std::vector<Sent> sent;
static std::vector<Came> came;
static std::set<NormNodeHandle> senders;
static int control_fd;
static std::string folder, partner_address, group_address;
static bool is_sender, is_receiver, has_stream, has_partner_stream, has_acking, has_watermark;
static NormNodeHandle partner_node = NORM_NODE_INVALID;

static const char *NAMES[] = {
    "INVALID", "TX_QUEUE_VACANCY", "TX_QUEUE_EMPTY", "TX_FLUSH_COMPLETED", "TX_WATERMARK_COMPLETED",
    "TX_CMD_SENT", "TX_OBJECT_SENT", "TX_OBJECT_PURGED", "TX_RATE_CHANGED", "LOCAL_SENDER_CLOSED",
    "REMOTE_SENDER_NEW", "REMOTE_SENDER_RESET", "REMOTE_SENDER_ADDRESS", "REMOTE_SENDER_ACTIVE",
    "REMOTE_SENDER_INACTIVE", "REMOTE_SENDER_PURGED", "RX_CMD_NEW", "RX_OBJECT_NEW",
    "RX_OBJECT_INFO", "RX_OBJECT_UPDATED", "RX_OBJECT_COMPLETED", "RX_OBJECT_ABORTED",
    "RX_ACK_REQUEST", "GRTT_UPDATED", "CC_ACTIVE", "CC_INACTIVE", "ACKING_NODE_NEW", "SEND_ERROR",
    "USER_TIMEOUT"};

static Sent *find_sent(NormObjectHandle handle) {
    for (auto it = sent.rbegin(); it != sent.rend(); ++it)
        if (it->handle == handle && !it->gone) return &*it;
    return 0;
}
static Came *find_came(NormObjectHandle handle) {
    for (auto it = came.rbegin(); it != came.rend(); ++it)
        if (it->handle == handle && !it->gone) return &*it;
    return 0;
}

// A name that the library has made up.
static std::string plain_name(std::string name) {
    size_t at = name.find("normTemp");
    if (at != std::string::npos && name.size() == at + 14) name.replace(at + 8, 6, "XXXXXX");
    if (name.compare(0, folder.size(), folder) == 0) name.replace(0, folder.size(), "FOLDER");
    return name;
}

static void look_at(const Came &object) {
    char text[2000];
    NormObjectHandle handle = object.handle;
    unsigned length = NormObjectGetInfo(handle, text, sizeof text);
    SAY("  %s: type %d size %lld info %d %u '%.*s' own data %ld sender %d", object.label.c_str(),
        NormObjectGetType(handle),
        object.type == NORM_OBJECT_STREAM ? 0LL : (long long)NormObjectGetSize(handle),
        NormObjectHasInfo(handle), NormObjectGetInfoLength(handle), (int)length, text,
        (long)(intptr_t)NormObjectGetUserData(handle), NormObjectGetSender(handle) == object.sender);
    if (object.type == NORM_OBJECT_FILE) {
        bool has = NormFileGetName(handle, text, sizeof text);
        SAY("  %s: name %d %s", object.label.c_str(), has, has ? plain_name(text).c_str() : "");
    }
    if (object.whole)
        SAY("  %s: pending %lld", object.label.c_str(), (long long)NormObjectGetBytesPending(handle));
}

static std::string read_all(const std::string &path) {
    std::string all;
    char bytes[4096];
    FILE *file = fopen(path.c_str(), "rb");
    if (!file) return "none";
    for (size_t got; (got = fread(bytes, 1, sizeof bytes, file)) > 0;) all.append(bytes, got);
    fclose(file);
    return all;
}
static unsigned sum(const std::string &text) {
    unsigned value = text.size();
    for (unsigned char c : text) value = value * 31 + c;
    return value;
}

static std::string stream_text;

static bool ends_with(const std::string &text, const std::string &end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}
static void sort_words(std::string &line) {
    std::set<std::string> words;
    for (size_t at = 0; at < line.size();) {
        size_t end = line.find(' ', at + 1);
        words.insert(line.substr(at, end - at));
        at = end == std::string::npos ? line.size() : end;
    }
    line.clear();
    for (const std::string &word : words) line += word;
}

// Waits until `wanted` has come (0: nothing is waited for) and nothing comes for a while, and prints
// what came: events of each thing in their order.
static bool settle(int wanted, double patience = 4) {
    std::map<std::string, std::string> told;
    bool is_here = wanted == 0;
    int commands = 0;
    double end = now() + (is_here ? 0.08 : patience);
    NormEvent event;
    while (next_event(end, event)) {
        std::string label = "session";
        int type = event.type;
        if (type == wanted) {
            is_here = true;
            end = now() + 0.12;
        }
        switch (type) {
            // These follow the clock.
            case NORM_GRTT_UPDATED:
            case NORM_CC_ACTIVE:
            case NORM_CC_INACTIVE:
            case NORM_TX_RATE_CHANGED:
            case NORM_TX_QUEUE_VACANCY:
                continue;
            // These end after as many round trips as the robust factor says.
            case NORM_TX_FLUSH_COMPLETED:
            case NORM_TX_CMD_SENT:
                if (type != wanted) continue;
                break;
            case NORM_TX_OBJECT_SENT:
            case NORM_TX_OBJECT_PURGED: {
                Sent *object = find_sent(event.object);
                label = object ? object->label : "unknown";
                if (object && type == NORM_TX_OBJECT_SENT) object->went = true;
                if (object && type == NORM_TX_OBJECT_PURGED) object->gone = true;
                break;
            }
            case NORM_RX_OBJECT_NEW: {
                Came object = {event.object, event.sender, NormObjectGetType(event.object), "", false,
                               false, false};
                object.label = "R" + std::to_string(came.size());
                came.push_back(object);
                label = object.label;
                look_at(object);
                break;
            }
            case NORM_RX_OBJECT_INFO:
            case NORM_RX_OBJECT_UPDATED:
            case NORM_RX_OBJECT_COMPLETED:
            case NORM_RX_OBJECT_ABORTED: {
                Came *object = find_came(event.object);
                label = object ? object->label : "unknown";
                if (!object) break;
                if (type == NORM_RX_OBJECT_UPDATED) {
                    // How often it is told, and whether before INFO, follows the packets.
                    if (object->type == NORM_OBJECT_STREAM) {
                        char bytes[512];
                        unsigned length;
                        do {
                            length = sizeof bytes;
                            if (!NormStreamRead(object->handle, bytes, &length)) {
                                stream_text += "[break]";
                                break;
                            }
                            stream_text.append(bytes, length);
                        } while (length > 0);
                    }
                    continue;
                }
                if (type == NORM_RX_OBJECT_INFO) look_at(*object);
                if (type == NORM_RX_OBJECT_ABORTED) object->gone = true;
                if (type == NORM_RX_OBJECT_COMPLETED) {
                    object->whole = true;
                    look_at(*object);
                    if (object->type == NORM_OBJECT_DATA) {
                        unsigned size = NormObjectGetSize(event.object);
                        const char *data = NormDataAccessData(event.object);
                        SAY("  %s: data %u", label.c_str(), sum(std::string(data, size)));
                        if (random_below(3) == 0) {
                            char *own = NormDataDetachData(event.object);
                            SAY("  %s: detached %u", label.c_str(),
                                own ? sum(std::string(own, size)) : 0);
                            if (own) NormFree(own);
                        }
                    }
                    if (object->type == NORM_OBJECT_FILE) {
                        std::string name = folder + "/in/" + label;
                        SAY("  %s: renamed %d", label.c_str(),
                            NormFileRename(event.object, name.c_str()));
                        SAY("  %s: file %u", label.c_str(), sum(read_all(name)));
                    }
                    if (random_below(3) == 0) {
                        NormObjectRetain(event.object);
                        object->retained = true;
                    }
                }
                break;
            }
            case NORM_REMOTE_SENDER_NEW:
                partner_node = event.sender;
                SAY("  sender: id %u", NormNodeGetId(event.sender));
                break;
            case NORM_RX_CMD_NEW: {
                char bytes[1000];
                unsigned length = sizeof bytes;
                bool has = NormNodeGetCommand(event.sender, bytes, &length);
                // One that is sent robustly is told each time it is heard.
                if (commands++ == 0) SAY("  command: %d '%.*s'", has, has ? (int)length : 0, bytes);
                break;
            }
            case NORM_RX_ACK_REQUEST: {
                char bytes[1000];
                unsigned length = sizeof bytes;
                bool has = NormNodeGetWatermarkEx(event.sender, bytes, &length);
                SAY("  question: %d '%.9s', answered %d", has, has ? bytes : "",
                    NormNodeSendAckEx(event.sender, "good", 4));
                break;
            }
            case NORM_ACKING_NODE_NEW:
                SAY("  acking node: id %u", NormNodeGetId(event.sender));
                break;
            default:
                break;
        }
        // Of an object the order counts; of a session only what came, as different things go on.
        std::string word = std::string(" ") + NAMES[type], &line = told[label];
        if (label != "session" ? !ends_with(line, word) : line.find(word) == std::string::npos)
            line += word;
        if (label == "session") sort_words(line);
        if (Came *object = find_came(event.object))
            if (object->whole && !object->retained) object->gone = true;
    }
    if (commands > 0) SAY("  commands: %s", commands > 1 ? "several" : "one");
    for (auto &one : told) SAY("  %s:%s", one.first.c_str(), one.second.c_str());
    if (!is_here) SAY("  never came: %s", NAMES[wanted]);
    return is_here;
}

static void tell_partner(const std::string &word) {
    send(control_fd, word.data(), word.size(), 0);
}

static Sent *pick_sent(bool streams) {
    std::vector<Sent *> all;
    for (Sent &one : sent)
        if (!one.gone && (streams || one.type != NORM_OBJECT_STREAM)) all.push_back(&one);
    return all.empty() ? 0 : all[random_below(all.size())];
}
static Sent *open_stream() {
    for (Sent &one : sent)
        if (one.type == NORM_OBJECT_STREAM && !one.gone) return &one;
    return 0;
}

// Calls that are allowed at any time of a session.
static void ask_or_set() {
    char text[300];
    unsigned length = sizeof text;
    uint16_t port = 0;
    switch (random_below(30)) {
        case 0: {
            intptr_t data = random_below(1000);
            NormSetUserData(session, (void *)data);
            SAY("NormGetUserData %d", NormGetUserData(session) == (void *)data);
            break;
        }
        case 1:
            SAY("NormGetLocalNodeId %u NormGetInstance %d", NormGetLocalNodeId(session),
                NormGetInstance(session) == instance);
            break;
        case 2: {
            bool has = NormGetAddress(session, text, &length, &port);
            SAY("NormGetAddress %d %u %d", has, length,
                inet_ntoa(*(in_addr *)text) == group_address && port > 0);
            break;
        }
        case 3:
            SAY("NormIsUnicastAddress %d %d %d", NormIsUnicastAddress("10.0.0.1"),
                NormIsUnicastAddress("239.1.2.3"), NormIsUnicastAddress("127.0.0.1"));
            break;
        case 4: {
            unsigned bytes = 1000 + random_below(100000), segment = 100 + random_below(1400),
                     block = 1 + random_below(100);
            SAY("NormGetStreamBufferSegmentCount %u",
                NormGetStreamBufferSegmentCount(bytes, segment, block));
            break;
        }
        case 5:
            SAY("NormGetDescriptor %d", NormGetDescriptor(instance) >= 0);
            break;
        case 6:
            NormSetDebugLevel(0);
            SAY("NormGetDebugLevel %u", NormGetDebugLevel());
            break;
        case 7:
            SAY("NormSuspendInstance %d", NormSuspendInstance(instance));
            NormResumeInstance(instance);
            break;
        case 8: {
            double seconds = 1 + random_below(20);
            NormSetReportInterval(session, seconds);
            SAY("NormGetReportInterval %g", NormGetReportInterval(session));
            break;
        }
        case 9:
            SAY("NormSetTTL %d", NormSetTTL(session, 1 + random_below(255)));
            break;
        case 10:
            SAY("NormSetTOS %d", NormSetTOS(session, random_below(64) << 2));
            break;
        case 11:
            SAY("NormSetLoopback %d", NormSetLoopback(session, false));
            break;
        case 12:
            SAY("NormSetMulticastInterface %d", NormSetMulticastInterface(session, "eth0"));
            break;
        case 13: {
            double rate = 1e6 * (1 + random_below(50));
            NormSetTxRate(session, rate);
            SAY("NormGetTxRate %.0f", NormGetTxRate(session));
            NormSetTxRate(session, 20e6);
            break;
        }
        case 14:
            NormSetGrttMax(session, 1 + random_below(9));
            NormSetGrttProbingMode(session, NORM_PROBE_ACTIVE);
            NormSetGrttProbingInterval(session, 0.1 + random_below(10) / 10.0, 2 + random_below(20));
            SAY("NormSetGrtt...");
            break;
        case 15:
            NormSetBackoffFactor(session, random_below(5));
            NormSetGroupSize(session, 10 + random_below(1000));
            // No more than the least parity that a sender is started with here.
            NormSetAutoParity(session, random_below(3));
            SAY("NormSetBackoffFactor, NormSetGroupSize, NormSetAutoParity");
            break;
        case 16:
            NormSetTxCacheBounds(session, 1 << 24, 32, 256);
            NormSetFlowControl(session, one_of({1.0, 2.0}));
            SAY("NormSetTxCacheBounds, NormSetFlowControl");
            break;
        case 17:
            NormSetDefaultNackingMode(session, NORM_NACK_NORMAL);
            NormSetDefaultRepairBoundary(session, one_of({NORM_BOUNDARY_BLOCK, NORM_BOUNDARY_OBJECT}));
            NormSetDefaultRxRobustFactor(session, 10 + random_below(20));
            NormSetRxCacheLimit(session, 100 + random_below(100));
            SAY("NormSetDefault...");
            break;
        case 18:
            NormSetSilentReceiver(session, false);
            NormSetDefaultUnicastNack(session, random_below(2));
            SAY("NormSetSilentReceiver, NormSetDefaultUnicastNack");
            break;
        case 19:
            NormCountCompletedObjects(session);
            SAY("NormCountCompletedObjects");
            break;
        case 20: {
            char *bytes = NormAlloc(1 + random_below(1000));
            SAY("NormAlloc %d", bytes != 0);
            NormFree(bytes);
            break;
        }
        case 21: {
            NormNodeId id = 3 + random_below(3);
            SAY("NormAddAckingNode %d", NormAddAckingNode(session, id));
            SAY("NormGetAckingStatus %d, handle %d", NormGetAckingStatus(session, id),
                NormGetAckingNodeHandle(session, id) != NORM_NODE_INVALID);
            NormRemoveAckingNode(session, id);
            SAY("NormRemoveAckingNode: handle %d",
                NormGetAckingNodeHandle(session, id) != NORM_NODE_INVALID);
            break;
        }
        case 22: {
            NormNodeId id = NORM_NODE_NONE;
            NormAckingStatus status = NORM_ACK_INVALID;
            SAY("NormGetNextAckingNode:");
            while (NormGetNextAckingNode(session, &id, &status)) SAY("  %u %d", id, status);
            break;
        }
        case 23:
            SAY("NormGetAckingStatus %d", NormGetAckingStatus(session, NORM_NODE_ANY));
            break;
        case 24: {
            int major = 0, minor = 0, patch = 0;
            NormGetVersion(&major, &minor, &patch);
            SAY("NormGetVersion %d.%d.%d", major, minor, patch);
            break;
        }
        case 25:
            NormSetTxRobustFactor(session, 10 + random_below(20));
            NormSetMessageTrace(session, false);
            NormSetTxLoss(session, 0);
            NormSetRxLoss(session, 0);
            SAY("NormSetTxRobustFactor, NormSetMessageTrace, NormSetTxLoss, NormSetRxLoss");
            break;
        case 26:
            SAY("NormSetCacheDirectory %d",
                NormSetCacheDirectory(instance, (folder + "/cache/").c_str()));
            break;
        case 27:
            NormSetUserTimer(session, 0.02 + random_below(5) / 100.0);
            SAY("NormSetUserTimer");
            settle(NORM_USER_TIMEOUT);
            break;
        case 28:
            NormSetUserTimer(session, 5);
            NormCancelUserTimer(session);
            SAY("NormCancelUserTimer");
            break;
        case 29: {
            std::string name = folder + "/log";
            SAY("NormOpenDebugLog %d", NormOpenDebugLog(instance, name.c_str()));
            NormCloseDebugLog(instance);
            break;
        }
    }
}

// Settings that a program makes before its session begins.
static void prepare() {
    switch (random_below(9)) {
        case 0:
            SAY("NormSetMulticastLoopback %d", NormSetMulticastLoopback(session, random_below(2)));
            break;
        case 1:
            SAY("NormSetFragmentation %d", NormSetFragmentation(session, false));
            break;
        case 2: {
            double seconds = (1 + random_below(500)) / 1000.0;
            NormSetGrttEstimate(session, seconds);
            SAY("NormGetGrttEstimate %.2g", NormGetGrttEstimate(session));
            NormSetGrttEstimate(session, 0.01);
            break;
        }
        case 3:
            NormSetDefaultSyncPolicy(session, NORM_SYNC_STREAM);
            SAY("NormSetDefaultSyncPolicy");
            break;
        case 4:
            NormSetTxOnly(session, false, false);
            SAY("NormSetTxOnly");
            break;
        case 5:
            NormSetRxPortReuse(session, true);
            SAY("NormSetRxPortReuse, NormGetRxPort %d", NormGetRxPort(session) > 0);
            break;
        case 6:
            NormSetEcnSupport(session, false, false, false);
            SAY("NormSetEcnSupport");
            break;
        case 7:
            NormSetId(session, 1);
            SAY("NormSetId %u", NormGetLocalNodeId(session));
            break;
        case 8:
            NormLimitObjectInfo(session, false);
            SAY("NormLimitObjectInfo");
            break;
    }
}

static void start_sender() {
    SAY("NormStartSender %d", NormStartSender(session, 1 + random_below(1000), 1 << 20,
                                             one_of({200, 1000, 1400}), one_of({4, 16, 64}),
                                             one_of({2, 4, 8})));
    SAY("NormSetTxSocketBuffer %d, NormGetTxPort %d",
        NormSetTxSocketBuffer(session, 1 << 16), NormGetTxPort(session) > 0);
    is_sender = true;
}
static void start_receiver() {
    SAY("NormStartReceiver %d", NormStartReceiver(session, 1 << 20));
    SAY("NormSetRxSocketBuffer %d", NormSetRxSocketBuffer(session, 1 << 16));
    char text[300];
    unsigned length = sizeof text;
    uint16_t port = 0;
    bool has = NormGetRxBindAddress(session, text, length, port);
    SAY("NormGetRxBindAddress %d %u %d", has, has ? length : 0, port > 0);
    is_receiver = true;
}

static void look_at_sent(const Sent &one) {
    char text[500];
    unsigned length = NormObjectGetInfo(one.handle, text, sizeof text);
    SAY("  %s: type %d size %lld info %d %u '%.*s' sender %d", one.label.c_str(),
        NormObjectGetType(one.handle), (long long)NormObjectGetSize(one.handle),
        NormObjectHasInfo(one.handle), NormObjectGetInfoLength(one.handle), (int)length, text,
        NormObjectGetSender(one.handle) != NORM_NODE_INVALID);
    if (one.type == NORM_OBJECT_FILE) {
        bool has = NormFileGetName(one.handle, text, sizeof text);
        SAY("  %s: name %d %s", one.label.c_str(), has, has ? plain_name(text).c_str() : "");
    }
    if (one.type == NORM_OBJECT_DATA)
        SAY("  %s: data %u", one.label.c_str(),
            sum(std::string(NormDataAccessData(one.handle), one.content->size())));
}

static void add_sent(NormObjectHandle handle, NormObjectType type, std::string *content,
                     const std::string &info) {
    SAY("  handle %d", handle != NORM_OBJECT_INVALID);
    if (handle == NORM_OBJECT_INVALID) return;
    sent.push_back({handle, type, content, info, "T" + std::to_string(sent.size()), false, false});
    look_at_sent(sent.back());
}

static void send_something() {
    Sent *stream = open_stream();
    if (stream) {
        switch (random_below(7)) {
            case 0: {
                std::string text = pattern(1 + random_below(3000), random_below(26));
                SAY("NormStreamWrite %u of %zu",
                    NormStreamWrite(stream->handle, text.data(), text.size()), text.size());
                if (random_below(2)) NormStreamMarkEom(stream->handle);
                NormStreamFlush(stream->handle, random_below(2), NORM_FLUSH_ACTIVE);
                settle(NORM_TX_FLUSH_COMPLETED);
                break;
            }
            case 1:
                NormStreamSetAutoFlush(stream->handle, NORM_FLUSH_PASSIVE);
                SAY("NormStreamSetAutoFlush");
                SAY("NormStreamWrite %u", NormStreamWrite(stream->handle, "some words", 10));
                NormStreamSetAutoFlush(stream->handle, NORM_FLUSH_NONE);
                settle(0);
                break;
            case 2:
                SAY("NormStreamHasVacancy %d, NormStreamGetVacancy %d",
                    NormStreamHasVacancy(stream->handle), NormStreamGetVacancy(stream->handle) > 0);
                break;
            case 3:
                NormStreamSetPushEnable(stream->handle, random_below(2));
                SAY("NormStreamSetPushEnable");
                NormStreamSetPushEnable(stream->handle, false);
                break;
            case 4:
                look_at_sent(*stream);
                break;
            default:
                // NRL's session sends nothing else while a stream is open.
                NormStreamClose(stream->handle, true);
                SAY("NormStreamClose");
                settle(NORM_TX_OBJECT_PURGED);
                break;
        }
        return;
    }
    std::string info = pattern(random_below(2) ? 0 : 1 + random_below(100), 3);
    const char *info_at = info.empty() ? 0 : info.data();
    switch (random_below(8)) {
        case 0:
        case 1: {
            std::string *content = new std::string(pattern(1 + random_below(30000), 5));
            SAY("NormDataEnqueue %zu", content->size());
            add_sent(NormDataEnqueue(session, content->data(), content->size(), info_at, info.size()),
                     NORM_OBJECT_DATA, content, info);
            settle(NORM_TX_OBJECT_SENT);
            break;
        }
        case 2: {
            std::string path = folder + "/out" + std::to_string(sent.size());
            write_file(path, pattern(1 + random_below(30000), 9));
            SAY("NormFileEnqueue");
            add_sent(NormFileEnqueue(session, path.c_str(), info_at, info.size()), NORM_OBJECT_FILE,
                     0, info);
            settle(NORM_TX_OBJECT_SENT);
            break;
        }
        case 3:
            SAY("NormFileEnqueue of nothing %d",
                NormFileEnqueue(session, "/no/such/file", 0, 0) != NORM_OBJECT_INVALID);
            break;
        case 4:
            SAY("NormStreamOpen");
            add_sent(NormStreamOpen(session, 100000, info_at, info.size()), NORM_OBJECT_STREAM, 0,
                     info);
            settle(0);
            break;
        case 5: {
            Sent *one = pick_sent(false);
            if (!one) break;
            intptr_t data = random_below(100);
            NormObjectSetUserData(one->handle, (void *)data);
            NormObjectRetain(one->handle);
            SAY("NormObjectGetUserData %d", NormObjectGetUserData(one->handle) == (void *)data);
            NormObjectRelease(one->handle);
            look_at_sent(*one);
            break;
        }
        case 6: {
            Sent *one = pick_sent(false);
            if (!one || !one->went) break;
            SAY("NormRequeueObject %s %d", one->label.c_str(),
                NormRequeueObject(session, one->handle));
            settle(NORM_TX_OBJECT_SENT);
            break;
        }
        case 7: {
            Sent *one = pick_sent(false);
            if (!one || !one->went) break;
            one->gone = true;
            NormObjectCancel(one->handle);
            SAY("NormObjectCancel %s", one->label.c_str());
            settle(0);
            break;
        }
    }
}

static void acknowledge() {
    if (!has_acking) {
        SAY("NormAddAckingNode 2: %d", NormAddAckingNode(session, 2));
        has_acking = true;
        return;
    }
    Sent *one = pick_sent(false);
    switch (random_below(6)) {
        case 0:
            if (!one || open_stream()) break;
            SAY("NormSetWatermark %s %d", one->label.c_str(),
                NormSetWatermark(session, one->handle, false));
            settle(NORM_TX_WATERMARK_COMPLETED);
            SAY("NormGetAckingStatus %d %d", NormGetAckingStatus(session, 2),
                NormGetAckingStatus(session, NORM_NODE_ANY));
            has_watermark = true;
            break;
        case 1: {
            if (!one || open_stream()) break;
            SAY("NormSetWatermarkEx %s %d", one->label.c_str(),
                NormSetWatermarkEx(session, one->handle, "have you?", 9, false));
            settle(NORM_TX_WATERMARK_COMPLETED);
            char text[300];
            unsigned length = sizeof text;
            bool has = NormGetAckEx(session, 2, text, &length);
            // It is filled up with bytes of no meaning.
            SAY("NormGetAckEx %d %u '%.4s'", has, has ? length : 0, has ? text : "");
            break;
        }
        case 2:
            if (!has_watermark) break;
            NormCancelWatermark(session);
            SAY("NormCancelWatermark, then %d %d", NormGetAckingStatus(session, 2),
                NormGetAckingStatus(session, NORM_NODE_ANY));
            settle(0);
            has_watermark = false;
            break;
        case 3:
            SAY("NormSendCommand %d", NormSendCommand(session, "a command", 9, random_below(2)));
            settle(NORM_TX_CMD_SENT);
            break;
        case 4: {
            NormNodeHandle node = NormGetAckingNodeHandle(session, 2);
            SAY("NormGetAckingNodeHandle %d, id %u", node != NORM_NODE_INVALID,
                node == NORM_NODE_INVALID ? 0 : NormNodeGetId(node));
            if (node == NORM_NODE_INVALID) break;
            NormNodeRetain(node);
            NormNodeSetUserData(node, (void *)7);
            SAY("NormNodeGetUserData %d", NormNodeGetUserData(node) == (void *)7);
            NormNodeSetUserData(node, 0);
            NormNodeRelease(node);
            break;
        }
        case 5:
            NormSetAutoAckingNodes(session, NORM_TRACK_NONE);
            SAY("NormSetAutoAckingNodes");
            break;
    }
}

static void receive_something() {
    if (partner_node != NORM_NODE_INVALID && random_below(3) == 0) {
        char text[300];
        unsigned length = sizeof text;
        uint16_t port = 0;
        switch (random_below(6)) {
            case 0: {
                bool has = NormNodeGetAddress(partner_node, text, &length, &port);
                SAY("NormNodeGetAddress %d %u %s %d", has, length,
                    inet_ntoa(*(in_addr *)text) == partner_address ? "partner" : "another", port > 0);
                break;
            }
            case 1:
                SAY("NormNodeGetGrtt %d, id %u", NormNodeGetGrtt(partner_node) > 0,
                    NormNodeGetId(partner_node));
                break;
            case 2:
                NormNodeSetUnicastNack(partner_node, random_below(2));
                NormNodeSetNackingMode(partner_node, NORM_NACK_NORMAL);
                NormNodeSetRepairBoundary(partner_node, NORM_BOUNDARY_BLOCK);
                NormNodeSetRxRobustFactor(partner_node, 20);
                SAY("NormNodeSet...");
                break;
            case 3:
                NormNodeSetUserData(partner_node, (void *)9);
                SAY("NormNodeGetUserData %d", NormNodeGetUserData(partner_node) == (void *)9);
                break;
            case 4:
                for (Came &one : came) {
                    if (one.gone || !one.retained) continue;
                    look_at(one);
                    NormObjectRelease(one.handle);
                    one.gone = true;
                    SAY("NormObjectRelease %s", one.label.c_str());
                    break;
                }
                break;
            case 5:
                SAY("NormNodeGetCommand %d", NormNodeGetCommand(partner_node, text, &length));
                break;
        }
        return;
    }
    unsigned size = 1 + random_below(20000);
    unsigned kind = has_partner_stream ? random_below(3) + 3 : random_below(6);
    switch (kind) {
        case 0:
        case 1:
            SAY("partner sends data");
            tell_partner("D" + std::to_string(size));
            settle(NORM_RX_OBJECT_COMPLETED);
            break;
        case 2:
            SAY("partner sends a file");
            tell_partner("F" + std::to_string(size));
            settle(NORM_RX_OBJECT_COMPLETED);
            break;
        case 3:
            SAY("partner writes to a stream");
            stream_text.clear();
            tell_partner("S" + std::to_string(size % 3000 + 1));
            settle(has_partner_stream ? NORM_RX_OBJECT_UPDATED : NORM_RX_OBJECT_NEW);
            has_partner_stream = true;
            SAY("  read %zu: %u", stream_text.size(), sum(stream_text));
            for (Came &one : came)
                if (one.type == NORM_OBJECT_STREAM && !one.gone)
                    SAY("NormStreamSeekMsgStart %d", NormStreamSeekMsgStart(one.handle));
            break;
        case 4:
            if (!has_partner_stream) break;
            SAY("partner closes its stream");
            tell_partner("E");
            settle(NORM_RX_OBJECT_COMPLETED);
            has_partner_stream = false;
            break;
        case 5:
            SAY("partner sends a command");
            tell_partner("C");
            settle(NORM_RX_CMD_NEW);
            break;
    }
}

static int calls(char **words) {
    const char *group = words[0];
    int port = atoi(words[1]);
    group_address = group;
    partner_address = words[2];
    control_fd = control_socket(0, atoi(words[3]), words[2]);
    folder = words[4];
    state = 88172645463325252ull + 0x9e3779b97f4a7c15ull * (uint64_t)atoll(words[5]);
    for (int i = 0; i < 10; i++) random_below(2);
    for (const char *part : {"", "/cache", "/in"}) mkdir((folder + part).c_str(), 0755);
    setvbuf(stdout, 0, _IOLBF, 0);

    instance = NormCreateInstance(false);
    SAY("NormCreateInstance %d", instance != NORM_INSTANCE_INVALID);
    SAY("NormSetCacheDirectory %d", NormSetCacheDirectory(instance, (folder + "/cache").c_str()));
    session = NormCreateSession(instance, group, port, 1);
    SAY("NormCreateSession %d", session != NORM_SESSION_INVALID);
    SAY("NormGetTxRate %.0f", NormGetTxRate(session));
    SAY("NormSetMulticastInterface %d", NormSetMulticastInterface(session, "eth0"));
    NormSetTxRate(session, 20e6);
    NormSetGrttEstimate(session, 0.01);
    NormSetDefaultSyncPolicy(session, NORM_SYNC_STREAM);
    for (unsigned n = random_below(12); n > 0; n--) random_below(2) ? prepare() : ask_or_set();
    bool first = random_below(2), both = random_below(3) > 0;
    first ? start_sender() : start_receiver();
    if (both) first ? start_receiver() : start_sender();
    for (unsigned n = 6 + random_below(14); n > 0; n--) {
        switch (random_below(4)) {
            case 0: ask_or_set(); break;
            case 1: if (is_sender) send_something(); break;
            case 2: if (is_sender) acknowledge(); break;
            case 3: if (is_receiver) receive_something(); break;
        }
    }
    settle(0);
    for (Came &one : came)
        if (one.retained && !one.gone) NormObjectRelease(one.handle);
    if (random_below(2)) {
        if (is_sender) NormStopSender(session);
        if (is_receiver) NormStopReceiver(session);
        SAY("NormStopSender, NormStopReceiver");
        settle(0);
    }
    if (random_below(2)) {
        NormStopInstance(instance);
        SAY("NormStopInstance, NormRestartInstance %d", NormRestartInstance(instance));
    }
    NormDestroySession(session);
    NormDestroyInstance(instance);
    SAY("end");
    return 0;
}

int main(int count, char **words) {
    if (count == 6 && !strcmp(words[1], "partner")) return partner(words + 2);
    if (count == 8 && !strcmp(words[1], "calls")) return calls(words + 2);
    fprintf(stderr, "see the head of norm_calls.cpp\n");
    return 2;
}
