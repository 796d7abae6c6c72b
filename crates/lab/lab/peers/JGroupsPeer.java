// A file over JGroups, for the laboratory: our own program over org.jgroups, one file per run.
//
//   JGroupsPeer send [options] FILE    when the group is complete sends FILE, then repairs until killed
//   JGroupsPeer recv [options] FILE    writes FILE, says so, and repairs for others until killed
//
// One JSON object per line on stdout. Exit codes: 0 done, 1 failed or timed out, 2 usage.

import java.io.RandomAccessFile;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jgroups.Address;
import org.jgroups.BytesMessage;
import org.jgroups.JChannel;
import org.jgroups.Message;
import org.jgroups.Receiver;
import org.jgroups.View;
import org.jgroups.protocols.FRAG2;
import org.jgroups.protocols.PING;
import org.jgroups.protocols.RATE_LIMITER;
import org.jgroups.protocols.UDP;
import org.jgroups.protocols.UNICAST3;
import org.jgroups.protocols.pbcast.GMS;
import org.jgroups.protocols.pbcast.NAKACK2;
import org.jgroups.protocols.pbcast.STABLE;
import org.jgroups.stack.Protocol;

public final class JGroupsPeer {
    /** A discovery that is lost would make a second group of one: so often it is repeated, milliseconds. */
    private static final int DISCOVERY_MILLIS = 250;
    private String group = "239.255.42.1", address = "127.0.0.1", path;
    private int port = 45588, chunk = 1300, members = 2, repairMillis = 200, joinMillis = 2000;
    private long rate = 10_000_000;
    private double timeout = 120;

    public static void main(String[] arguments) throws Exception {
        JGroupsPeer peer = new JGroupsPeer();
        if (arguments.length < 2 || !peer.parse(arguments)) {
            System.err.println("error: usage: JGroupsPeer send|recv [--address A] [--rate BITS] ... FILE");
            System.exit(2);
        }
        System.exit(arguments[0].equals("send") ? peer.send() : peer.receive());
    }

    private boolean parse(String[] a) {
        for (int i = 1; i < a.length; i++) {
            if (!a[i].startsWith("--")) { path = a[i]; continue; }
            String value = i + 1 < a.length ? a[i + 1] : "";
            switch (a[i++]) {
                case "--group" -> group = value;
                case "--address" -> address = value;
                case "--port" -> port = Integer.parseInt(value);
                case "--rate" -> rate = Long.parseLong(value);
                case "--chunk" -> chunk = Integer.parseInt(value);
                case "--members" -> members = Integer.parseInt(value);
                case "--repair" -> repairMillis = Integer.parseInt(value);
                case "--join" -> joinMillis = Integer.parseInt(value);
                case "--timeout" -> timeout = Double.parseDouble(value);
                default -> { return false; }
            }
        }
        return path != null && (a[0].equals("send") || a[0].equals("recv"));
    }

    private static void say(String format, Object... values) {
        System.out.println(String.format(java.util.Locale.ROOT, format, values));
        System.out.flush();
    }

    /** UDP at the bottom, the sender's rate limit at the top, as the paper has it. */
    private JChannel channel(boolean sends) throws Exception {
        UDP udp = new UDP();
        udp.setBindAddress(InetAddress.getByName(address));
        udp.setMulticastAddress(InetAddress.getByName(group));
        udp.setMulticastPort(port);
        udp.setMulticastTTL(8);
        udp.setMcastSendBufSize(4 << 20);
        udp.setMcastRecvBufSize(4 << 20);
        udp.setUcastSendBufSize(4 << 20);
        udp.setUcastRecvBufSize(4 << 20);
        // Each message its own packet: a bundle beyond the MTU would be lost with any of its fragments.
        udp.setBundlerType("no-bundler");
        PING discovery = new PING();
        discovery.setValue("num_discovery_runs", Math.max(1, joinMillis / DISCOVERY_MILLIS));
        NAKACK2 repair = new NAKACK2();
        repair.setXmitInterval(repairMillis);
        // To who asked: to all, the answers to three receivers fill the paths of each other.
        repair.useMcastXmit(false);
        // Until all have it: once, as is its default, leaves whoever misses the last message and that
        // to wait for the minute's gossip of STABLE.
        repair.setResendLastSeqnoMaxTimes(Integer.MAX_VALUE);
        GMS membership = new GMS();
        membership.setJoinTimeout(joinMillis);
        membership.printLocalAddress(false);
        FRAG2 fragments = new FRAG2();
        fragments.setFragSize(chunk);
        Protocol[] stack = {
            udp, discovery, repair, new UNICAST3().setXmitInterval(repairMillis), new STABLE(), membership, fragments,
        };
        if (sends && rate > 0) {
            RATE_LIMITER limiter = new RATE_LIMITER();
            // Periods of two messages, so that a queue never sees more at once; it counts content.
            long period = Math.max(20, 2L * 8000 * chunk / rate);
            limiter.setValue("time_period", period);
            limiter.setValue("max_bytes", Math.max(chunk + 200, rate / 8 * period / 1000));
            stack = java.util.Arrays.copyOf(stack, stack.length + 1);
            stack[stack.length - 1] = limiter;
        }
        return new JChannel(stack);
    }

    private int send() throws Exception {
        // Every receiver must know the sender as a member: what comes before that is dropped there.
        CountDownLatch complete = new CountDownLatch(members - 1);
        JChannel channel = channel(true);
        channel.setReceiver(new Receiver() {
            @Override public void viewAccepted(View view) {
                say("{\"event\":\"view\",\"members\":%d}", view.size());
            }
            @Override public void receive(Message message) {
                complete.countDown();
            }
        });
        channel.setDiscardOwnMessages(true);
        channel.connect("fanfare-laboratory");
        if (!complete.await((long) timeout, TimeUnit.SECONDS)) {
            System.err.println("error: the group did not form");
            return 1;
        }
        try (RandomAccessFile file = new RandomAccessFile(path, "r")) {
            long size = file.length(), began = System.nanoTime();
            say("{\"event\":\"start\",\"bytes\":%d}", size);
            for (long offset = 0; offset < size; ) {
                int length = (int) Math.min(chunk - 100, size - offset);
                byte[] bytes = new byte[16 + length];
                ByteBuffer.wrap(bytes).putLong(offset).putLong(size);
                file.readFully(bytes, 16, length);
                channel.send(new BytesMessage(null, bytes));
                offset += length;
            }
            say("{\"event\":\"sent\",\"seconds\":%.3f}", (System.nanoTime() - began) / 1e9);
        }
        Thread.sleep(Long.MAX_VALUE);
        return 0;
    }

    private long have, size = Long.MAX_VALUE, began, progress = System.nanoTime();

    private int receive() throws Exception {
        CountDownLatch complete = new CountDownLatch(1);
        JChannel channel = channel(false);
        try (RandomAccessFile file = new RandomAccessFile(path, "rw")) {
            file.setLength(0);
            channel.setReceiver(new Receiver() {
                @Override public void viewAccepted(View view) {
                    // The sender is the last to join. Not from here, which must not wait.
                    Address sender = view.getMembers().get(view.size() - 1);
                    if (view.size() >= members) new Thread(() -> greet(channel, sender)).start();
                }
                @Override public void receive(Message message) {
                    try {
                        take(file, ByteBuffer.wrap(message.getArray(), message.getOffset(), message.getLength()));
                    } catch (Exception e) {
                        System.err.println("error: " + e);
                        System.exit(1);
                    }
                    if (have >= size) complete.countDown();
                }
            });
            channel.connect("fanfare-laboratory");
            say("{\"event\":\"listening\"}");
            while (!complete.await(200, TimeUnit.MILLISECONDS)) {
                if (System.nanoTime() - progress > timeout * 1e9) {
                    System.err.printf("error: no progress in %.0f s: %d bytes%n", timeout, have);
                    return 1;
                }
            }
        }
        say("{\"event\":\"file\",\"bytes\":%d,\"seconds\":%.3f}", have, (System.nanoTime() - began) / 1e9);
        // Going would make the others agree on a new view, which costs traffic: stay until killed.
        Thread.sleep(Long.MAX_VALUE);
        return 0;
    }

    private static void greet(JChannel channel, Address sender) {
        try {
            channel.send(new BytesMessage(sender, new byte[] {1}));
        } catch (Exception e) {
            System.err.println("error: " + e);
            System.exit(1);
        }
    }

    private synchronized void take(RandomAccessFile file, ByteBuffer message) throws Exception {
        long offset = message.getLong();
        size = message.getLong();
        if (began == 0) began = System.nanoTime();
        file.seek(offset);
        file.write(message.array(), message.arrayOffset() + message.position(), message.remaining());
        have += message.remaining();
        progress = System.nanoTime();
    }
}
