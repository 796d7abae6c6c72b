// How fast a stream is through the C interface, for runs on one libnorm and on another:
//
//   norm_rate send BYTES FLUSH CC RATE SECONDS BLOCK PARITY BUFFER
//   norm_rate recv BYTES FLUSH CC RATE SECONDS BLOCK PARITY BUFFER
//
// The sender writes messages of BYTES bytes as fast as they are taken, for SECONDS; FLUSH is 0, 1 or 2 as
// in the header, CC is 0 or 1, RATE bits a second, BLOCK and PARITY symbols, BUFFER bytes. The receiver says
//   got BYTES breaks N seconds S
// from the first to the last byte that came. Exit codes: 0 done, 1 failed, 2 usage.

#include <normApi.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <sys/select.h>
#include <vector>

namespace {

double now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

struct Plan {
    unsigned bytes, flush;
    bool control;
    double rate, seconds;
    unsigned block, parity, buffer;
};

void pause_for_event(NormInstanceHandle instance) {
    int descriptor = NormGetDescriptor(instance);
    fd_set set;
    FD_ZERO(&set);
    FD_SET(descriptor, &set);
    timeval time = {0, 20000};
    select(descriptor + 1, &set, nullptr, nullptr, &time);
}

void drain(NormInstanceHandle instance) {
    NormEvent event;
    while (NormGetNextEvent(instance, &event, false)) {}
}

int send(NormInstanceHandle instance, NormSessionHandle session, const Plan& plan) {
    NormSetTxRate(session, plan.rate);
    if (plan.control) NormSetCongestionControl(session, true);
    NormSetGrttEstimate(session, 0.01);
    if (!NormStartSender(session, 7, 8 << 20, 1400, plan.block, plan.parity)) return 1;
    NormObjectHandle stream = NormStreamOpen(session, plan.buffer);
    if (stream == NORM_OBJECT_INVALID) return 1;
    std::vector<char> message(plan.bytes, 7);
    double began = now();
    for (unsigned at = 0; now() - began < plan.seconds;) {
        at += NormStreamWrite(stream, message.data() + at, plan.bytes - at);
        if (at == plan.bytes) {
            at = 0;
            NormStreamFlush(stream, true, NormFlushMode(plan.flush));
            continue;
        }
        pause_for_event(instance);
        drain(instance);
    }
    for (double ends = now(); now() - ends < 1;) {
        pause_for_event(instance);
        drain(instance);
    }
    return 0;
}

int receive(NormInstanceHandle instance, NormSessionHandle session, const Plan& plan) {
    NormSetDefaultSyncPolicy(session, NORM_SYNC_STREAM);
    if (!NormStartReceiver(session, 8 << 20)) return 1;
    std::vector<char> buffer(1 << 16);
    unsigned long long got = 0;
    unsigned breaks = 0;
    double first = 0, last = 0, began = now();
    while (now() - began < plan.seconds + 3) {
        pause_for_event(instance);
        NormEvent event;
        while (NormGetNextEvent(instance, &event, false)) {
            if (event.type != NORM_RX_OBJECT_UPDATED && event.type != NORM_RX_OBJECT_NEW) continue;
            for (;;) {
                unsigned count = buffer.size();
                if (!NormStreamRead(event.object, buffer.data(), &count)) ++breaks;
                else if (count == 0) break;
                got += count;
                last = now();
                if (first == 0) first = last;
            }
        }
    }
    std::printf("got %llu breaks %u seconds %.6f\n", got, breaks, last - first);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 10) return 2;
    Plan plan = {unsigned(atoi(argv[2])), unsigned(atoi(argv[3])), atoi(argv[4]) != 0, atof(argv[5]),
                 atof(argv[6]), unsigned(atoi(argv[7])), unsigned(atoi(argv[8])), unsigned(atoi(argv[9]))};
    bool sends = argv[1][0] == 's';
    NormInstanceHandle instance = NormCreateInstance();
    NormSessionHandle session = NormCreateSession(instance, "239.255.42.9", 6009, sends ? 1 : 2);
    NormSetMulticastInterface(session, "eth0");
    int code = sends ? send(instance, session, plan) : receive(instance, session, plan);
    NormDestroyInstance(instance);
    return code;
}
