// A file over OpenPGM, for the laboratory: our own program over libpgm, one file per run.
//
//   pgm_peer send [options] FILE    sends FILE, then repairs until it is killed
//   pgm_peer recv [options] FILE    writes FILE, ends when it has all of it
//
// One JSON object per line on stdout. Exit codes: 0 done, 1 failed or timed out, 2 usage.
// Each message is eight bytes of offset, eight of the file's size, and data that fit one packet.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <pgm/pgm.h>

#define HEAD 16
#define HEADERS (20 + 8 + 16 + 8)  // IP, UDP, PGM, ODATA
#define ETHERNET 14
#define CATCH_UP 0.02  // seconds; 64 KiB of queue hold more than 20 ms at 10 Mbit/s

static struct {
    const char *verb, *interface, *device, *group, *path;
    int port;
    double rate;        // bit/s of everything sent, IP headers included; 0: no limit
    int payload;        // bytes of a message
    int window;         // packets kept for repair, and for putting in order
    int nak_backoff_ms, nak_repeat_ms, nak_data_ms;
    int retries;
    int spm_ms;
    double timeout;     // seconds without progress
    int buffer;
} o = {.verb = "", .interface = "eth0", .device = "eth0", .group = "239.255.42.1", .port = 7500,
       .rate = 10e6, .payload = 1400, .window = 20000, .nak_backoff_ms = 50, .nak_repeat_ms = 200,
       .nak_data_ms = 400, .retries = 255, .spm_ms = 1000, .timeout = 120, .buffer = 4 << 20};

static volatile sig_atomic_t terminated;
static void on_signal(int n) { (void)n; terminated = 1; }

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int fail(const char *what, pgm_error_t *error) {
    fprintf(stderr, "error: %s: %s\n", what, error ? error->message : strerror(errno));
    return 1;
}

// A figure that is not what was meant must not be measured.
static void set(pgm_sock_t *sock, int option, int value) {
    if (!pgm_setsockopt(sock, IPPROTO_PGM, option, &value, sizeof value)) {
        fprintf(stderr, "error: libpgm refuses option %d (%d)\n", option, value);
        exit(1);
    }
}

static int receives(void) { return strcmp(o.verb, "recv") == 0; }

static void configure_sender(pgm_sock_t *sock) {
    int heartbeats[] = {pgm_msecs(100), pgm_msecs(100), pgm_msecs(200), pgm_msecs(400),
                        pgm_msecs(800), pgm_msecs(1600), pgm_msecs(3200)};
    set(sock, PGM_SEND_ONLY, 1);
    set(sock, PGM_TXW_SQNS, o.window);
    set(sock, PGM_AMBIENT_SPM, pgm_msecs(o.spm_ms));
    if (!pgm_setsockopt(sock, IPPROTO_PGM, PGM_HEARTBEAT_SPM, heartbeats, sizeof heartbeats)) {
        fprintf(stderr, "error: libpgm refuses the heartbeats\n");
        exit(1);
    }
}

static void configure_receiver(pgm_sock_t *sock) {
    set(sock, PGM_RECV_ONLY, 1);
    set(sock, PGM_RXW_SQNS, o.window);
    set(sock, PGM_PEER_EXPIRY, pgm_secs(600));
    set(sock, PGM_SPMR_EXPIRY, pgm_msecs(250));
    set(sock, PGM_NAK_BO_IVL, pgm_msecs(o.nak_backoff_ms));
    set(sock, PGM_NAK_RPT_IVL, pgm_msecs(o.nak_repeat_ms));
    set(sock, PGM_NAK_RDATA_IVL, pgm_msecs(o.nak_data_ms));
    set(sock, PGM_NAK_DATA_RETRIES, o.retries);
    set(sock, PGM_NAK_NCF_RETRIES, o.retries);
}

static void bind_to(pgm_sock_t *sock, const struct pgm_addrinfo_t *where) {
    struct pgm_sockaddr_t address = {.sa_port = (uint16_t)o.port, .sa_addr.sport = DEFAULT_DATA_SOURCE_PORT};
    // By address and process: hosts of a laboratory share one name.
    char identity[128];
    int length = snprintf(identity, sizeof identity, "%s %ld", o.interface, (long)getpid());
    struct pgm_interface_req_t interface = {.ir_interface = where->ai_recv_addrs[0].gsr_interface};
    pgm_error_t *error = NULL;
    if (!pgm_gsi_create_from_data(&address.sa_addr.gsi, (const uint8_t *)identity, (size_t)length) ||
        !pgm_bind3(sock, &address, sizeof address, &interface, sizeof interface, &interface,
                   sizeof interface, &error)) {
        exit(fail("bind", error));
    }
}

static pgm_sock_t *open_socket(void) {
    pgm_error_t *error = NULL;
    struct pgm_addrinfo_t *where = NULL;
    pgm_sock_t *sock = NULL;
    char network[128];
    snprintf(network, sizeof network, "%s;%s", o.interface, o.group);
    if (!pgm_getaddrinfo(network, NULL, &where, &error)) exit(fail(network, error));
    sa_family_t family = where->ai_send_addrs[0].gsr_group.ss_family;
    if (!pgm_socket(&sock, family, SOCK_SEQPACKET, IPPROTO_UDP, &error)) exit(fail("socket", error));
    set(sock, PGM_UDP_ENCAP_UCAST_PORT, o.port);
    set(sock, PGM_UDP_ENCAP_MCAST_PORT, o.port);
    set(sock, PGM_MTU, o.payload + HEADERS);
    set(sock, PGM_IP_ROUTER_ALERT, 0);
    if (receives()) configure_receiver(sock); else configure_sender(sock);
    pgm_setsockopt(sock, SOL_SOCKET, SO_RCVBUF, &o.buffer, sizeof o.buffer);
    pgm_setsockopt(sock, SOL_SOCKET, SO_SNDBUF, &o.buffer, sizeof o.buffer);
    bind_to(sock, where);
    for (unsigned i = 0; i < where->ai_recv_addrs_len; i++)
        pgm_setsockopt(sock, IPPROTO_PGM, PGM_JOIN_GROUP, &where->ai_recv_addrs[i], sizeof(struct group_req));
    pgm_setsockopt(sock, IPPROTO_PGM, PGM_SEND_GROUP, &where->ai_send_addrs[0], sizeof(struct group_req));
    pgm_freeaddrinfo(where);
    set(sock, PGM_MULTICAST_LOOP, 0);
    set(sock, PGM_MULTICAST_HOPS, 16);
    set(sock, PGM_NOBLOCK, 1);
    if (!pgm_connect(sock, &error)) exit(fail("connect", error));
    return sock;
}

static void pause_for(pgm_sock_t *sock, double seconds) {
    struct pollfd fds[8];
    int n = 8;
    pgm_poll_info(sock, fds, &n, POLLIN);
    if (seconds > 0.1) seconds = 0.1;
    struct timespec left = {0, seconds > 0 ? (long)(seconds * 1e9) : 0};
    ppoll(fds, (nfds_t)n, &left, NULL);
}

// Waits for the socket, or for its timers.
static void wait_for(pgm_sock_t *sock, int status) {
    struct timeval left = {0, 100000};
    socklen_t size = sizeof left;
    if (status == PGM_IO_STATUS_RATE_LIMITED)
        pgm_getsockopt(sock, IPPROTO_PGM, PGM_RATE_REMAIN, &left, &size);
    else if (status == PGM_IO_STATUS_TIMER_PENDING)
        pgm_getsockopt(sock, IPPROTO_PGM, PGM_TIME_REMAIN, &left, &size);
    pause_for(sock, (double)left.tv_sec + (double)left.tv_usec * 1e-6);
}

// The sending side must read as well: NAKs come in there.
static int serve(pgm_sock_t *sock) {
    char nothing[64];
    size_t got = 0;
    pgm_error_t *error = NULL;
    int status = pgm_recv(sock, nothing, sizeof nothing, MSG_DONTWAIT, &got, &error);
    if (error) pgm_error_free(error);
    return status;
}

// A counter of the interface; its file stays open, since it is read before every packet.
static int counter(const char *name) {
    char path[256];
    snprintf(path, sizeof path, "/sys/class/net/%s/statistics/%s", o.device, name);
    int fd = open(path, O_RDONLY);
    if (fd < 0) exit(fail(path, NULL));
    return fd;
}

static double count_of(int fd) {
    char text[32] = {0};
    if (pread(fd, text, sizeof text - 1, 0) <= 0) exit(fail("statistics", NULL));
    return atof(text);
}

// What has been sent though the counters may not show it yet: they move when the cable's other end has
// read a frame, and until then one packet after another would seem to be the first.
static double sent_at_least;

// IP bytes that this host has sent: data, repairs, heartbeats, all of it.
static double sent_bytes(void) {
    static int bytes = -1, packets;
    if (bytes < 0) bytes = counter("tx_bytes"), packets = counter("tx_packets");
    double counted = count_of(bytes) - ETHERNET * count_of(packets);
    if (counted > sent_at_least) sent_at_least = counted;
    return sent_at_least;
}

// Seconds until the next packet may go. Below 12 Mbit/s libpgm's own limit lets a whole second's worth
// out at once, so the pace is ours: what the host sends, repairs too, stays below the rate. What it
// could not send while it had to wait for the processor it catches up with only a little: more would
// overrun the link's queue.
static double pace(void) {
    static double began, before;
    if (o.rate <= 0) return 0;
    double sent = sent_bytes();
    if (began == 0) began = now(), before = sent;
    double due = began + (sent - before) * 8 / o.rate, behind = now() - due;
    if (behind > CATCH_UP) began += behind - CATCH_UP;
    return -behind;
}

static void sleep_for(double seconds) {
    struct timespec left = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&left, NULL);
}

static int send_file(void) {
    int fd = open(o.path, O_RDONLY);
    struct stat about;
    if (fd < 0 || fstat(fd, &about) != 0) return fail(o.path, NULL);
    pgm_sock_t *sock = open_socket();
    uint64_t size = (uint64_t)about.st_size, offset = 0;
    char *message = malloc((size_t)o.payload);
    double began = now();
    int told = 0;
    printf("{\"event\":\"start\",\"bytes\":%llu}\n", (unsigned long long)size);
    fflush(stdout);
    while (!terminated) {
        double wait = pace();
        if (wait > 0) {
            // Not for the socket: a request that waits in it would end every pause at once.
            sleep_for(wait);
            continue;
        }
        // Repairs first: each call sends at most one.
        double before = sent_bytes();
        int status = serve(sock);
        if (o.rate > 0 && sent_bytes() > before) continue;
        if (offset >= size) {
            if (!told++) {
                printf("{\"event\":\"sent\",\"seconds\":%.3f}\n", now() - began);
                fflush(stdout);
            }
            wait_for(sock, status);
            continue;
        }
        ssize_t length = pread(fd, message + HEAD, (size_t)(o.payload - HEAD), (off_t)offset);
        if (length <= 0) return fail(o.path, NULL);
        memcpy(message, &offset, 8);
        memcpy(message + 8, &size, 8);
        while ((status = pgm_send(sock, message, (size_t)length + HEAD, NULL)) != PGM_IO_STATUS_NORMAL) {
            if (terminated || status == PGM_IO_STATUS_ERROR) return fail("send", NULL);
            wait_for(sock, status);
            serve(sock);
        }
        offset += (uint64_t)length;
        sent_at_least += (double)(length + HEAD + HEADERS);
    }
    pgm_close(sock, true);
    return 0;
}

static int receive_file(void) {
    int fd = open(o.path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (fd < 0) return fail(o.path, NULL);
    pgm_sock_t *sock = open_socket();
    printf("{\"event\":\"listening\"}\n");
    fflush(stdout);
    uint64_t size = UINT64_MAX, have = 0;
    unsigned resets = 0;
    char *message = malloc(1 << 16);
    double began = 0, progress = now();
    while (have < size && !terminated) {
        size_t length = 0;
        pgm_error_t *error = NULL;
        int status = pgm_recv(sock, message, 1 << 16, MSG_DONTWAIT, &length, &error);
        if (error) pgm_error_free(error);
        if (status == PGM_IO_STATUS_NORMAL && length >= HEAD) {
            uint64_t offset;
            memcpy(&offset, message, 8);
            memcpy(&size, message + 8, 8);
            if (began == 0) began = now();
            if (pwrite(fd, message + HEAD, length - HEAD, (off_t)offset) < 0) return fail(o.path, NULL);
            have += length - HEAD;
            progress = now();
            continue;
        }
        if (status == PGM_IO_STATUS_RESET) resets++;
        if (now() - progress > o.timeout) {
            fprintf(stderr, "error: no progress in %.0f s: %llu bytes, %u resets\n", o.timeout,
                    (unsigned long long)have, resets);
            return 1;
        }
        wait_for(sock, status);
    }
    close(fd);
    printf("{\"event\":\"file\",\"bytes\":%llu,\"seconds\":%.3f,\"resets\":%u}\n",
           (unsigned long long)have, now() - began, resets);
    fflush(stdout);
    // Stays: a receiver that goes says so, and that would be counted for the others.
    while (!terminated) wait_for(sock, serve(sock));
    pgm_close(sock, false);
    return have >= size ? 0 : 1;
}

static int usage(const char *why) {
    fprintf(stderr, "error: %s. usage: pgm_peer send|recv [--rate BITS] [--interface ADDRESS] ... FILE\n", why);
    return 2;
}

int main(int argc, char **argv) {
    if (argc < 3) return usage("too few arguments");
    o.verb = argv[1];
    if (strcmp(o.verb, "send") && strcmp(o.verb, "recv")) return usage(o.verb);
    for (int i = 2; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        if (strncmp(name, "--", 2) != 0) { o.path = name; continue; }
        i++;
        if (!strcmp(name, "--interface")) o.interface = value;
        else if (!strcmp(name, "--device")) o.device = value;
        else if (!strcmp(name, "--group")) o.group = value;
        else if (!strcmp(name, "--port")) o.port = atoi(value);
        else if (!strcmp(name, "--rate")) o.rate = atof(value);
        else if (!strcmp(name, "--payload")) o.payload = atoi(value);
        else if (!strcmp(name, "--window")) o.window = atoi(value);
        else if (!strcmp(name, "--nak-backoff")) o.nak_backoff_ms = atoi(value);
        else if (!strcmp(name, "--nak-repeat")) o.nak_repeat_ms = atoi(value);
        else if (!strcmp(name, "--nak-data")) o.nak_data_ms = atoi(value);
        else if (!strcmp(name, "--spm")) o.spm_ms = atoi(value);
        else if (!strcmp(name, "--timeout")) o.timeout = atof(value);
        else return usage(name);
    }
    if (!o.path || o.payload <= HEAD) return usage("no file, or a payload that is too small");
    signal(SIGTERM, on_signal);
    signal(SIGINT, on_signal);
    pgm_error_t *error = NULL;
    if (!pgm_init(&error)) return fail("pgm_init", error);
    return receives() ? receive_file() : send_file();
}
