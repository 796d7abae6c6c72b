// One connection as NRL's norp carries it, over Debian's libnorm: its signalling in UDP, and a NORM
// session with a stream each way.
//
//   norp_peer near LISTEN_PORT FAR_ADDRESS TO_ADDRESS TO_PORT   takes one TCP connection, and asks
//   norp_peer far                                               serves one session, and connects
//
// Says "ready" when it listens. Exit codes: 0 the connection was carried, 1 it was not, 2 usage.

#include <arpa/inet.h>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <netinet/in.h>
#include <normApi.h>
#include <string>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace {

// norp's ports, and its settings of NORM.
const int SIGNALLING = 7001, NORM = 7002;
const unsigned BUFFER = 8 << 20, SEGMENT = 1400, BLOCK = 64;
enum Kind { REQUEST = 1, REQUEST_ACK, REPLY, REPLY_ACK, ORIGINATOR_END, CORRESPONDENT_END, END_ACK };

double now() {
    timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

[[noreturn]] void fail(const char* what) {
    fprintf(stderr, "norp_peer: %s\n", what);
    exit(1);
}

using Bytes = std::vector<unsigned char>;

void put(Bytes& to, unsigned long value, int count) {
    while (count-- > 0) to.push_back((unsigned char)(value >> (8 * count)));
}

unsigned long get(const Bytes& from, size_t at, int count) {
    unsigned long value = 0;
    for (int i = 0; i < count; ++i) value = value << 8 | from[at + size_t(i)];
    return value;
}

sockaddr_in address(const char* ip, int port) {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_port = htons((unsigned short)port);
    if (ip && inet_pton(AF_INET, ip, &a.sin_addr) != 1) fail("address");
    return a;
}

int open_udp(int port) {
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    sockaddr_in a = address(nullptr, port);
    if (bind(fd, (sockaddr*)&a, sizeof a) != 0) fail("port of signalling");
    return fd;
}

struct Session {
    bool near;
    int socket = -1, tcp = -1;
    unsigned short id = 1;
    NormNodeId node, peer_node = 0;
    sockaddr_in peer{};
    NormInstanceHandle instance = NORM_INSTANCE_INVALID;
    NormSessionHandle norm = NORM_SESSION_INVALID;
    NormObjectHandle out = NORM_OBJECT_INVALID, in = NORM_OBJECT_INVALID;
    // What is repeated until it is heard.
    Bytes repeated;
    double next = 0, round_trip = 1;
    int left = 0;
    bool connected = false, in_ended = false, closing = false, out_purged = false, over = false;
    std::string to_tcp, to_norm;
    // Segments written and not acknowledged, as norp counts them.
    unsigned count = 0, most = BUFFER / (BLOCK * SEGMENT) * BLOCK - BLOCK;
    bool marked = false, tcp_open = true, readable = false;

    Bytes message(int kind, unsigned long sec, unsigned long usec) const {
        Bytes m;
        put(m, (unsigned long)kind, 1);
        put(m, 0, 1);
        put(m, id, 2);
        put(m, node, 4);
        put(m, NormGetTxPort(norm), 2);
        put(m, NormGetRxPort(norm), 2);
        put(m, sec, 4);
        put(m, usec, 4);
        return m;
    }

    void say(const Bytes& m) const {
        sendto(socket, m.data(), m.size(), 0, (const sockaddr*)&peer, sizeof peer);
    }

    void repeat(Bytes m) {
        repeated = std::move(m);
        left = 20;
        next = 0;
        turn_timer();
    }

    void turn_timer() {
        if (repeated.empty() || now() < next) return;
        if (left-- == 0) fail("the other end does not answer");
        if (repeated.size() >= 20) {
            double t = now();
            Bytes stamp;
            put(stamp, (unsigned long)t, 4);
            put(stamp, (unsigned long)((t - double((unsigned long)t)) * 1e6), 4);
            std::copy(stamp.begin(), stamp.end(), repeated.begin() + 12);
        }
        say(repeated);
        next = now() + 2 * round_trip;
    }

    void measure(const Bytes& m) {
        round_trip = now() - double(get(m, 12, 4)) - double(get(m, 16, 4)) * 1e-6;
        if (round_trip < 1e-3) round_trip = 1e-3;
    }

    void acknowledge(int kind, const Bytes& m) const { say(message(kind, get(m, 12, 4), get(m, 16, 4))); }

    void start_sender() {
        if (!NormStartSender(norm, id, BUFFER, SEGMENT, BLOCK, 0)) fail("NormStartSender");
        NormSetFlowControl(norm, 0.0);
    }

    void open_stream() {
        out = NormStreamOpen(norm, BUFFER);
        if (out == NORM_OBJECT_INVALID) fail("NormStreamOpen");
    }

    void create(const char* ip, int port) {
        norm = NormCreateSession(instance, ip, (UINT16)port, node);
        if (norm == NORM_SESSION_INVALID) fail("NormCreateSession");
        NormSetDefaultSyncPolicy(norm, NORM_SYNC_STREAM);
        NormSetEcnSupport(norm, false, false, true);
    }

    // The near side: the other end is there.
    void originate(const Bytes& m, const char* ip) {
        if (peer_node) return;
        peer_node = NormNodeId(get(m, 4, 4));
        NormSetGrttEstimate(norm, round_trip);
        NormSetRxPortReuse(norm, true, nullptr, ip, (UINT16)get(m, 8, 2));
        if (!NormStartReceiver(norm, BUFFER)) fail("NormStartReceiver");
        NormChangeDestination(norm, ip, (UINT16)get(m, 10, 2));
        NormSetCongestionControl(norm, true);
        open_stream();
        NormAddAckingNode(norm, peer_node);
    }

    void write_stream() {
        while (connected && !closing && !to_norm.empty() && count < most) {
            size_t room = size_t(most - count) * SEGMENT;
            unsigned size = unsigned(to_norm.size() < room ? to_norm.size() : room);
            unsigned taken = NormStreamWrite(out, to_norm.data(), size);
            if (taken == 0) break;
            to_norm.erase(0, taken);
            NormStreamFlush(out, false, NORM_FLUSH_ACTIVE);
            count += taken / SEGMENT + 1;
            if (!marked && count >= most / 2) {
                NormSetWatermark(norm, out, true);
                marked = true;
            }
        }
        if (connected && !closing && !tcp_open && to_norm.empty()) close_stream();
    }

    void close_stream() {
        closing = true;
        NormStreamClose(out, true);
        NormSetWatermark(norm, out, true);
    }

    void read_stream() {
        if (in == NORM_OBJECT_INVALID || !readable) return;
        char buffer[65536];
        while (to_tcp.size() < 1 << 20) {
            unsigned size = sizeof buffer;
            if (!NormStreamRead(in, buffer, &size)) fail("a break in the stream");
            if (size == 0) {
                readable = false;
                break;
            }
            to_tcp.append(buffer, size);
        }
    }

    void on_event(const NormEvent& event) {
        switch (event.type) {
            case NORM_RX_OBJECT_NEW: in = event.object; break;
            case NORM_RX_OBJECT_UPDATED: readable = true; break;
            case NORM_RX_OBJECT_COMPLETED:
                readable = true;
                read_stream();
                in_ended = true;
                in = NORM_OBJECT_INVALID;
                break;
            case NORM_TX_WATERMARK_COMPLETED:
                if (NormGetAckingStatus(norm) == NORM_ACK_SUCCESS) {
                    marked = false;
                    count = count > most / 2 ? count - most / 2 : 0;
                } else {
                    NormResetWatermark(norm);
                }
                break;
            case NORM_TX_OBJECT_PURGED: out_purged = true; break;
            default: break;
        }
    }

    void on_message(const Bytes& m, const sockaddr_in& from) {
        if (m.size() < 8) return;
        char ip[INET_ADDRSTRLEN];
        inet_ntop(AF_INET, &from.sin_addr, ip, sizeof ip);
        bool whole = m.size() >= 20;
        switch (m[0]) {
            case REQUEST:
                if (near || !whole || m.size() < 30 || m[23] != 1) return;
                if (norm == NORM_SESSION_INVALID) {
                    peer = from;
                    id = (unsigned short)get(m, 2, 2);
                    peer_node = NormNodeId(get(m, 4, 4));
                    create(ip, NORM);
                    NormSetTxPort(norm, NORM);
                    NormSetRxPortReuse(norm, true);
                    if (!NormStartReceiver(norm, BUFFER)) fail("NormStartReceiver");
                    NormChangeDestination(norm, ip, (UINT16)get(m, 10, 2));
                    NormAddAckingNode(norm, peer_node);
                    acknowledge(REQUEST_ACK, m);
                    connect_far(m);
                } else {
                    acknowledge(REQUEST_ACK, m);
                }
                break;
            case REQUEST_ACK:
                if (!near || !whole || peer_node) return;
                measure(m);
                repeated.clear();
                originate(m, ip);
                break;
            case REPLY:
                if (!near || m.size() < 22) return;
                if (m[21] != 0) fail("the reply is a refusal");
                repeated.clear();
                originate(m, ip);
                acknowledge(REPLY_ACK, m);
                connected = true;
                break;
            case REPLY_ACK:
                if (near || !whole || connected) return;
                measure(m);
                repeated.clear();
                NormSetCongestionControl(norm, true);
                NormSetGrttEstimate(norm, round_trip);
                start_sender();
                open_stream();
                connected = true;
                break;
            case ORIGINATOR_END:
            case CORRESPONDENT_END: {
                Bytes ack;
                put(ack, END_ACK, 1);
                put(ack, 0, 1);
                put(ack, get(m, 2, 2), 2);
                put(ack, m[0] == ORIGINATOR_END ? 0 : node, 4);
                say(ack);
                over = true;
                break;
            }
            case END_ACK: over = true; break;
            default: break;
        }
    }

    void connect_far(const Bytes& m) {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        memcpy(&to.sin_addr, &m[24], 4);
        memcpy(&to.sin_port, &m[28], 2);
        tcp = ::socket(AF_INET, SOCK_STREAM, 0);
        if (connect(tcp, (sockaddr*)&to, sizeof to) != 0) fail("connect");
        fcntl(tcp, F_SETFL, O_NONBLOCK);
        Bytes reply = message(REPLY, 0, 0);
        for (unsigned char byte : {5, 0, 0, 1, 0, 0, 0, 0, 0, 0}) reply.push_back(byte);
        repeat(reply);
    }

    void turn_tcp(bool readable) {
        if (tcp < 0) return;
        char buffer[65536];
        if (readable && tcp_open && to_norm.size() < 1 << 18) {
            ssize_t got = read(tcp, buffer, sizeof buffer);
            if (got > 0) to_norm.append(buffer, size_t(got));
            else if (got == 0 || (errno != EAGAIN && errno != EINTR)) tcp_open = false;
        }
        while (!to_tcp.empty()) {
            ssize_t put = send(tcp, to_tcp.data(), to_tcp.size(), MSG_NOSIGNAL);
            if (put <= 0) break;
            to_tcp.erase(0, size_t(put));
        }
        if (in_ended && to_tcp.empty()) {
            // As norp: the end of one direction ends the other one, too.
            shutdown(tcp, SHUT_WR);
            if (!closing && connected) close_stream();
        }
    }

    bool done() const { return in_ended && out_purged && to_tcp.empty(); }

    int run() {
        int events = NormGetDescriptor(instance);
        bool ending = false;
        for (double begun = now(); now() - begun < 300;) {
            fd_set reads;
            FD_ZERO(&reads);
            FD_SET(socket, &reads);
            FD_SET(events, &reads);
            bool wants = tcp >= 0 && tcp_open && to_norm.size() < 1 << 18;
            if (wants) FD_SET(tcp, &reads);
            timeval patience = {0, 20000};
            int most_fd = std::max(std::max(socket, events), tcp);
            if (select(most_fd + 1, &reads, nullptr, nullptr, &patience) < 0) FD_ZERO(&reads);
            while (true) {
                Bytes m(1024);
                sockaddr_in from{};
                socklen_t size = sizeof from;
                ssize_t got = recvfrom(socket, m.data(), m.size(), 0, (sockaddr*)&from, &size);
                if (got <= 0) break;
                m.resize(size_t(got));
                on_message(m, from);
            }
            if (FD_ISSET(events, &reads)) {
                NormEvent event;
                for (int i = 0; i < 100 && NormGetNextEvent(instance, &event, false); ++i) on_event(event);
            }
            read_stream();
            turn_tcp(wants && FD_ISSET(tcp, &reads));
            write_stream();
            turn_timer();
            // Who has asked may end the session as soon as it has everything of a server that has ended.
            bool served = !near && !tcp_open && to_norm.empty();
            if (over) return done() || ending || served || (in_ended && to_tcp.empty()) ? 0 : 1;
            if (done() && !ending) {
                ending = true;
                Bytes end;
                put(end, near ? ORIGINATOR_END : CORRESPONDENT_END, 1);
                put(end, 0, 1);
                put(end, id, 2);
                put(end, node, 4);
                peer.sin_port = htons(SIGNALLING);
                repeat(end);
            }
        }
        return 1;
    }
};

}  // namespace

int main(int argc, char** argv) {
    bool near = argc == 6 && !strcmp(argv[1], "near");
    if (!near && !(argc == 2 && !strcmp(argv[1], "far"))) {
        fprintf(stderr, "usage: norp_peer near LISTEN_PORT FAR TO TO_PORT | norp_peer far\n");
        return 2;
    }
    Session s;
    s.near = near;
    s.node = near ? 0x0a580001 : 0x0a580002;
    s.instance = NormCreateInstance();
    s.socket = open_udp(SIGNALLING);
    if (near) {
        int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        sockaddr_in own = address("127.0.0.1", atoi(argv[2]));
        if (bind(listener, (sockaddr*)&own, sizeof own) != 0 || listen(listener, 1) != 0) fail("port");
        printf("ready\n");
        fflush(stdout);
        s.tcp = accept(listener, nullptr, nullptr);
        fcntl(s.tcp, F_SETFL, O_NONBLOCK);
        s.peer = address(argv[3], SIGNALLING);
        // One port of its own for both directions; only a sender until the far side is there.
        s.create(argv[3], 0);
        NormSetTxOnly(s.norm, true);
        NormSetGrttProbingMode(s.norm, NORM_PROBE_NONE);
        s.start_sender();
        NormChangeDestination(s.norm, argv[3], NORM, true);
        Bytes request = s.message(REQUEST, 0, 0);
        sockaddr_in to = address(argv[4], atoi(argv[5]));
        for (unsigned char byte : {5, 1, 0, 1}) request.push_back(byte);
        const auto* ip = (const unsigned char*)&to.sin_addr;
        request.insert(request.end(), ip, ip + 4);
        put(request, ntohs(to.sin_port), 2);
        s.repeat(request);
    } else {
        printf("ready\n");
        fflush(stdout);
    }
    int code = s.run();
    if (s.tcp >= 0) close(s.tcp);
    return code;
}
