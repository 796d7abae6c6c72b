// The reference peer: a command line over NRL's libnorm, for the interoperability runs.
//
//   norm_peer send [options] FILE...      sends each FILE as one object, then flushes or asks for acks
//   norm_peer recv [options] DIR          writes each received object below DIR
//
// One JSON object per line on stdout. Exit codes: 0 done, 1 failed or timed out, 2 usage,
// 3 sent but at least one acking node did not answer.
// normApi.h has C++ default arguments outside its macros, so this is C++ although the API is C.

#include <normApi.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <poll.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace {

// Every option with its default; names on the command line are the field names with dashes.
struct Options {
    std::string verb, group = "239.255.42.1", interface;
    int port = 6003;
    unsigned node_id = 1;
    // sender
    unsigned instance = 1, segment = 1400, ndata = 64, nparity = 8, auto_parity = 0, fec_id = 0;
    double rate = 10e6, grtt = 0.25, backoff = -1, gsize = 0, flow_control = -1;
    int robust = 0;
    bool data_objects = false, fixed_probing = false, congestion_control = false;
    std::string info = "base";  // base | none | text:... | hex:...
    std::string command_hex;
    std::vector<unsigned> acks;
    double start_delay = 0;
    // receiver
    std::string sync = "current";
    bool silent = false, unicast_nack = false;
    unsigned count = 0;
    double linger = 3;
    // both
    double timeout = 120;  // seconds without any progress
    unsigned buffer = 64u << 20, socket_buffer = 4u << 20;
    int debug = 0;
    std::vector<std::string> paths;
};

volatile sig_atomic_t terminated = 0;
void on_signal(int) { terminated = 1; }

double now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (unsigned char c : text) {
        char escaped[8];
        if (c == '"' || c == '\\') { out += '\\'; out += char(c); }
        else if (c < 0x20 || c >= 0x7f) { snprintf(escaped, sizeof escaped, "\\u%04x", c); out += escaped; }
        else out += char(c);
    }
    return out + "\"";
}

void say(const char* event, const std::string& fields) {
    printf("{\"event\":\"%s\"%s%s}\n", event, fields.empty() ? "" : ",", fields.c_str());
    fflush(stdout);
}

std::string field(const char* name, const std::string& value) { return quoted(name) + ":" + quoted(value); }
std::string field(const char* name, long long value) { return quoted(name) + ":" + std::to_string(value); }

std::string from_hex(const std::string& hex) {
    std::string out;
    for (size_t i = 0; i + 1 < hex.size(); i += 2) out += char(strtoul(hex.substr(i, 2).c_str(), nullptr, 16));
    return out;
}

[[noreturn]] void usage(const std::string& why) {
    fprintf(stderr, "norm_peer: %s\n", why.c_str());
    exit(2);
}

Options parse(int argc, char** argv) {
    Options o;
    if (argc < 2) usage("need a verb: send or recv");
    o.verb = argv[1];
    for (int i = 2; i < argc; i++) {
        std::string a = argv[i];
        if (a.rfind("--", 0) != 0) { o.paths.push_back(a); continue; }
        auto value = [&]() -> std::string { if (++i >= argc) usage(a + " needs a value"); return argv[i]; };
        auto number = [&]() { return strtod(value().c_str(), nullptr); };
        if (a == "--group") o.group = value();
        else if (a == "--port") o.port = int(number());
        else if (a == "--interface") o.interface = value();
        else if (a == "--node-id") o.node_id = unsigned(number());
        else if (a == "--instance") o.instance = unsigned(number());
        else if (a == "--rate") o.rate = number();
        else if (a == "--segment") o.segment = unsigned(number());
        else if (a == "--ndata") o.ndata = unsigned(number());
        else if (a == "--nparity") o.nparity = unsigned(number());
        else if (a == "--auto-parity") o.auto_parity = unsigned(number());
        else if (a == "--fec-id") o.fec_id = unsigned(number());
        else if (a == "--backoff") o.backoff = number();
        else if (a == "--grtt") o.grtt = number();
        else if (a == "--gsize") o.gsize = number();
        else if (a == "--robust") o.robust = int(number());
        else if (a == "--flow-control") o.flow_control = number();
        else if (a == "--data") o.data_objects = true;
        else if (a == "--no-probing") o.fixed_probing = true;
        else if (a == "--cc") o.congestion_control = true;
        else if (a == "--info") o.info = value();
        else if (a == "--command-hex") o.command_hex = value();
        else if (a == "--start-delay") o.start_delay = number();
        else if (a == "--sync") o.sync = value();
        else if (a == "--silent") o.silent = true;
        else if (a == "--unicast-nack") o.unicast_nack = true;
        else if (a == "--count") o.count = unsigned(number());
        else if (a == "--linger") o.linger = number();
        else if (a == "--timeout") o.timeout = number();
        else if (a == "--buffer") o.buffer = unsigned(number());
        else if (a == "--socket-buffer") o.socket_buffer = unsigned(number());
        else if (a == "--debug") o.debug = int(number());
        else if (a == "--ack") {
            std::string list = value();
            for (char* p = list.data(); *p;) { o.acks.push_back(unsigned(strtoul(p, &p, 10))); if (*p) p++; }
        }
        else usage("unknown option " + a);
    }
    return o;
}

std::string info_for(const Options& o, const std::string& path) {
    if (o.info == "none") return "";
    if (o.info.rfind("text:", 0) == 0) return o.info.substr(5);
    if (o.info.rfind("hex:", 0) == 0) return from_hex(o.info.substr(4));
    size_t slash = path.rfind('/');
    return slash == std::string::npos ? path : path.substr(slash + 1);
}

bool read_file(const std::string& path, std::string& into) {
    FILE* f = fopen(path.c_str(), "rb");
    if (!f) return false;
    char chunk[65536];
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, f)) > 0;) into.append(chunk, n);
    fclose(f);
    return true;
}

// Waits until libnorm has an event or `until` has passed; false when there is no event.
bool next_event(NormInstanceHandle instance, double until, NormEvent* event) {
    for (;;) {
        if (NormGetNextEvent(instance, event, false)) return true;
        double left = until - now();
        if (left <= 0 || terminated) return false;
        pollfd wait = {NormGetDescriptor(instance), POLLIN, 0};
        poll(&wait, 1, left > 0.2 ? 200 : int(left * 1000) + 1);
    }
}

NormSessionHandle open_session(const Options& o, NormInstanceHandle instance) {
    NormSessionHandle session = NormCreateSession(instance, o.group.c_str(), UINT16(o.port), o.node_id);
    if (session == NORM_SESSION_INVALID) { fprintf(stderr, "norm_peer: cannot make the session\n"); exit(1); }
    if (!o.interface.empty()) NormSetMulticastInterface(session, o.interface.c_str());
    NormSetRxPortReuse(session, true);
    NormSetTTL(session, 1);
    if (o.debug) NormSetDebugLevel(unsigned(o.debug));
    return session;
}

struct Sender {
    const Options& o;
    NormInstanceHandle instance;
    NormSessionHandle session;
    std::vector<std::string> contents;  // libnorm keeps pointers into these (data objects)
    std::vector<NormObjectHandle> objects;
    size_t next = 0;
    unsigned sent = 0;
    long long bytes = 0;

    void start() {
        if (o.backoff >= 0) NormSetBackoffFactor(session, o.backoff);
        if (o.gsize > 0) NormSetGroupSize(session, unsigned(o.gsize));
        if (o.robust) NormSetTxRobustFactor(session, o.robust);
        if (o.flow_control >= 0) NormSetFlowControl(session, o.flow_control);
        if (o.fixed_probing) NormSetGrttProbingMode(session, NORM_PROBE_NONE);
        NormSetGrttEstimate(session, o.grtt);
        NormSetTxRate(session, o.rate);
        NormSetCongestionControl(session, o.congestion_control);
        NormSetAutoParity(session, (unsigned char)o.auto_parity);
        NormSetTxCacheBounds(session, NormSize(1) << 32, 8, 1024);
        for (unsigned node : o.acks) NormAddAckingNode(session, node);
        if (!NormStartSender(session, UINT16(o.instance), o.buffer, UINT16(o.segment), UINT16(o.ndata),
                             UINT16(o.nparity), UINT8(o.fec_id))) {
            fprintf(stderr, "norm_peer: cannot start the sender\n");
            exit(1);
        }
        NormSetTxSocketBuffer(session, o.socket_buffer);
        contents.resize(o.paths.size());
        if (!o.command_hex.empty()) {
            std::string command = from_hex(o.command_hex);
            bool ok = NormSendCommand(session, command.data(), unsigned(command.size()), false);
            say("command_queued", field("ok", ok));
        }
    }

    // Gives libnorm as many objects as it will take; it says when there is room again.
    void enqueue() {
        for (; next < o.paths.size(); next++) {
            const std::string& path = o.paths[next];
            std::string info = info_for(o, path);
            const char* info_pointer = info.empty() ? nullptr : info.data();
            NormObjectHandle object;
            if (o.data_objects) {
                if (contents[next].empty() && !read_file(path, contents[next])) { fprintf(stderr, "norm_peer: cannot read %s\n", path.c_str()); exit(1); }
                object = NormDataEnqueue(session, contents[next].data(), UINT32(contents[next].size()), info_pointer, unsigned(info.size()));
            } else {
                object = NormFileEnqueue(session, path.c_str(), info_pointer, unsigned(info.size()));
            }
            if (object == NORM_OBJECT_INVALID) {
                if (objects.empty()) { say("enqueue_refused", field("path", path)); exit(1); }
                return;
            }
            NormObjectRetain(object);
            objects.push_back(object);
            long long size = NormObjectGetSize(object);
            bytes += size;
            say("enqueued", field("path", path) + "," + field("size", size));
            if (next + 1 == o.paths.size() && !o.acks.empty()) NormSetWatermark(session, object, true);
        }
    }

    int acks() {
        int failures = 0;
        NormNodeId node = NORM_NODE_NONE;
        NormAckingStatus status;
        while (NormGetNextAckingNode(session, &node, &status)) {
            const char* text = status == NORM_ACK_SUCCESS ? "success" : status == NORM_ACK_FAILURE ? "failure" : "pending";
            if (status != NORM_ACK_SUCCESS) failures++;
            say("ack", field("node", node) + "," + field("status", text));
        }
        return failures;
    }

    int run() {
        double began = now(), deadline = began + o.timeout;
        start();
        enqueue();
        NormEvent event;
        while (next_event(instance, deadline, &event)) {
            deadline = now() + o.timeout;
            switch (event.type) {
                case NORM_TX_QUEUE_VACANCY: case NORM_TX_OBJECT_PURGED: enqueue(); break;
                case NORM_TX_OBJECT_SENT: say("object_sent", field("n", ++sent)); break;
                case NORM_TX_CMD_SENT: say("command_sent", ""); break;
                case NORM_TX_FLUSH_COMPLETED:
                    say("flush_completed", "");
                    if (o.acks.empty() && next == o.paths.size()) return finish(began, 0);
                    break;
                case NORM_TX_WATERMARK_COMPLETED: return finish(began, acks() ? 3 : 0);
                case NORM_CC_ACTIVE: say("cc_active", ""); break;
                case NORM_SEND_ERROR: say("send_error", ""); break;
                default: break;
            }
        }
        say("timeout", field("seconds", (long long)o.timeout));
        return finish(began, 1);
    }

    int finish(double began, int code) {
        char seconds[32];
        snprintf(seconds, sizeof seconds, "\"seconds\":%.3f", now() - began);
        say("result", field("code", code) + "," + field("objects", (long long)objects.size()) + "," + field("bytes", bytes) + "," + seconds);
        return code;
    }
};

// What a receiver calls an object: its INFO taken as a C string, as NRL's own programs do.
struct Receiver {
    const Options& o;
    NormInstanceHandle instance;
    NormSessionHandle session;
    std::string dir;
    unsigned completed = 0, aborted = 0;
    long long bytes = 0;

    std::string name_of(NormObjectHandle object) {
        char info[65536] = {0};
        unsigned length = NormObjectGetInfoLength(object);
        if (!NormObjectHasInfo(object) || length == 0) return "";
        NormObjectGetInfo(object, info, UINT16(length));
        return info;
    }

    std::string place(const std::string& name) {
        std::string safe = name;
        if (safe.empty()) safe = "object-" + std::to_string(completed);
        if (safe[0] == '/' || safe.find("..") != std::string::npos) safe = "refused-name-" + std::to_string(completed);
        for (size_t slash = safe.find('/'); slash != std::string::npos; slash = safe.find('/', slash + 1))
            mkdir((dir + "/" + safe.substr(0, slash)).c_str(), 0777);
        return dir + "/" + safe;
    }

    void on_info(NormObjectHandle object) {
        std::string name = name_of(object);
        say("info", field("length", NormObjectGetInfoLength(object)) + "," + field("name", name));
        if (NormObjectGetType(object) == NORM_OBJECT_FILE && !name.empty()) NormFileRename(object, place(name).c_str());
    }

    void on_completed(NormObjectHandle object) {
        std::string name = name_of(object), path;
        long long size = NormObjectGetSize(object);
        if (NormObjectGetType(object) == NORM_OBJECT_FILE) {
            char where[4096] = {0};
            NormFileGetName(object, where, sizeof where);
            path = where;
        } else if (o.data_objects) {  // else only told of: a file receiver has no place for them
            path = place(name);
            FILE* f = fopen(path.c_str(), "wb");
            const char* data = NormDataAccessData(object);
            if (f && data && size) fwrite(data, 1, size_t(size), f);
            if (f) fclose(f);
        }
        completed++;
        bytes += size;
        say("completed", field("type", NormObjectGetType(object) == NORM_OBJECT_FILE ? "file" : "data") + "," + field("name", name) +
                             "," + field("size", size) + "," + field("path", path));
    }

    int run() {
        if (o.silent) NormSetSilentReceiver(session, true);
        NormSetDefaultUnicastNack(session, o.unicast_nack);
        NormSetDefaultSyncPolicy(session, o.sync == "all" ? NORM_SYNC_ALL : NORM_SYNC_CURRENT);
        if (o.robust) NormSetDefaultRxRobustFactor(session, o.robust);
        NormSetRxCacheLimit(session, 1024);
        if (!NormStartReceiver(session, o.buffer)) { fprintf(stderr, "norm_peer: cannot start the receiver\n"); return 1; }
        NormSetRxSocketBuffer(session, o.socket_buffer);
        say("ready", field("node", o.node_id));
        double began = now(), deadline = began + o.timeout;
        NormEvent event;
        while (next_event(instance, deadline, &event)) {
            bool done_before = o.count && completed >= o.count;
            if (!done_before) deadline = now() + o.timeout;
            switch (event.type) {
                case NORM_REMOTE_SENDER_NEW: say("sender_new", field("node", NormNodeGetId(event.sender))); break;
                case NORM_REMOTE_SENDER_RESET: say("sender_reset", field("node", NormNodeGetId(event.sender))); break;
                case NORM_REMOTE_SENDER_INACTIVE: say("sender_inactive", field("node", NormNodeGetId(event.sender))); break;
                case NORM_RX_OBJECT_NEW: say("object", field("size", NormObjectGetSize(event.object)) + "," + field("info", NormObjectHasInfo(event.object))); break;
                case NORM_RX_OBJECT_INFO: on_info(event.object); break;
                case NORM_RX_OBJECT_COMPLETED: on_completed(event.object); break;
                case NORM_RX_OBJECT_ABORTED: aborted++; say("aborted", ""); break;
                case NORM_RX_CMD_NEW: {
                    char buffer[8192];
                    unsigned length = sizeof buffer;
                    bool ok = NormNodeGetCommand(event.sender, buffer, &length);
                    say("command", field("ok", ok) + "," + field("length", length));
                    break;
                }
                default: break;
            }
            if (!done_before && o.count && completed >= o.count) {
                finish(began, 0);
                deadline = now() + o.linger;
            }
        }
        bool ok = o.count ? completed >= o.count : true;
        if (!ok || !o.count) finish(began, ok ? 0 : 1);
        return ok ? 0 : 1;
    }

    void finish(double began, int code) {
        char seconds[32];
        snprintf(seconds, sizeof seconds, "\"seconds\":%.3f", now() - began);
        say("result", field("code", code) + "," + field("objects", completed) + "," + field("aborted", aborted) + "," + field("bytes", bytes) + "," + seconds);
    }
};

}  // namespace

int main(int argc, char** argv) {
    Options o = parse(argc, argv);
    struct sigaction action = {};
    action.sa_handler = on_signal;
    sigaction(SIGTERM, &action, nullptr);
    sigaction(SIGINT, &action, nullptr);
    if (o.start_delay > 0) usleep(useconds_t(o.start_delay * 1e6));
    NormInstanceHandle instance = NormCreateInstance();
    if (o.verb == "recv") {
        if (o.paths.size() != 1) usage("recv needs one directory");
        mkdir(o.paths[0].c_str(), 0777);
        // libnorm writes unfinished files here; the same file system lets a rename finish them.
        std::string cache = o.paths[0] + "/";
        NormSetCacheDirectory(instance, cache.c_str());
    }
    NormSessionHandle session = open_session(o, instance);
    int code = 2;
    if (o.verb == "send") {
        if (o.paths.empty()) usage("send needs at least one file");
        code = Sender{o, instance, session, {}, {}}.run();
    } else if (o.verb == "recv") {
        code = Receiver{o, instance, session, o.paths[0]}.run();
    } else usage("unknown verb " + o.verb);
    // Once two commands of a sender have waited to be read, libnorm 1.5.9 has buffers in two lists and frees
    // them twice when the receiver closes. All that is received is in its files by now.
    if (o.verb == "recv") { fflush(nullptr); _exit(code); }
    NormDestroySession(session);
    NormDestroyInstance(instance);
    return code;
}
