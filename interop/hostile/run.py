#!/usr/bin/env python3
"""Transfers to three receivers with an attacker on their link, as real processes in namespaces.

    run.py PATH_TO_FANFARE [CASE...] [--key] [--rate PACKETS_A_SECOND] [--size MB]

Each case is run in peace and under attack. It passes when all honest receivers have the file, nobody
else has a receipt, and it took at most twice as long. Needs root, for namespaces and raw sockets.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
GROUP, PORT = "239.255.77.1", 6077
SENDER, RECEIVERS, ATTACKER = "hs", ["h1", "h2", "h3"], "hx"
#: Case: packets a second at which it is run, where nothing else is said.
CASES = {
    "copycat": 100, "takeover": 100, "instance": 100, "farewell": 100, "jump": 100, "wrong": 20,
    "requests": 617, "slow": 200, "stray": 5000, "flipped": 1000,
}


def sh(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def address(n):
    return f"10.77.0.{n}"


class Net:
    """A switch with five hosts."""

    def __enter__(self):
        self.__exit__()
        sh("ip", "netns", "add", "hub")
        inside = ["ip", "-n", "hub", "link"]
        sh(*inside, "add", "br0", "type", "bridge", "mcast_snooping", "0")
        sh(*inside, "set", "br0", "up")
        for n, host in enumerate([SENDER, *RECEIVERS, ATTACKER], 1):
            sh("ip", "netns", "add", host)
            sh("ip", "-n", "hub", "link", "add", f"p{n}", "type", "veth", "peer", "name", "eth0",
               "netns", host)
            sh(*inside, "set", f"p{n}", "master", "br0", "up")
            sh("ip", "-n", host, "addr", "add", f"{address(n)}/24", "dev", "eth0")
            sh("ip", "-n", host, "link", "set", "eth0", "up")
            sh("ip", "-n", host, "link", "set", "lo", "up")
            sh("ip", "-n", host, "route", "add", "224.0.0.0/4", "dev", "eth0")
        return self

    def __exit__(self, *_):
        for host in ["hub", SENDER, *RECEIVERS, ATTACKER]:
            subprocess.run(["ip", "netns", "del", host], stderr=subprocess.DEVNULL)


def start(host, words, **more):
    return subprocess.Popen(["ip", "netns", "exec", host, *words], text=True, **more)


def transfer(args, scratch, case=None):
    """How long it took, whether all honest receivers have it, and who has receipts."""
    group = ["--group", f"{GROUP}:{PORT}", "--interface", "eth0", "--json"]
    keys = ["--key", os.path.join(scratch, "key")] if args.key else []
    file = os.path.join(scratch, "file")
    directories = {host: tempfile.mkdtemp(dir=scratch) for host in RECEIVERS}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    receivers = [
        start(host, [args.fanfare, "recv", directory, "--once", "--name", host, *group, *keys], **quiet)
        for host, directory in directories.items()
    ]
    attack = None
    if case:
        rate = str(args.rate or CASES[case])
        words = [sys.executable, os.path.join(HERE, "attack.py"), case, GROUP, str(PORT), address(5)]
        attack = start(ATTACKER, [*words, "30", rate], **quiet)
    time.sleep(1)
    stopped = None
    if case == "takeover":
        # The third receiver is stopped once it has said something: others speak for it.
        stopped = receivers[2]
    names = ",".join(RECEIVERS[:2] if stopped else RECEIVERS)
    begun = time.monotonic()
    send = [args.fanfare, "send", file, "--expect", names, "--wait", "10s", "--rate", "100M", *group, *keys]
    sender = start(SENDER, send, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if stopped:
        time.sleep(1)
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
    took = time.monotonic() - begun
    if attack:
        attack.kill()
        attack.wait()
    for receiver in receivers:
        if receiver is stopped:
            for pid in pids:
                os.kill(int(pid), signal.SIGKILL)
        try:
            receiver.wait(timeout=25)
        except subprocess.TimeoutExpired:
            receiver.kill()
    honest = [host for host in RECEIVERS if not (stopped and host == RECEIVERS[2])]
    whole = open(file, "rb").read()
    path = lambda host: os.path.join(directories[host], "file")
    have = [h for h in honest if os.path.exists(path(h)) and open(path(h), "rb").read() == whole]
    wrong = [h for h in RECEIVERS if os.path.exists(path(h)) and open(path(h), "rb").read() != whole]
    receipts = sorted({str(e.get("name")) for e in events if e["event"] == "receipt"})
    last = max((e["seconds"] for e in events if e["event"] == "receipt"), default=took)
    return last, have == honest and not wrong, [name for name in receipts if name not in honest]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fanfare")
    parser.add_argument("cases", nargs="*", default=[])
    parser.add_argument("--key", action="store_true", help="with a key: nothing may have an effect")
    parser.add_argument("--rate", type=int, help="packets a second")
    parser.add_argument("--size", type=int, default=20, help="MB of the file")
    args = parser.parse_args()
    args.fanfare = os.path.abspath(args.fanfare)
    failed = 0
    with tempfile.TemporaryDirectory() as scratch, Net():
        with open(os.path.join(scratch, "file"), "wb") as file:
            file.write(os.urandom(args.size * 1_000_000))
        sh(args.fanfare, "key", "new", os.path.join(scratch, "key"), "-q")
        peace, _, _ = transfer(args, scratch)
        print(f"{'peace':<10} {peace:6.2f} s")
        for case in args.cases or CASES:
            took, all_have, false = transfer(args, scratch, case)
            good = all_have and not false and took <= 2 * peace + 0.5
            failed += not good
            what = "ok" if good else "FAILED"
            print(f"{case:<10} {took:6.2f} s, all have it: {all_have}, false receipts: {false or 'none'}: {what}",
                  flush=True)
    sys.exit(failed > 0)


main()
