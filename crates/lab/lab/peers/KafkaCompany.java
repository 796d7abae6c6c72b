// Publishes lines and prints what is published, over Kafka: one of the systems beside which groups are measured.
//
//   KafkaCompany SERVER:PORT TOPIC...          topics are first levels: position
//
// Reads "TOPIC/MORE TEXT" lines and prints the texts that come. Each client reads all of a topic's only
// partition, from its beginning: nothing is lost that the broker holds.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public final class KafkaCompany {
    /** On a radio that all share a document takes 7 s alone, and waits behind others: who gives it up earlier
     * sends it again and again. */
    private static final String ANSWER_MS = "60000";
    private static final String GIVE_UP_MS = "1800000";
    private static final String RETRY_MS = "1000";
    private static final String LARGEST = "2000000";

    private static Properties common(String server) {
        Properties p = new Properties();
        p.put("bootstrap.servers", server);
        p.put("request.timeout.ms", ANSWER_MS);
        p.put("reconnect.backoff.ms", RETRY_MS);
        p.put("reconnect.backoff.max.ms", RETRY_MS);
        p.put("socket.connection.setup.timeout.ms", "10000");
        return p;
    }

    private static void listen(String server, List<TopicPartition> topics, PrintStream out) {
        Properties p = common(server);
        p.put("key.deserializer", StringDeserializer.class.getName());
        p.put("value.deserializer", StringDeserializer.class.getName());
        p.put("enable.auto.commit", "false");
        p.put("auto.offset.reset", "earliest");
        p.put("fetch.max.wait.ms", "10000");
        p.put("max.partition.fetch.bytes", LARGEST);
        p.put("default.api.timeout.ms", GIVE_UP_MS);
        KafkaConsumer<String, String> consumer = new KafkaConsumer<>(p);
        consumer.assign(topics);
        for (;;) {
            try {
                for (ConsumerRecord<String, String> one : consumer.poll(Duration.ofSeconds(1))) {
                    out.println(one.value());
                }
                out.flush();
            } catch (org.apache.kafka.common.KafkaException again) {
                System.err.println(again);
            }
        }
    }

    public static void main(String[] a) throws Exception {
        List<TopicPartition> topics = new ArrayList<>();
        for (int n = 1; n < a.length; n++) topics.add(new TopicPartition(a[n], 0));
        PrintStream out = System.out;
        Thread listener = new Thread(() -> listen(a[0], topics, out));
        listener.setDaemon(true);
        listener.start();
        Properties p = common(a[0]);
        p.put("key.serializer", StringSerializer.class.getName());
        p.put("value.serializer", StringSerializer.class.getName());
        p.put("acks", "all");
        p.put("linger.ms", "0");
        p.put("retry.backoff.ms", RETRY_MS);
        p.put("delivery.timeout.ms", GIVE_UP_MS);
        p.put("max.block.ms", GIVE_UP_MS);
        p.put("max.request.size", LARGEST);
        KafkaProducer<String, String> producer = new KafkaProducer<>(p);
        // Known before the first message.
        producer.partitionsFor(a[1]);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = lines.readLine()) != null;) {
            int space = line.indexOf(' '), slash = line.indexOf('/');
            if (space < 0 || slash < 0 || slash > space) continue;
            producer.send(new ProducerRecord<>(line.substring(0, slash), line.substring(space + 1)));
        }
        System.exit(0);
    }
}
