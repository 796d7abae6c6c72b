// Publishes lines and prints what is published, over JGroups: one of the systems beside which groups are measured.
//
//   JGroupsCompany udp|tcp ADDRESS ADDRESS,ADDRESS,... TOPIC...      all members; topics are beginnings: position/
//
// Reads "TOPIC TEXT" lines and prints the texts that come. Every member gets everything, and prints what it wants.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jgroups.BytesMessage;
import org.jgroups.JChannel;
import org.jgroups.Message;
import org.jgroups.Receiver;
import org.jgroups.protocols.FRAG2;
import org.jgroups.protocols.MERGE3;
import org.jgroups.protocols.PING;
import org.jgroups.protocols.RATE_LIMITER;
import org.jgroups.protocols.TCP;
import org.jgroups.protocols.TCPPING;
import org.jgroups.protocols.TP;
import org.jgroups.protocols.UDP;
import org.jgroups.protocols.UNICAST3;
import org.jgroups.protocols.pbcast.GMS;
import org.jgroups.protocols.pbcast.NAKACK2;
import org.jgroups.protocols.pbcast.STABLE;
import org.jgroups.stack.Protocol;

public final class JGroupsCompany {
    private static final int PORT = 7800;
    /** One packet of the radio each. */
    private static final int FRAGMENT = 1300;
    /** Half of the radio's rate, in bytes of content, each 100 ms: without a limit a long message fills its queue
     * at once, and all that it loses is asked for by all. Repairs do not count. */
    private static final int LIMIT_PERIOD_MS = 100, LIMIT_BYTES = 300_000 / 8 * LIMIT_PERIOD_MS / 1000;
    /** Between two requests for the same: what waits in the radio's queue is no loss. */
    private static final long REPAIR_MS = 2000;

    /** JGroups' own stacks. Nobody is put out of the group for being out of sight: no failure detection. */
    private static JChannel channel(boolean udp, String address, String all) throws Exception {
        TP transport = udp ? new UDP() : new TCP();
        transport.setBindAddress(InetAddress.getByName(address));
        Protocol discovery;
        if (udp) {
            UDP own = (UDP) transport;
            own.setMulticastAddress(InetAddress.getByName("239.255.77.10"));
            own.setMulticastPort(45590);
            own.setMulticastTTL(1);
            // Each message its own packet: a bundle beyond the MTU would be lost with any of its fragments.
            own.setBundlerType("no-bundler");
            discovery = new PING();
        } else {
            transport.setBindPort(PORT);
            List<InetSocketAddress> hosts = new ArrayList<>();
            for (String one : all.split(",")) hosts.add(new InetSocketAddress(one, PORT));
            discovery = new TCPPING().setInitialHosts(hosts).setPortRange(0);
        }
        GMS membership = new GMS();
        membership.setJoinTimeout(3000);
        membership.printLocalAddress(false);
        NAKACK2 repair = new NAKACK2();
        repair.setXmitInterval(REPAIR_MS);
        // To who asked: to all, answers to 23 are sent 23 times to each.
        repair.useMcastXmit(false);
        RATE_LIMITER limiter = new RATE_LIMITER();
        limiter.setValue("time_period", LIMIT_PERIOD_MS);
        limiter.setValue("max_bytes", LIMIT_BYTES);
        // Until all have it: else whoever misses the last message waits for the minute's gossip of STABLE.
        repair.setResendLastSeqnoMaxTimes(Integer.MAX_VALUE);
        Protocol[] stack = {
            transport, discovery, new MERGE3(), repair, new UNICAST3().setXmitInterval(REPAIR_MS), new STABLE(),
            membership, new FRAG2().setFragSize(FRAGMENT), limiter,
        };
        return new JChannel(stack);
    }

    public static void main(String[] a) throws Exception {
        String[] wanted = Arrays.copyOfRange(a, 3, a.length);
        JChannel channel = channel(a[0].equals("udp"), a[1], a[2]);
        channel.setDiscardOwnMessages(true);
        channel.setReceiver(new Receiver() {
            @Override public void receive(Message message) {
                String line = new String(message.getArray(), message.getOffset(), message.getLength(),
                    StandardCharsets.US_ASCII);
                for (String topic : wanted) {
                    if (line.startsWith(topic)) {
                        synchronized (System.out) {
                            System.out.println(line.substring(line.indexOf(' ') + 1));
                            System.out.flush();
                        }
                        return;
                    }
                }
            }
        });
        channel.connect("fanfare-company");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = lines.readLine()) != null;) {
            if (line.indexOf(' ') > 0) channel.send(new BytesMessage(null, line.getBytes(StandardCharsets.US_ASCII)));
        }
        System.exit(0);
    }
}
