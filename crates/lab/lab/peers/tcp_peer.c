// A file over TCP to each receiver on its own, for the laboratory: what people do without multicast.
//
//   tcp_peer send [--port N] FILE ADDRESS...   a connection to each address, all at the same time
//   tcp_peer recv [--port N] FILE              takes one connection, writes FILE, ends
//
// The kernel's TCP as it is, or, with --congestion NAME at the end, with this congestion control; sendfile,
// as file servers do. One JSON object per line on stdout. Exit
// codes: 0 done, 1 failed, 2 usage.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define RECEIVERS_MAX 64

static const char *congestion;  // NULL: the system's default

static int fail(const char *what) {
    fprintf(stderr, "error: %s: %s\n", what, strerror(errno));
    return 1;
}

static int usage(const char *why) {
    fprintf(stderr, "error: %s. usage: tcp_peer send|recv [--port N] FILE [ADDRESS...]\n", why);
    return 2;
}

static void say(const char *event) {
    printf("{\"event\":\"%s\"}\n", event);
    fflush(stdout);
}

struct stream {
    int fd;
    off_t sent;
    short waits_for;  // 0 when it has ended
};

static int begin(struct stream *stream, const char *address, int port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    if (inet_pton(AF_INET, address, &to.sin_addr) != 1) return usage(address);
    stream->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    stream->waits_for = POLLOUT;
    if (congestion && setsockopt(stream->fd, IPPROTO_TCP, TCP_CONGESTION, congestion, (socklen_t)strlen(congestion)))
        return fail(congestion);
    if (connect(stream->fd, (struct sockaddr *)&to, sizeof to) != 0 && errno != EINPROGRESS)
        return fail(address);
    return 0;
}

// As much as the socket takes; then waits until the receiver has closed: it has all of it.
static int go_on(struct stream *stream, int file, off_t size) {
    while (stream->sent < size) {
        ssize_t length = sendfile(stream->fd, file, &stream->sent, (size_t)(size - stream->sent));
        if (length < 0 && errno == EAGAIN) return 0;
        if (length <= 0) return fail("send");
    }
    if (stream->waits_for == POLLOUT) {
        shutdown(stream->fd, SHUT_WR);
        stream->waits_for = POLLIN;
        return 0;
    }
    char nothing;
    ssize_t length = recv(stream->fd, &nothing, 1, 0);
    if (length < 0 && errno != EAGAIN) return fail("receiver");
    if (length == 0) stream->waits_for = 0;
    return 0;
}

static int send_file(const char *path, char **addresses, int count, int port) {
    int file = open(path, O_RDONLY);
    struct stat about;
    if (file < 0 || fstat(file, &about) != 0) return fail(path);
    struct stream streams[RECEIVERS_MAX] = {0};
    for (int i = 0; i < count; i++) {
        int code = begin(&streams[i], addresses[i], port);
        if (code) return code;
    }
    say("start");
    for (;;) {
        struct pollfd fds[RECEIVERS_MAX];
        int open_ones = 0;
        for (int i = 0; i < count; i++) {
            fds[i] = (struct pollfd){streams[i].waits_for ? streams[i].fd : -1, streams[i].waits_for, 0};
            open_ones += streams[i].waits_for != 0;
        }
        if (!open_ones) return say("sent"), 0;
        if (poll(fds, (nfds_t)count, -1) < 0) return fail("poll");
        for (int i = 0; i < count; i++)
            if (fds[i].fd >= 0 && fds[i].revents && go_on(&streams[i], file, about.st_size)) return 1;
    }
}

static int receive_file(const char *path, int port) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644), yes = 1;
    if (file < 0) return fail(path);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    if (bind(listener, (struct sockaddr *)&any, sizeof any) || listen(listener, 1)) return fail("listen");
    say("listening");
    int from = accept(listener, NULL, NULL);
    if (from < 0) return fail("accept");
    static char buffer[1 << 18];
    ssize_t length;
    while ((length = recv(from, buffer, sizeof buffer, 0)) > 0)
        for (ssize_t done = 0, n; done < length; done += n)
            if ((n = write(file, buffer + done, (size_t)(length - done))) < 0) return fail(path);
    if (length < 0) return fail("receive");
    close(file);
    say("file");
    close(from);
    return 0;
}

int main(int argc, char **argv) {
    int port = 7600, at = 2;
    if (argc > 4 && !strcmp(argv[argc - 2], "--congestion")) congestion = argv[argc - 1], argc -= 2;
    if (argc > 4 && !strcmp(argv[2], "--port")) port = atoi(argv[3]), at = 4;
    if (argc <= at) return usage("no file");
    int count = argc - at - 1;
    if (!strcmp(argv[1], "recv")) return receive_file(argv[at], port);
    if (strcmp(argv[1], "send") || count < 1 || count > RECEIVERS_MAX) return usage("no verb, or not 1 to 64 addresses");
    return send_file(argv[at], argv + at + 1, count, port);
}
