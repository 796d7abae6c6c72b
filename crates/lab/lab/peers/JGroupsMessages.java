// Short messages over JGroups, for `fanfare bench messages`:
//
//   JGroupsMessages pub|sub ADDRESS MEMBERS MESSAGES BYTES PACED
//
// When the group has its MEMBERS, the publisher sends MESSAGES messages of BYTES bytes, PACED a second (0: as
// fast as it goes), and stays until its input ends. A message holds the time at which it was published, and
// its number. A subscriber tells in its last line what has come.

import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jgroups.BytesMessage;
import org.jgroups.JChannel;
import org.jgroups.Message;
import org.jgroups.Receiver;
import org.jgroups.View;
import org.jgroups.protocols.FRAG2;
import org.jgroups.protocols.MFC;
import org.jgroups.protocols.PING;
import org.jgroups.protocols.UDP;
import org.jgroups.protocols.UNICAST3;
import org.jgroups.protocols.pbcast.GMS;
import org.jgroups.protocols.pbcast.NAKACK2;
import org.jgroups.protocols.pbcast.STABLE;
import org.jgroups.stack.Protocol;

public final class JGroupsMessages {
    /** No message for so long: no more come. */
    private static final long SILENCE_SECONDS = 20;

    /** JGroups' own stack for UDP, with flow control and its bundler. */
    private static JChannel channel(String address) throws Exception {
        UDP udp = new UDP();
        udp.setBindAddress(InetAddress.getByName(address));
        udp.setMulticastAddress(InetAddress.getByName("239.255.77.9"));
        udp.setMulticastPort(45589);
        udp.setMulticastTTL(1);
        udp.setMcastSendBufSize(4 << 20);
        udp.setMcastRecvBufSize(4 << 20);
        GMS membership = new GMS();
        membership.setJoinTimeout(2000);
        membership.printLocalAddress(false);
        NAKACK2 repair = new NAKACK2();
        // Until all have it: else whoever misses the last messages waits for the minute's gossip of STABLE.
        repair.setResendLastSeqnoMaxTimes(Integer.MAX_VALUE);
        Protocol[] stack = {
            udp, new PING(), repair, new UNICAST3(), new STABLE(), membership, new MFC(), new FRAG2(),
        };
        return new JChannel(stack);
    }

    public static void main(String[] a) throws Exception {
        int members = Integer.parseInt(a[2]), messages = Integer.parseInt(a[3]), bytes = Integer.parseInt(a[4]);
        long paced = Long.parseLong(a[5]);
        if (a[0].equals("pub")) publish(channel(a[1]), members, messages, bytes, paced);
        else subscribe(channel(a[1]), messages);
        System.exit(0);
    }

    private static void publish(JChannel channel, int members, int messages, int bytes, long paced)
            throws Exception {
        CountDownLatch complete = new CountDownLatch(1);
        channel.setReceiver(new Receiver() {
            @Override public void viewAccepted(View view) {
                if (view.size() >= members) complete.countDown();
            }
            @Override public void receive(Message message) {}
        });
        channel.setDiscardOwnMessages(true);
        channel.connect("fanfare-messages");
        if (!complete.await(60, TimeUnit.SECONDS)) throw new IllegalStateException("the group did not form");
        Thread.sleep(1000);
        long began = System.nanoTime();
        for (int number = 0; number < messages; number++) {
            long early = paced > 0 ? began + number * 1_000_000_000L / paced - System.nanoTime() : 0;
            if (early > 0) LockSupport.parkNanos(early);
            byte[] content = new byte[bytes];
            ByteBuffer.wrap(content).putLong(System.nanoTime()).putLong(number);
            channel.send(new BytesMessage(null, content));
        }
        while (System.in.read() > 0) {}
    }

    private static long[] delays;
    private static int received;
    private static long first, last, heard = System.nanoTime();

    private static void subscribe(JChannel channel, int messages) throws Exception {
        delays = new long[messages];
        CountDownLatch complete = new CountDownLatch(1);
        channel.setReceiver(new Receiver() {
            @Override public void receive(Message message) {
                take(ByteBuffer.wrap(message.getArray(), message.getOffset(), message.getLength()).getLong());
                if (received >= messages) complete.countDown();
            }
        });
        channel.connect("fanfare-messages");
        while (!complete.await(200, TimeUnit.MILLISECONDS)) {
            // The group takes its time to form.
            if (received > 0 && System.nanoTime() - heard > SILENCE_SECONDS * 1_000_000_000L) break;
        }
        long[] sorted = Arrays.copyOf(delays, received);
        Arrays.sort(sorted);
        System.out.printf(
            "{\"received\":%d,\"first_ns\":%d,\"last_ns\":%d,\"p50_ns\":%d,\"p99_ns\":%d,\"max_ns\":%d}%n",
            received, first, last, at(sorted, 50), at(sorted, 99), at(sorted, 100));
        System.out.flush();
        // Whoever lacks something may still ask.
        Thread.sleep(1000);
    }

    private static long at(long[] sorted, int percent) {
        return sorted.length == 0 ? 0 : sorted[Math.min(sorted.length - 1, sorted.length * percent / 100)];
    }

    private static synchronized void take(long stamp) {
        last = heard = System.nanoTime();
        if (received == 0 || stamp < first) first = stamp;
        if (received < delays.length) delays[received++] = last - stamp;
    }
}
