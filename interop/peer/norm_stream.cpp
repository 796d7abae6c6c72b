// A pipe over NRL's libnorm, for runs with streams:
//
//   norm_stream send [options]   standard input becomes one stream, which is closed gracefully
//   norm_stream recv [options]   the first stream heard goes to standard output
//
// A receiver says on standard error how often libnorm told it of a break ("breaks N"), and ends with the
// stream. Exit codes: 0 done, 1 failed or timed out, 2 usage.

#include <normApi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <sys/select.h>
#include <unistd.h>
#include <vector>

namespace {

struct Options {
    std::string verb, interface, group = "239.255.42.3";
    int port = 6005;
    unsigned node_id = 1, segment = 1400, ndata = 64, nparity = 8, auto_parity = 0, buffer = 8 << 20;
    unsigned message = 0, fec_id = 0;
    double rate = 10e6, grtt = 0.02, timeout = 60;
    bool congestion_control = false, quiet = false;
    std::string flush = "none", sync = "stream";
    std::vector<unsigned> acks;
};

double now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

bool parse(int argc, char** argv, Options& o) {
    if (argc < 2) return false;
    o.verb = argv[1];
    for (int i = 2; i < argc; ++i) {
        std::string name = argv[i];
        if (name == "--cc") { o.congestion_control = true; continue; }
        if (name == "--quiet") { o.quiet = true; continue; }
        if (++i == argc) return false;
        const char* value = argv[i];
        if (name == "--interface") o.interface = value;
        else if (name == "--group") o.group = value;
        else if (name == "--port") o.port = atoi(value);
        else if (name == "--node-id") o.node_id = strtoul(value, nullptr, 0);
        else if (name == "--segment") o.segment = atoi(value);
        else if (name == "--ndata") o.ndata = atoi(value);
        else if (name == "--nparity") o.nparity = atoi(value);
        else if (name == "--auto-parity") o.auto_parity = atoi(value);
        else if (name == "--fec-id") o.fec_id = atoi(value);
        else if (name == "--buffer") o.buffer = strtoul(value, nullptr, 0);
        else if (name == "--message") o.message = atoi(value);
        else if (name == "--rate") o.rate = atof(value);
        else if (name == "--grtt") o.grtt = atof(value);
        else if (name == "--timeout") o.timeout = atof(value);
        else if (name == "--flush") o.flush = value;
        else if (name == "--sync") o.sync = value;
        else if (name == "--ack") o.acks.push_back(strtoul(value, nullptr, 0));
        else return false;
    }
    return o.verb == "send" || o.verb == "recv";
}

// Waits until libnorm has an event, or `seconds` have passed.
bool wait_for_event(NormInstanceHandle instance, double seconds) {
    int fd = NormGetDescriptor(instance);
    fd_set set;
    FD_ZERO(&set);
    FD_SET(fd, &set);
    timeval t = {long(seconds), long((seconds - long(seconds)) * 1e6)};
    return select(fd + 1, &set, nullptr, nullptr, &t) > 0;
}

int send(const Options& o, NormInstanceHandle instance, NormSessionHandle session) {
    NormSetGrttEstimate(session, o.grtt);
    NormSetTxRate(session, o.rate);
    if (o.congestion_control) NormSetCongestionControl(session, true);
    NormSetAutoParity(session, o.auto_parity);
    for (unsigned node : o.acks) NormAddAckingNode(session, node);
    if (!NormStartSender(session, 7, 64 << 20, o.segment, o.ndata, o.nparity, o.fec_id)) return 1;
    NormObjectHandle stream = NormStreamOpen(session, o.buffer);
    if (stream == NORM_OBJECT_INVALID) return 1;
    std::vector<char> chunk(o.message ? o.message : 65536);
    double last = now();
    bool open = true;
    while (open) {
        size_t count = 0;
        while (count < chunk.size()) {
            ssize_t got = read(0, chunk.data() + count, chunk.size() - count);
            if (got <= 0) { open = false; break; }
            count += size_t(got);
            if (!o.message) break;
        }
        size_t done = 0;
        while (done < count) {
            unsigned taken = NormStreamWrite(stream, chunk.data() + done, unsigned(count - done));
            done += taken;
            if (taken) { last = now(); continue; }
            if (now() - last > o.timeout) { fprintf(stderr, "no vacancy\n"); return 1; }
            NormEvent event;
            if (wait_for_event(instance, 0.05)) NormGetNextEvent(instance, &event, false);
        }
        if (count && o.message) NormStreamMarkEom(stream);
        if (count && o.flush == "passive") NormStreamFlush(stream, false, NORM_FLUSH_PASSIVE);
        if (count && o.flush == "active") NormStreamFlush(stream, false, NORM_FLUSH_ACTIVE);
    }
    if (!o.acks.empty()) {
        NormStreamFlush(stream, false, NORM_FLUSH_PASSIVE);
        NormSetWatermark(session, stream, true);
        for (double begun = now(); now() - begun < o.timeout;) {
            NormEvent event;
            if (!wait_for_event(instance, 0.2)) continue;
            if (!NormGetNextEvent(instance, &event, false)) continue;
            if (event.type == NORM_TX_WATERMARK_COMPLETED) {
                bool all = NormGetAckingStatus(session, NORM_NODE_ANY) == NORM_ACK_SUCCESS;
                fprintf(stderr, "acknowledged %d\n", all);
                if (all) break;
                NormResetWatermark(session);
            }
        }
    }
    NormStreamClose(stream, true);
    for (double begun = now(); now() - begun < o.timeout;) {
        NormEvent event;
        if (!wait_for_event(instance, 0.2)) continue;
        if (!NormGetNextEvent(instance, &event, false)) continue;
        if (event.type == NORM_TX_FLUSH_COMPLETED || event.type == NORM_TX_OBJECT_PURGED) return 0;
    }
    return 1;
}

int recv(const Options& o, NormInstanceHandle instance, NormSessionHandle session) {
    NormSetDefaultSyncPolicy(session, o.sync == "current" ? NORM_SYNC_CURRENT : NORM_SYNC_STREAM);
    NormSetDefaultUnicastNack(session, false);
    if (!NormStartReceiver(session, 64 << 20)) return 1;
    NormSetRxSocketBuffer(session, 4 << 20);
    fprintf(stderr, "ready\n");
    NormObjectHandle stream = NORM_OBJECT_INVALID;
    std::vector<char> buffer(65536);
    double last = now();
    unsigned breaks = 0;
    while (now() - last < o.timeout) {
        if (!wait_for_event(instance, 0.2)) continue;
        NormEvent event;
        if (!NormGetNextEvent(instance, &event, false)) continue;
        bool over = false;
        switch (event.type) {
            case NORM_RX_OBJECT_NEW:
                if (stream == NORM_OBJECT_INVALID && NormObjectGetType(event.object) == NORM_OBJECT_STREAM) {
                    stream = event.object;
                }
                break;
            case NORM_RX_OBJECT_COMPLETED: over = event.object == stream; break;
            case NORM_RX_OBJECT_ABORTED:
                if (event.object == stream) { fprintf(stderr, "aborted\n"); return 1; }
                break;
            default: break;
        }
        if (stream == NORM_OBJECT_INVALID || event.object != stream) continue;
        last = now();
        while (true) {
            unsigned count = unsigned(buffer.size());
            bool whole = NormStreamRead(stream, buffer.data(), &count);
            if (!whole) { ++breaks; continue; }
            if (count == 0) break;
            for (size_t done = 0; done < count;) {
                ssize_t put = write(1, buffer.data() + done, count - done);
                if (put <= 0) return 1;
                done += size_t(put);
            }
        }
        if (over) {
            fprintf(stderr, "breaks %u\n", breaks);
            // Others may still ask it.
            return 0;
        }
    }
    fprintf(stderr, "timed out, breaks %u\n", breaks);
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    Options o;
    if (!parse(argc, argv, o)) {
        fprintf(stderr, "usage: norm_stream send|recv [options]\n");
        return 2;
    }
    NormInstanceHandle instance = NormCreateInstance();
    NormSessionHandle session = NormCreateSession(instance, o.group.c_str(), o.port, o.node_id);
    if (session == NORM_SESSION_INVALID) return 1;
    if (!o.interface.empty()) NormSetMulticastInterface(session, o.interface.c_str());
    NormSetRxPortReuse(session, true);
    NormSetLoopback(session, true);
    NormSetTTL(session, 1);
    return o.verb == "send" ? send(o, instance, session) : recv(o, instance, session);
}
