/* Tensors to workers: each gets all of them, whole and in order, or the sender is told who did not.
 * A message is a header of two numbers (rows, columns) and the values.
 *
 *   tensors send GROUP WORKERS TENSORS
 *   tensors work GROUP NAME
 */
#include <fanfare.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 64, COLUMNS = 100 };

struct tensor {
    uint32_t rows, columns;
    float values[ROWS * COLUMNS];
};

static void check(fanfare_result result)
{
    if (result != FANFARE_OK) {
        fprintf(stderr, "tensors: %s\n", fanfare_error());
        exit(1);
    }
}

static int send_tensors(const char *group, const char *workers, int tensors)
{
    fanfare_options set;
    fanfare_out stream;
    check(fanfare_options_new(&set));
    check(fanfare_options_set(set, "expect", workers));
    check(fanfare_options_set(set, "framing", "varint"));
    check(fanfare_out_open(group, set, &stream));

    static struct tensor tensor = {ROWS, COLUMNS, {0}};
    for (int step = 0; step < tensors; step++) {
        for (int i = 0; i < ROWS * COLUMNS; i++)
            tensor.values[i] = (float)((step + i) % 1000);
        check(fanfare_out_message(stream, &tensor, sizeof tensor, -1));
    }

    fanfare_report report;
    check(fanfare_finish(stream, &report));
    for (size_t i = 0; i < report.receiver_count; i++)
        if (report.receivers[i].outcome != FANFARE_COMPLETE)
            printf("%s does not have everything\n", report.receivers[i].name);
    printf("%zu workers have everything\n", report.whole);
    int code = report.complete ? 0 : 3;
    fanfare_close(stream);
    fanfare_close(set);
    return code;
}

static int work(const char *group, const char *name)
{
    fanfare_options set;
    fanfare_in stream;
    check(fanfare_options_new(&set));
    check(fanfare_options_set(set, "name", name));
    check(fanfare_in_open(group, set, &stream));
    printf("ready\n");
    fflush(stdout);

    static struct tensor tensor;
    double sum = 0;
    int tensors = 0;
    fanfare_stream_message message;
    fanfare_result result;
    while ((result = fanfare_in_message(stream, -1, &message)) == FANFARE_OK) {
        if (message.length != sizeof tensor || message.gap_before) {
            fprintf(stderr, "tensors: a tensor is missing, or is none\n");
            return 3;
        }
        memcpy(&tensor, message.data, sizeof tensor);
        for (uint32_t i = 0; i < tensor.rows * tensor.columns; i++)
            sum += tensor.values[i];
        tensors++;
    }
    if (result != FANFARE_ENDED)
        check(result);

    /* What was read is kept: the sender may know. */
    check(fanfare_finish(stream, NULL));
    printf("%d tensors, sum %.0f\n", tensors, sum);
    fanfare_close(stream);
    fanfare_close(set);
    return 0;
}

int main(int count, char **words)
{
    if (count == 5 && strcmp(words[1], "send") == 0)
        return send_tensors(words[2], words[3], atoi(words[4]));
    if (count == 4 && strcmp(words[1], "work") == 0)
        return work(words[2], words[3]);
    fprintf(stderr, "usage: tensors send GROUP WORKERS TENSORS | tensors work GROUP NAME\n");
    return 2;
}
