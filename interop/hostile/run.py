#!/usr/bin/env python3
"""Transfers to three receivers with an attacker on their link, as real processes in namespaces.

    run.py PATH_TO_FANFARE [CASE...] [--key] [--rate PACKETS_A_SECOND] [--size MB] [--short]
           [--loss PERCENT] [--write FILE]

Each case is run in peace and under attack. It passes when all honest receivers have the file, nobody
else has a receipt, and it took at most twice as long; where the attacker says what only the true
sender may, twice as long after the attack has ended. Needs root, for namespaces and raw sockets.
"""

import argparse
import datetime
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from attack import ALIASES  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
GROUP, PORT = "239.255.77.1", 6077
#: Several runs may share a machine.
RUN = os.getpid()
HUB, SENDER, ATTACKER = f"hub{RUN}", f"hs{RUN}", f"hx{RUN}"
RECEIVERS = ["h1", "h2", "h3"]
#: Case: packets a second at which it is run, whose address is on them, and options of the transfer.
CASES = {
    "copycat": (100, "own", []), "takeover": (100, "own", []), "instance": (100, "own", []),
    "farewell": (100, "sender's", []), "jump": (100, "sender's", []),
    "wrong": (20, "sender's", []), "requests": (617, "own", []), "slow": (200, "own", []),
    "stray": (5000, "own", []), "flipped": (1000, "own", []),
    "giveup": (10, "sender's", []), "squelch": (100, "sender's", []), "echo": (617, "own", []),
    "slow-norm": (200, "own", ["--cc", "norm"]), "stale-norm": (200, "own", ["--cc", "norm"]),
    "slow-auto": (200, "own", ["--cc", "auto"]), "huge": (90, "own", []),
    "flipped-as-sender": (1000, "sender's", []), "strangers": (1000, "own", []),
    "deaf": (1000, "own", []),
}
#: What CI runs: a few seconds each.
SHORT = ["copycat", "huge"]
RATE_MBIT = 100
#: Of the time that a transfer takes, the receiver whose name is taken is stopped after this part.
STOPPED_AT = 0.5
#: An attack lasts so long, seconds.
LASTS, LASTS_SHORT = 30, 8


def sh(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def address(n):
    return f"10.77.0.{n}"


def space(host):
    """The namespace of a receiver."""
    return f"{host}r{RUN}"


class Net:
    """A switch with five hosts. Receivers lose a part of what comes to them."""

    def __init__(self, loss):
        self.loss = loss

    def __enter__(self):
        self.__exit__()
        try:
            self.make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def make(self):
        sh("ip", "netns", "add", HUB)
        inside = ["ip", "-n", HUB, "link"]
        sh(*inside, "add", "br0", "type", "bridge", "mcast_snooping", "0")
        sh(*inside, "set", "br0", "up")
        for n, host in enumerate([SENDER, *map(space, RECEIVERS), ATTACKER], 1):
            sh("ip", "netns", "add", host)
            sh("ip", "-n", HUB, "link", "add", f"p{n}", "type", "veth", "peer", "name", "eth0",
               "netns", host)
            sh(*inside, "set", f"p{n}", "master", "br0", "up")
            sh("ip", "-n", host, "addr", "add", f"{address(n)}/24", "dev", "eth0")
            sh("ip", "-n", host, "link", "set", "eth0", "up")
            sh("ip", "-n", host, "link", "set", "lo", "up")
            sh("ip", "-n", host, "route", "add", "224.0.0.0/4", "dev", "eth0")
        if self.loss:
            # Packets of which one is dropped, not joined ones.
            sh("ip", "netns", "exec", SENDER, "ethtool", "-K", "eth0", "tx-udp-segmentation", "off")
        for host in map(space, RECEIVERS if self.loss else []):
            sh("ip", "netns", "exec", host, "nft", "table netdev t { chain c { type filter hook ingress "
               f"device eth0 priority 0; numgen random mod 1000 < {self.loss * 10:.0f} drop; }}; }}")
        for last in ALIASES:
            sh("ip", "-n", ATTACKER, "addr", "add", f"{address(last)}/24", "dev", "eth0")

    def __exit__(self, *_):
        for host in [HUB, SENDER, *map(space, RECEIVERS), ATTACKER]:
            subprocess.run(["ip", "netns", "del", host], stderr=subprocess.DEVNULL)


def start(host, words, **more):
    return subprocess.Popen(["ip", "netns", "exec", host, *words], text=True, **more)


def sent_by(host):
    """Bytes that a host has put on the link."""
    out = subprocess.run(["ip", "-j", "-s", "-n", host, "link", "show", "eth0"], capture_output=True,
                         text=True, check=True).stdout
    return json.loads(out)[0]["stats64"]["tx"]["bytes"]


def ended(process, seconds):
    """Waits for a process; the most memory that it has had, bytes."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pid, _, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = 0
            return usage.ru_maxrss * 1024
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = -9
    return usage.ru_maxrss * 1024


def on_disk(directory):
    """Bytes that its files take on the disk."""
    files = (os.path.join(at, name) for at, _, names in os.walk(directory) for name in names)
    return sum(os.stat(path).st_blocks * 512 for path in files)


class Outcome:
    """What came of a transfer."""


def transfer(args, scratch, options, case=None):
    """Runs it, under attack if a case is named."""
    group = ["--group", f"{GROUP}:{PORT}", "--interface", "eth0", "--json"]
    keys = ["--key", os.path.join(scratch, "key")] if args.key else []
    file = os.path.join(scratch, "file")
    directories = {host: tempfile.mkdtemp(dir=scratch) for host in RECEIVERS}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    receivers = [
        start(space(host), [args.fanfare, "recv", directory, "--once", "--name", host, *group, *keys],
              **quiet)
        for host, directory in directories.items()
    ]
    attack = None
    if case:
        rate = str(args.rate or CASES[case][0])
        words = [sys.executable, os.path.join(HERE, "attack.py"), case, GROUP, str(PORT), address(5)]
        attack = start(ATTACKER, [*words, str(args.lasts), rate], **quiet)
    time.sleep(1)
    stopped = None
    if case == "takeover":
        # The third receiver is stopped once it has said something: others speak for it.
        stopped = receivers[2]
    names = ",".join(RECEIVERS[:2] if stopped else RECEIVERS)
    before, begun = (sent_by(SENDER), sent_by(ATTACKER)), time.monotonic()
    send = [args.fanfare, "send", file, "--expect", names, "--wait", "10s", "--rate", f"{RATE_MBIT}M", *options,
            *group, *keys]
    sender = start(SENDER, send, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if stopped:
        # In the middle of the transfer: it has said something, and lacks something.
        time.sleep(STOPPED_AT * args.size * 8 / RATE_MBIT)
        children = subprocess.run(["pgrep", "-P", str(stopped.pid)], capture_output=True, text=True)
        pids = children.stdout.split() or [str(stopped.pid)]
        for pid in pids:
            os.kill(int(pid), signal.SIGSTOP)
    events = []
    try:
        out, _ = sender.communicate(timeout=90)
        events = [json.loads(line) for line in out.splitlines()]
    except subprocess.TimeoutExpired:
        sender.kill()
        sender.communicate()
    took = time.monotonic() - begun
    outcome = Outcome()
    outcome.sent = sent_by(SENDER) - before[0]
    outcome.attacked = sent_by(ATTACKER) - before[1]
    outcome.disk = max(on_disk(directory) for directory in directories.values())
    if attack:
        attack.kill()
        attack.wait()
    outcome.memory = 0
    for receiver in receivers:
        if receiver is stopped:
            for pid in pids:
                os.kill(int(pid), signal.SIGKILL)
        outcome.memory = max(outcome.memory, ended(receiver, 25))
    honest = [host for host in RECEIVERS if not (stopped and host == RECEIVERS[2])]
    whole = open(file, "rb").read()

    def same(host):
        path = os.path.join(directories[host], "file")
        return open(path, "rb").read() == whole if os.path.exists(path) else None

    receipts = sorted({str(e.get("name")) for e in events if e["event"] == "receipt"})
    outcome.took = max((e["seconds"] for e in events if e["event"] == "receipt"), default=took)
    outcome.have = all(same(host) for host in honest)
    outcome.wrong = [host for host in RECEIVERS if same(host) is False]
    # Who was stopped may have had everything before.
    outcome.false = [name for name in receipts if name not in RECEIVERS or not same(name)]
    if stopped and same(RECEIVERS[2]):
        raise SystemExit("the receiver to be stopped was too fast: take a larger --size")
    return outcome


def judge(case, lasts, peace, under):
    """How it ended, in a word."""
    if under.wrong:
        return "WRONG FILE"
    if under.false:
        return "FALSE RECEIPT"
    if not under.have:
        return "NOT ALL HAVE IT"
    limit = 2 * peace.took + 0.5
    if under.took <= limit:
        return "ok"
    spoofed = CASES[case][1] != "own"
    return "ok after the attack" if spoofed and under.took <= lasts + limit else "SLOW"


def row(case, args, peace, under, verdict):
    rate, whose, _ = CASES[case]
    more = max(0, under.sent - peace.sent)
    factor = more / under.attacked if under.attacked else 0
    return (f"| `{case}` | {args.rate or rate} | {whose} | {peace.took:.2f} | {under.took:.2f} | "
            f"{under.took / peace.took:.1f} | {'yes' if under.have else 'no'} | "
            f"{', '.join(under.false) or 'none'} | {under.memory >> 20} | {under.disk / 1e6:.0f} | "
            f"{factor:.1f} | {verdict} |")


HEAD = """| case | packets a second | address | in peace, s | attacked, s | times | all have it | \
false receipts | memory, MiB | disk, MB | bytes caused per byte | verdict |
|---|---|---|---|---|---|---|---|---|---|---|---|"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fanfare")
    parser.add_argument("cases", nargs="*", default=[])
    parser.add_argument("--key", action="store_true", help="with a key: nothing may have an effect")
    parser.add_argument("--rate", type=int, help="packets a second")
    parser.add_argument("--size", type=int, default=20, help="MB of the file")
    parser.add_argument("--short", action="store_true", help="a few cases, for CI")
    parser.add_argument("--loss", type=float, default=0, help="percent that receivers lose (nft)")
    parser.add_argument("--write", help="append the table to this file")
    args = parser.parse_args()
    args.fanfare = os.path.abspath(args.fanfare)
    args.lasts = LASTS_SHORT if args.short else LASTS
    failed, lines, peaces = 0, [], {}
    with tempfile.TemporaryDirectory() as scratch, Net(args.loss):
        with open(os.path.join(scratch, "file"), "wb") as file:
            file.write(os.urandom(args.size * 1_000_000))
        sh(args.fanfare, "key", "new", os.path.join(scratch, "key"), "-q")
        print(HEAD, flush=True)
        for case in args.cases or (SHORT if args.short else CASES):
            options = CASES[case][2]
            peace = peaces.get(tuple(options)) or transfer(args, scratch, options)
            peaces[tuple(options)] = peace
            under = transfer(args, scratch, options, case)
            verdict = judge(case, args.lasts, peace, under)
            failed += not verdict.startswith("ok")
            lines.append(row(case, args, peace, under, verdict))
            print(lines[-1], flush=True)
    if args.write:
        words = " ".join(word for word in sys.argv[2:] if word not in ("--write", args.write))
        today = datetime.date.today().isoformat()
        with open(args.write, "a", encoding="utf-8") as file:
            file.write(f"\n`run.py target/release/fanfare {words}`, {today}:\n\n")
            file.write("\n".join([HEAD, *lines]) + "\n")
    sys.exit(failed > 0)


main()
