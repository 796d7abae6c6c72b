/* Sends files to many machines, and says who has them; or receives.
 *
 *   file_to_many send GROUP RECEIVERS PATH...
 *   file_to_many recv GROUP FOLDER NAME
 */
#include <fanfare.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(fanfare_result result)
{
    if (result != FANFARE_OK) {
        fprintf(stderr, "file_to_many: %s\n", fanfare_error());
        exit(1);
    }
}

static fanfare_options options(const char *pairs[][2], size_t count)
{
    fanfare_options made;
    check(fanfare_options_new(&made));
    for (size_t i = 0; i < count; i++)
        check(fanfare_options_set(made, pairs[i][0], pairs[i][1]));
    return made;
}

static int send_files(const char *group, const char *receivers, char **paths, int count)
{
    const char *pairs[][2] = {{"expect", receivers}};
    fanfare_options set = options(pairs, 1);
    fanfare_files files;
    check(fanfare_send_files(group, (const char *const *)paths, (size_t)count, set, &files));

    fanfare_event event;
    while (fanfare_files_next(files, -1, &event) == FANFARE_OK) {
        if (event.kind == FANFARE_EVENT_RECEIPT)
            printf("%s has %s after %.1f s\n", event.name, event.text, event.seconds);
        else if (event.kind == FANFARE_EVENT_FAILED)
            printf("%s: %s\n", event.name, event.text);
    }

    fanfare_report report;
    check(fanfare_finish(files, &report));
    printf("%zu of %zu have everything\n", report.whole, report.receiver_count);
    int code = report.complete ? 0 : 3;
    fanfare_close(files);
    fanfare_close(set);
    return code;
}

static int receive_files(const char *group, const char *folder, const char *name)
{
    const char *pairs[][2] = {
        {"name", name}, {"create-dirs", "true"}, {"until", "sender-ended"}};
    fanfare_options set = options(pairs, 3);
    fanfare_files files;
    check(fanfare_receive_files(group, folder, set, &files));
    printf("ready\n");
    fflush(stdout);

    /* It is whole, verified, on the disk and under its final name. */
    fanfare_event event;
    while (fanfare_files_next(files, -1, &event) == FANFARE_OK)
        if (event.kind == FANFARE_EVENT_FILE)
            printf("%s: %llu bytes\n", event.name, (unsigned long long)event.bytes);

    fanfare_report report;
    check(fanfare_finish(files, &report));
    int code = report.complete ? 0 : 3;
    fanfare_close(files);
    fanfare_close(set);
    return code;
}

int main(int count, char **words)
{
    if (count >= 5 && strcmp(words[1], "send") == 0)
        return send_files(words[2], words[3], words + 4, count - 4);
    if (count == 5 && strcmp(words[1], "recv") == 0)
        return receive_files(words[2], words[3], words[4]);
    fprintf(stderr, "usage: file_to_many send GROUP RECEIVERS PATH... | recv GROUP FOLDER NAME\n");
    return 2;
}
