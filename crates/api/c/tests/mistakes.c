/* Every mistake that a program can make is answered: null, dead and foreign handles, options that are
 * none, values that are none. */
#include <fanfare.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void wants(int line, fanfare_result result, fanfare_result wanted, const char *words)
{
    if (result != wanted || (words && !strstr(fanfare_error(), words))) {
        printf("line %d: %d and \"%s\"; wanted %d and \"%s\"\n", line, result, fanfare_error(),
               wanted, words ? words : "");
        exit(1);
    }
}

#define REFUSED(call, words) wants(__LINE__, (call), FANFARE_INVALID, (words))
#define DONE(call) wants(__LINE__, (call), FANFARE_OK, NULL)

static void of_handles(uint64_t handle)
{
    fanfare_event event;
    fanfare_message message;
    fanfare_stream_message part;
    fanfare_status status;
    fanfare_report report;
    const fanfare_receipt *receipts;
    size_t count;
    uint64_t offset;
    char room[8];
    REFUSED(fanfare_options_set(handle, "rate", "1M"), "handle");
    REFUSED(fanfare_files_next(handle, 0, &event), "handle");
    REFUSED(fanfare_out_write(handle, "x", 1), "handle");
    REFUSED(fanfare_out_try_write(handle, "x", 1, &count), "handle");
    REFUSED(fanfare_out_message(handle, "x", 1, -1), "handle");
    REFUSED(fanfare_out_mark(handle), "handle");
    REFUSED(fanfare_out_flush(handle, true), "handle");
    REFUSED(fanfare_out_status(handle, &status), "handle");
    REFUSED(fanfare_out_next(handle, 0, &event), "handle");
    REFUSED(fanfare_in_read(handle, room, sizeof room, 0, &count), "handle");
    REFUSED(fanfare_in_message(handle, 0, &part), "handle");
    REFUSED(fanfare_in_offset(handle, &offset), "handle");
    REFUSED(fanfare_in_next(handle, 0, &event), "handle");
    REFUSED(fanfare_subscribe(handle, "a", 0, NULL), "handle");
    REFUSED(fanfare_unsubscribe(handle, 1), "handle");
    REFUSED(fanfare_publish(handle, "a", "x", 1, 0, NULL), "handle");
    REFUSED(fanfare_cancel(handle, 1, NULL), "handle");
    REFUSED(fanfare_group_next(handle, 0, &message), "handle");
    REFUSED(fanfare_receipts(handle, &receipts, &count), "handle");
    REFUSED(fanfare_publisher_open(handle, "a", 0, &offset), "handle");
    REFUSED(fanfare_publisher_send(handle, "x", 1), "handle");
    REFUSED(fanfare_publisher_flush(handle), "handle");
    REFUSED(fanfare_finish(handle, &report), "handle");
    REFUSED(fanfare_stop(handle), "handle");
    REFUSED(fanfare_close(handle), "handle");
    if (fanfare_node(handle) != 0)
        exit(1);
}

static void of_options(const char *group)
{
    fanfare_options set;
    fanfare_out out;
    fanfare_in in;
    fanfare_group member;
    DONE(fanfare_options_new(&set));
    REFUSED(fanfare_options_set(set, NULL, "1"), "name: is null");
    REFUSED(fanfare_options_set(set, "rate", NULL), "value: is null");
    REFUSED(fanfare_options_set(set, "speed", "1"), "option (speed): there is none");
    REFUSED(fanfare_options_set(set, "rate", "fast"), "rate (fast)");
    REFUSED(fanfare_options_set(set, "rate", "\xff"), "value: is not UTF-8");
    REFUSED(fanfare_options_set(set, "ttl", "256"), "ttl (256)");
    DONE(fanfare_options_set(set, "start", "now"));
    REFUSED(fanfare_out_open(group, set, &out), "is not for a stream that is sent");
    REFUSED(fanfare_out_open(NULL, 0, &out), "group: is null");
    REFUSED(fanfare_out_open("nowhere", 0, &out), "nowhere");
    REFUSED(fanfare_out_open(group, 0, NULL), "stream: is null");
    REFUSED(fanfare_out_open(group, 12345, &out), "handle");
    wants(__LINE__, fanfare_in_open("norm://no-such-if;239.255.42.7:17", 0, &in),
          FANFARE_FAILED, "no-such-if");
    REFUSED(fanfare_join("127.0.0.1:6003", 0, &member), "multicast");
    DONE(fanfare_close(set));
    REFUSED(fanfare_close(set), "was closed");
}

static void of_files(const char *group)
{
    fanfare_files files;
    const char *missing[] = {"/no/such/file"}, *null[] = {NULL};
    REFUSED(fanfare_send_files(group, missing, 1, 0, &files), "/no/such/file");
    REFUSED(fanfare_send_files(group, null, 1, 0, &files), "paths: is null");
    REFUSED(fanfare_send_files(group, missing, 0, 0, &files), "paths: there are none");
    REFUSED(fanfare_send_files(group, NULL, 1, 0, &files), "paths");
    wants(__LINE__, fanfare_receive_files(group, "/no/such/folder", 0, &files), FANFARE_FAILED,
          "/no/such/folder");
    REFUSED(fanfare_receive_files(group, "", 0, &files), "directory: is empty");
}

static void of_streams(const char *group)
{
    fanfare_in in;
    fanfare_out out;
    size_t count;
    char room[8];
    fanfare_stream_message message;
    DONE(fanfare_in_open(group, 0, &in));
    wants(__LINE__, fanfare_in_read(in, room, sizeof room, 1, &count), FANFARE_TIMEOUT, NULL);
    wants(__LINE__, fanfare_in_message(in, 0, &message), FANFARE_TIMEOUT, NULL);
    REFUSED(fanfare_in_read(in, room, 0, 1, &count), "buffer: has no room");
    REFUSED(fanfare_in_read(in, NULL, 8, 1, &count), "buffer: has no room");
    REFUSED(fanfare_in_read(in, room, 8, 1, NULL), "count: is null");
    REFUSED(fanfare_out_write(in, "x", 1), "not of a stream that is sent");
    DONE(fanfare_out_open(group, 0, &out));
    REFUSED(fanfare_out_message(out, "x", 1, -1), "has no messages");
    REFUSED(fanfare_out_write(out, NULL, 1), "data: is null");
    REFUSED(fanfare_in_read(out, room, 8, 1, &count), "not of a stream that is received");
    DONE(fanfare_out_write(out, NULL, 0));
    DONE(fanfare_finish(out, NULL));
    wants(__LINE__, fanfare_out_write(out, "x", 1), FANFARE_ENDED, NULL);
    wants(__LINE__, fanfare_finish(out, NULL), FANFARE_ENDED, NULL);
    DONE(fanfare_close(out));
    DONE(fanfare_close(in));
    of_handles(out);
}

static void of_groups(const char *group)
{
    fanfare_group member;
    fanfare_publisher publisher;
    DONE(fanfare_join(group, 0, &member));
    REFUSED(fanfare_subscribe(member, "a/#/b", 0, NULL), "a/#/b");
    REFUSED(fanfare_publish(member, "a/#", "x", 1, 0, NULL), "a/#");
    REFUSED(fanfare_publish(member, "", "x", 1, 0, NULL), "topic");
    REFUSED(fanfare_publish(member, NULL, "x", 1, 0, NULL), "topic: is null");
    REFUSED(fanfare_unsubscribe(member, 77), "subscription (77)");
    DONE(fanfare_publisher_open(member, "a", 0, &publisher));
    DONE(fanfare_publisher_send(publisher, "x", 1));
    REFUSED(fanfare_finish(publisher, NULL), "nothing that comes to an end");
    DONE(fanfare_close(member));
    wants(__LINE__, fanfare_publisher_flush(publisher), FANFARE_ENDED, NULL);
    DONE(fanfare_close(publisher));
}

/* In a child the threads of its parent are not there: nothing must wait for them. */
static void of_children(const char *group)
{
    fanfare_group member;
    DONE(fanfare_join(group, 0, &member));
    pid_t child = fork();
    if (child == 0) {
        REFUSED(fanfare_publish(member, "a", "x", 1, 0, NULL), "forked");
        REFUSED(fanfare_close(member), "forked");
        _exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    if (status != 0)
        exit(1);
    DONE(fanfare_close(member));
}

int main(int count, char **words)
{
    if (count != 2)
        return 2;
    of_handles(0);
    of_handles(UINT64_MAX);
    of_options(words[1]);
    of_files(words[1]);
    of_streams(words[1]);
    of_groups(words[1]);
    of_children(words[1]);
    printf("no mistake went through\n");
    return 0;
}
