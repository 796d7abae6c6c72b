/* Publishes lines and prints what is published, over DDS (Eclipse Cyclone DDS): one of the systems beside which
 * groups are measured.
 *
 *   dds_peer TOPIC...          beginnings: position, sensor, document
 *
 * Reads "TOPIC TEXT" lines and prints the texts that come. Reliable, all samples kept, and given to readers that
 * come later or come back (transient local). CYCLONEDDS_URI has the interface and the size of packets. */
#include <dds/dds.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What idlc would make of "struct Carried { string text; };", without the description of types that other
 * programs could look up. */
typedef struct {
    char *text;
} Carried;

static const uint32_t operations[] = {DDS_OP_ADR | DDS_OP_TYPE_STR, offsetof(Carried, text), DDS_OP_RTS};

static const dds_topic_descriptor_t descriptor = {
    .m_size = sizeof(Carried),
    .m_align = sizeof(char *),
    .m_flagset = 0,
    .m_nkeys = 0,
    .m_typename = "Carried",
    .m_keys = NULL,
    .m_nops = 2,
    .m_ops = operations,
    .m_meta = "",
};

enum { SAMPLES = 64, BLOCKING_S = 60, TOPICS = 3 };

static const char *names[TOPICS] = {"position", "sensor", "document"};

static void on_data(dds_entity_t reader, void *user) {
    (void)user;
    void *samples[SAMPLES] = {NULL};
    dds_sample_info_t infos[SAMPLES];
    int taken;
    while ((taken = dds_take(reader, samples, infos, SAMPLES, SAMPLES)) > 0) {
        for (int sample = 0; sample < taken; sample++) {
            if (infos[sample].valid_data) {
                puts(((Carried *)samples[sample])->text);
            }
        }
        dds_return_loan(reader, samples, taken);
        memset(samples, 0, sizeof samples);
    }
}

int main(int count, char **arguments) {
    if (count < 2) {
        fprintf(stderr, "usage: dds_peer TOPIC...\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 1 << 20);
    dds_entity_t participant = dds_create_participant(DDS_DOMAIN_DEFAULT, NULL, NULL);
    if (participant < 0) {
        fprintf(stderr, "participant: %s\n", dds_strretcode(-participant));
        return 1;
    }
    dds_qos_t *qos = dds_create_qos();
    dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_SECS(BLOCKING_S));
    dds_qset_history(qos, DDS_HISTORY_KEEP_ALL, 0);
    dds_qset_durability(qos, DDS_DURABILITY_TRANSIENT_LOCAL);
    dds_qset_durability_service(qos, 0, DDS_HISTORY_KEEP_ALL, 0, DDS_LENGTH_UNLIMITED, DDS_LENGTH_UNLIMITED,
                                DDS_LENGTH_UNLIMITED);
    dds_qset_ignorelocal(qos, DDS_IGNORELOCAL_PARTICIPANT);
    dds_listener_t *listener = dds_create_listener(NULL);
    dds_lset_data_available(listener, on_data);
    dds_entity_t writers[TOPICS];
    for (int number = 0; number < TOPICS; number++) {
        dds_entity_t topic = dds_create_topic(participant, &descriptor, names[number], qos, NULL);
        writers[number] = dds_create_writer(participant, topic, qos, NULL);
        if (topic < 0 || writers[number] < 0) {
            fprintf(stderr, "%s: no writer\n", names[number]);
            return 1;
        }
        for (int wanted = 1; wanted < count; wanted++) {
            if (strcmp(arguments[wanted], names[number]) == 0 &&
                dds_create_reader(participant, topic, qos, listener) < 0) {
                fprintf(stderr, "%s: no reader\n", names[number]);
                return 1;
            }
        }
    }
    puts("ready");
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    while ((length = getline(&line, &room, stdin)) > 0) {
        line[length - 1] = '\0';
        char *text = strchr(line, ' ');
        if (text == NULL) {
            continue;
        }
        *text++ = '\0';
        Carried carried = {text};
        for (int number = 0; number < TOPICS; number++) {
            if (strncmp(line, names[number], strlen(names[number])) == 0) {
                dds_write(writers[number], &carried);
            }
        }
    }
    dds_delete(participant);
    return 0;
}
