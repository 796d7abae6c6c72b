/* A live feed: lines of standard input to whoever listens. A line that is a second old is of no use
 * any more: it is not repaired, and not waited for.
 *
 *   feed send GROUP
 *   feed recv GROUP
 */
#include <fanfare.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(fanfare_result result)
{
    if (result != FANFARE_OK) {
        fprintf(stderr, "feed: %s\n", fanfare_error());
        exit(1);
    }
}

static int send_feed(const char *group)
{
    fanfare_options set;
    fanfare_out feed;
    check(fanfare_options_new(&set));
    check(fanfare_options_set(set, "policy", "live"));
    check(fanfare_options_set(set, "framing", "varint"));
    check(fanfare_options_set(set, "lifetime", "1s"));
    check(fanfare_options_set(set, "rate", "20M"));
    check(fanfare_out_open(group, set, &feed));

    char line[4096];
    while (fgets(line, sizeof line, stdin)) {
        size_t length = strcspn(line, "\n");
        check(fanfare_out_message(feed, line, length, 1000));
    }

    fanfare_report report;
    check(fanfare_finish(feed, &report));
    fprintf(stderr, "%llu bytes sent\n", (unsigned long long)report.bytes);
    fanfare_close(feed);
    fanfare_close(set);
    return 0;
}

static int receive_feed(const char *group)
{
    fanfare_options set;
    fanfare_in feed;
    check(fanfare_options_new(&set));
    check(fanfare_options_set(set, "start", "now"));
    check(fanfare_in_open(group, set, &feed));
    printf("ready\n");
    fflush(stdout);

    fanfare_stream_message message;
    fanfare_result result;
    while ((result = fanfare_in_message(feed, -1, &message)) == FANFARE_OK) {
        if (message.gap_before && message.offset > 0)
            printf("(something is missing here)\n");
        printf("%.*s\n", (int)message.length, (const char *)message.data);
        fflush(stdout);
    }
    if (result != FANFARE_ENDED)
        check(result);
    fanfare_close(feed);
    fanfare_close(set);
    return 0;
}

int main(int count, char **words)
{
    if (count == 3 && strcmp(words[1], "send") == 0)
        return send_feed(words[2]);
    if (count == 3 && strcmp(words[1], "recv") == 0)
        return receive_feed(words[2]);
    fprintf(stderr, "usage: feed send GROUP | feed recv GROUP\n");
    return 2;
}
