// Two ends of one connection over a protocol, and how long things take: for the unicast matrix.
//
//   unicast_peer PROTOCOL server PORT                                serves until it is killed
//   unicast_peer PROTOCOL client ADDRESS PORT PATTERN BYTES          prints one line of JSON
//
// PROTOCOL: cubic, bbr, reno (the kernel's TCP), socks (TCP through a SOCKS5 proxy at 127.0.0.1:7000), and
// with UDT, SRT or SCTP defined at compile time udt, srt, sctp (usrsctp over UDP).
// PATTERN: handshake (until it is connected), rpc (256 bytes there, 2,048 back), one-way (BYTES there,
// first to last byte at the receiver), two-way (BYTES both ways, the slower of both).
//
// What is said over a connection: pattern (1), BYTES (8), then bytes; the receiver of BYTES says the
// nanoseconds that they took (8).

#include <arpa/inet.h>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>
#if defined(UDT_PEER)
#include <udt/udt.h>
#elif defined(SRT_PEER)
#include <srt/srt.h>
#elif defined(SCTP_PEER)
#include <cstdarg>
#include <usrsctp.h>
#endif

namespace {

const size_t REQUEST = 256, REPLY = 2048;

double now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

[[noreturn]] void fail(const char* what) {
    printf("{\"error\":\"%s\"}\n", what);
    fflush(stdout);
    _exit(1);
}

sockaddr_in address(const char* ip, int port) {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_port = htons((uint16_t)port);
    if (ip && inet_pton(AF_INET, ip, &a.sin_addr) != 1) fail("address");
    return a;
}

#if defined(UDT_PEER)
// UDT: reliable streams, its own congestion control.
using Connection = UDTSOCKET;
void set_up() { UDT::startup(); }
Connection dial(const std::string&, const char* ip, int port) {
    Connection c = UDT::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in a = address(ip, port);
    if (UDT::connect(c, (sockaddr*)&a, sizeof a) == UDT::ERROR) fail("connect");
    return c;
}
void serve(const std::string&, int port, void (*each)(Connection)) {
    UDTSOCKET s = UDT::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in a = address(nullptr, port);
    if (UDT::bind(s, (sockaddr*)&a, sizeof a) == UDT::ERROR) fail("bind");
    UDT::listen(s, 10);
    while (true) {
        sockaddr_in from{};
        int size = sizeof from;
        UDTSOCKET c = UDT::accept(s, (sockaddr*)&from, &size);
        if (c != UDT::INVALID_SOCK) std::thread(each, c).detach();
    }
}
long some(Connection c, char* to, size_t most) { return UDT::recv(c, to, (int)most, 0); }
long give(Connection c, const char* from, size_t size) { return UDT::send(c, from, (int)size, 0); }
void finish(Connection c) { UDT::close(c); }
#elif defined(SRT_PEER)
// SRT, UDT's heir, in its mode for files.
using Connection = SRTSOCKET;
void set_up() { srt_startup(); srt_setloglevel(0); }
Connection make() {
    SRTSOCKET c = srt_create_socket();
    int type = SRTT_FILE;
    srt_setsockflag(c, SRTO_TRANSTYPE, &type, sizeof type);
    // 3 s is less than four round trips of the matrix.
    int patience = 60000;
    srt_setsockflag(c, SRTO_CONNTIMEO, &patience, sizeof patience);
    return c;
}
Connection dial(const std::string&, const char* ip, int port) {
    SRTSOCKET c = make();
    sockaddr_in a = address(ip, port);
    if (srt_connect(c, (sockaddr*)&a, sizeof a) == SRT_ERROR) fail("connect");
    return c;
}
void serve(const std::string&, int port, void (*each)(Connection)) {
    SRTSOCKET s = make();
    sockaddr_in a = address(nullptr, port);
    if (srt_bind(s, (sockaddr*)&a, sizeof a) == SRT_ERROR) fail("bind");
    srt_listen(s, 10);
    while (true) {
        SRTSOCKET c = srt_accept(s, nullptr, nullptr);
        if (c != SRT_INVALID_SOCK) std::thread(each, c).detach();
    }
}
long some(Connection c, char* to, size_t most) { return srt_recvmsg(c, to, (int)most); }
long give(Connection c, const char* from, size_t size) {
    return srt_sendmsg(c, from, (int)(size < 65536 ? size : 65536), -1, 1);
}
void finish(Connection c) { srt_close(c); }
#elif defined(SCTP_PEER)
// SCTP in user space, over UDP (RFC 6951).
using Connection = struct socket*;
const int ENCAPSULATED = 9899;
void quiet(const char*, ...) {}
void set_up() {
    usrsctp_init(ENCAPSULATED, nullptr, quiet);
    usrsctp_sysctl_set_sctp_ecn_enable(0);
}
Connection make() {
    Connection c = usrsctp_socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP, nullptr, nullptr, 0, nullptr);
    if (!c) fail("socket");
    sctp_udpencaps encaps{};
    encaps.sue_address.ss_family = AF_INET;
    encaps.sue_port = htons(ENCAPSULATED);
    usrsctp_setsockopt(c, IPPROTO_SCTP, SCTP_REMOTE_UDP_ENCAPS_PORT, &encaps, sizeof encaps);
    int on = 1;
    usrsctp_setsockopt(c, IPPROTO_SCTP, SCTP_NODELAY, &on, sizeof on);
    return c;
}
Connection dial(const std::string&, const char* ip, int port) {
    Connection c = make();
    sockaddr_in a = address(ip, port);
    if (usrsctp_connect(c, (sockaddr*)&a, sizeof a) != 0) fail("connect");
    return c;
}
void serve(const std::string&, int port, void (*each)(Connection)) {
    Connection s = make();
    sockaddr_in a = address(nullptr, port);
    if (usrsctp_bind(s, (sockaddr*)&a, sizeof a) != 0 || usrsctp_listen(s, 10) != 0) fail("bind");
    while (true) {
        Connection c = usrsctp_accept(s, nullptr, nullptr);
        if (c) std::thread(each, c).detach();
    }
}
long some(Connection c, char* to, size_t most) {
    sockaddr_in from{};
    socklen_t size = sizeof from, info_size = 0;
    int flags = 0;
    unsigned info = 0;
    return usrsctp_recvv(c, to, most, (sockaddr*)&from, &size, nullptr, &info_size, &info, &flags);
}
long give(Connection c, const char* from, size_t size) {
    if (size > 16384) size = 16384;
    return usrsctp_sendv(c, from, size, nullptr, 0, nullptr, 0, SCTP_SENDV_NOINFO, 0);
}
void finish(Connection c) { usrsctp_close(c); }
#else
// The kernel's TCP, with a congestion control; also through a SOCKS5 proxy.
using Connection = int;
void set_up() {}
int make(const std::string& protocol) {
    int c = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    setsockopt(c, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(c, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    std::string control = protocol == "socks" ? "cubic" : protocol;
    if (setsockopt(c, IPPROTO_TCP, TCP_CONGESTION, control.data(), (socklen_t)control.size()) != 0) {
        fail("the kernel does not have this congestion control");
    }
    return c;
}
long some(Connection c, char* to, size_t most) { return read(c, to, most); }
long give(Connection c, const char* from, size_t size) { return send(c, from, size, MSG_NOSIGNAL); }
void finish(Connection c) {
    shutdown(c, SHUT_WR);
    char rest[4096];
    while (read(c, rest, sizeof rest) > 0) {}
    close(c);
}
Connection dial(const std::string& protocol, const char* ip, int port) {
    int c = make(protocol);
    bool socks = protocol == "socks";
    sockaddr_in to = address(ip, port), a = socks ? address("127.0.0.1", 7000) : to;
    if (connect(c, (sockaddr*)&a, sizeof a) != 0) fail("connect");
    if (!socks) return c;
    unsigned char request[13] = {5, 1, 0, 5, 1, 0, 1}, reply[12];
    memcpy(request + 7, &to.sin_addr, 4);
    memcpy(request + 11, &to.sin_port, 2);
    if (give(c, (char*)request, sizeof request) != sizeof request) fail("proxy");
    for (size_t got = 0; got < sizeof reply;) {
        long more = some(c, (char*)reply + got, sizeof reply - got);
        if (more <= 0) fail("proxy");
        got += (size_t)more;
    }
    if (reply[3] != 0) fail("the proxy has refused");
    return c;
}
void serve(const std::string& protocol, int port, void (*each)(Connection)) {
    int s = make(protocol);
    sockaddr_in a = address(nullptr, port);
    if (bind(s, (sockaddr*)&a, sizeof a) != 0 || listen(s, 10) != 0) fail("bind");
    while (true) {
        int c = accept(s, nullptr, nullptr);
        if (c >= 0) std::thread(each, c).detach();
    }
}
#endif

// What one read of a message protocol gave beyond what was wanted is kept.
struct End {
    Connection c;
    std::vector<char> rest;

    bool read_all(char* to, size_t size) {
        std::vector<char> buffer(65536);
        while (rest.size() < size) {
            long more = some(c, buffer.data(), buffer.size());
            if (more <= 0) return false;
            rest.insert(rest.end(), buffer.begin(), buffer.begin() + more);
        }
        if (to) memcpy(to, rest.data(), size);
        rest.erase(rest.begin(), rest.begin() + (long)size);
        return true;
    }

    // Seconds from the first to the last byte, or less than 0.
    double take(size_t size) {
        if (!read_all(nullptr, 1)) return -1;
        double first = now();
        std::vector<char> buffer(65536);
        size_t got = 1 + rest.size();
        rest.clear();
        while (got < size) {
            long more = some(c, buffer.data(), buffer.size());
            if (more <= 0) return -1;
            got += (size_t)more;
            // What is behind the bytes is how long the other end's took.
            if (got > size) rest.assign(buffer.begin() + (more - long(got - size)), buffer.begin() + more);
        }
        return now() - first;
    }
};

bool write_all(Connection c, const std::vector<char>& bytes) {
    for (size_t done = 0; done < bytes.size();) {
        long more = give(c, bytes.data() + done, bytes.size() - done);
        if (more <= 0) return false;
        done += (size_t)more;
    }
    return true;
}

std::vector<char> number(uint64_t value) {
    std::vector<char> bytes(8);
    memcpy(bytes.data(), &value, 8);
    return bytes;
}

void answer(Connection c) {
    End end{c, {}};
    char head[9];
    while (end.read_all(head, sizeof head)) {
        uint64_t size;
        memcpy(&size, head + 1, 8);
        if (head[0] == 'r') {
            if (!end.read_all(nullptr, REQUEST) || !write_all(c, std::vector<char>(REPLY))) break;
            continue;
        }
        std::thread back([&] {
            if (head[0] == 't') write_all(c, std::vector<char>(size));
        });
        double took = end.take(size);
        back.join();
        if (took < 0 || !write_all(c, number((uint64_t)(took * 1e9)))) break;
    }
    finish(c);
}

double measure(Connection c, const std::string& pattern, size_t size) {
    End end{c, {}};
    char kind = pattern == "rpc" ? 'r' : pattern == "one-way" ? 'o' : 't';
    std::vector<char> head{kind};
    for (char byte : number(size)) head.push_back(byte);
    double begun = now();
    if (kind == 'r') {
        head.resize(head.size() + REQUEST);
        if (!write_all(c, head) || !end.read_all(nullptr, REPLY)) fail("rpc");
        return now() - begun;
    }
    // Ahead of the bytes, so that the first of them is measured by itself.
    if (!write_all(c, head)) fail("head");
    std::thread there([&] { write_all(c, std::vector<char>(size)); });
    double own = kind == 't' ? end.take(size) : 0;
    there.join();
    uint64_t nanos;
    if (own < 0 || !end.read_all((char*)&nanos, 8)) fail("transfer");
    double theirs = double(nanos) * 1e-9;
    return own > theirs ? own : theirs;
}

}  // namespace

int main(int argc, char** argv) {
    std::string protocol = argc > 1 ? argv[1] : "";
    set_up();
    if (argc == 4 && !strcmp(argv[2], "server")) {
        serve(protocol, atoi(argv[3]), answer);
    }
    if (argc != 7 || strcmp(argv[2], "client") != 0) {
        fprintf(stderr, "usage: unicast_peer PROTOCOL server PORT | client ADDRESS PORT PATTERN BYTES\n");
        return 2;
    }
    double begun = now();
    Connection c = dial(protocol, argv[3], atoi(argv[4]));
    double connected = now() - begun;
    std::string pattern = argv[5];
    double seconds = pattern == "handshake" ? connected : measure(c, pattern, strtoull(argv[6], nullptr, 10));
    printf("{\"connected_s\":%.6f,\"seconds\":%.6f}\n", connected, seconds);
    fflush(stdout);
    // What the protocol does at the end is not measured.
    _exit(0);
}
