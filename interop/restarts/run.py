#!/usr/bin/env python3
"""Programs of NRL's library over restarts of either side, on Debian's library and on ours.

    run.py LIBNORM [--rounds N] [--programs NAME,NAME] [--short] [--jobs N] [--write FILE]

LIBNORM is our libnorm.so, or the folder where cargo has built it. Sender and receiver are hosts of their own, as network namespaces. By
turns the sender and the receiver are killed (SIGKILL and SIGTERM by turns) and started anew; then
the sender is given messages, and whoever is there should have all of them. With the same rounds on
Debian's library at both ends it is counted what is lost there. More than that is a failure.

Programs: `zeromq` (needs libzmq5), `pynorm`, and NRL's examples `normMsgr` and `normStreamer`. The
last three need their sources: FANFARE_NORM_SOURCE names the unpacked source package norm, and
FANFARE_PROTOLIB protolib's; without them they are left out. Needs root, for namespaces.
"""

import argparse
import concurrent.futures
import datetime
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
GROUP, PORT = "239.255.42.9", "17600"
#: Messages of a round, and seconds between them.
MESSAGES, PAUSE = 20, 0.02
#: Seconds until a program that was started hears and speaks, and until what was sent is repaired. A receiver that
#: comes when the only one before it has just gone waits longest: the sender's rate begins anew.
SETTLE, REPAIRED = 1.2, 7.0
PAIRS = [("norm", "norm"), ("fanfare", "norm"), ("norm", "fanfare"), ("fanfare", "fanfare")]
PYTHON = "/usr/bin/python3"
EXAMPLES = ["normMsgr", "normStreamer"]


def framed(text):
    """A message behind its length in two bytes, which counts itself (NRL's examples)."""
    return (len(text) + 2).to_bytes(2, "big") + text


class Ends:
    """Two hosts on one line, with a sender and a receiver that can be started anew."""

    def __init__(self, name, program, pair, tools):
        self.program, self.pair, self.tools = program, pair, tools
        self.hosts = [f"{name}a", f"{name}b"]
        self.running, self.lives = [None, None], 0
        self.output = os.path.join(tools, name)

    def __enter__(self):
        for host in self.hosts:
            call("ip", "netns", "add", host)
            call("ip", "-n", host, "link", "set", "lo", "up")
        call("ip", "-n", self.hosts[0], "link", "add", "eth0", "type", "veth", "peer", "name", "eth0",
            "netns", self.hosts[1])
        for n, host in enumerate(self.hosts, 1):
            call("ip", "-n", host, "addr", "add", f"10.92.0.{n}/24", "dev", "eth0")
            call("ip", "-n", host, "link", "set", "eth0", "up")
            call("ip", "-n", host, "route", "add", "224.0.0.0/4", "dev", "eth0")
        return self

    def __exit__(self, *_):
        for side in (0, 1):
            self.end(side, signal.SIGKILL)
        for host in self.hosts:
            subprocess.run(["ip", "netns", "del", host], check=False)

    def words(self, side):
        verb, node = ("send", "1") if side == 0 else ("recv", "2")
        if self.program == "zeromq":
            return [PYTHON, f"{HERE}/zmq_peer.py", verb, node, f"{GROUP}:{PORT}"]
        if self.program == "pynorm":
            return [PYTHON, f"{HERE}/pynorm_peer.py", verb, node, GROUP, PORT]
        more = ["flush", "active", "rate", "20000000"] if side == 0 else []
        return [os.path.join(self.tools, self.program), "id", node, verb, "addr", f"{GROUP}/{PORT}",
                "interface", "eth0", *more]

    def start(self, side):
        ours = self.pair[side] == "fanfare"
        env = {**os.environ, "LD_LIBRARY_PATH": os.path.join(self.tools, "ours") if ours else "",
               "PYTHONPATH": self.tools, "PYTHONDONTWRITEBYTECODE": "1"}
        self.lives += side
        with open(f"{self.output}.{self.lives}", "ab") as out, open(self.output + ".err", "ab") as errors:
            self.running[side] = subprocess.Popen(
                ["ip", "netns", "exec", self.hosts[side], *self.words(side)], env=env, cwd=self.tools,
                stdin=subprocess.PIPE if side == 0 else subprocess.DEVNULL,
                stdout=out if side == 1 else subprocess.DEVNULL, stderr=errors)

    def end(self, side, how):
        process = self.running[side]
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdin:
            try:
                process.stdin.close()
            except OSError:
                pass
        self.running[side] = None

    def say(self, text):
        line = framed(text.encode()) if self.program in EXAMPLES else f"{text}\n".encode()
        self.running[0].stdin.write(line)
        self.running[0].stdin.flush()

    def heard(self):
        """What each receiver has heard, from its beginning to its end."""
        lives = []
        for life in range(1, self.lives + 1):
            with open(f"{self.output}.{life}", "rb") as out:
                lives.append(re.findall(rb"r(\d+)m(\d+);", out.read()))
        return lives


def call(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def measure(job):
    """What was lost in all rounds: by rounds in which the sender, and in which the receiver was new."""
    number, program, pair, rounds, tools = job
    with Ends(f"rs{os.getpid()}_{number}", program, pair, tools) as ends:
        ends.start(1)
        time.sleep(SETTLE)
        ends.start(0)
        time.sleep(SETTLE)
        for n in range(rounds):
            # Sender, receiver, sender, ... and each of them by both signals.
            side, how = n % 2, signal.SIGKILL if n // 2 % 2 else signal.SIGTERM
            ends.end(side, how)
            ends.start(side)
            time.sleep(SETTLE)
            for message in range(MESSAGES):
                ends.say(f"r{n}m{message};")
                time.sleep(PAUSE)
            time.sleep(REPAIRED)
        heard = ends.heard()
    lost = [0, 0]
    # What a receiver hears that was sent before it came is no fault, and no part of what it should have.
    known = {message for life in heard for message in life}
    twice = sum(len(life) - len(set(life)) for life in heard)
    for n in range(rounds):
        for message in range(MESSAGES):
            lost[n % 2] += (str(n).encode(), str(message).encode()) not in known
    return lost, twice


def newest(place):
    """The library; cargo's tests alone leave the first of these as it was."""
    names = [os.path.join(place, name) for name in ("libnorm.so", "deps/libnorm.so")]
    found = [name for name in names if os.path.exists(name)] if os.path.isdir(place) else [place]
    if not found:
        sys.exit(f"no libnorm.so in {place}: cargo build -p fanfare-norm")
    return max(found, key=os.path.getmtime)


def prepare(library, tools, programs):
    """Makes what the programs need; gives those that can be run."""
    os.mkdir(os.path.join(tools, "ours"))
    os.symlink(os.path.abspath(newest(library)), os.path.join(tools, "ours", "libnorm.so.1"))
    os.symlink("libnorm.so.1", os.path.join(tools, "ours", "libnorm.so"))
    source, protolib = (os.environ.get(name) for name in ("FANFARE_NORM_SOURCE", "FANFARE_PROTOLIB"))
    able = []
    for program in programs:
        if program == "zeromq":
            has = subprocess.run([PYTHON, "-c", "import ctypes; ctypes.CDLL('libzmq.so.5').zmq_has"],
                                 stderr=subprocess.DEVNULL, check=False).returncode == 0
            why = "install libzmq5"
        elif not source or (program in EXAMPLES and not protolib):
            has, why = False, "set FANFARE_NORM_SOURCE and FANFARE_PROTOLIB to the sources"
        elif program == "pynorm":
            os.symlink(os.path.join(source, "src/pynorm"), os.path.join(tools, "pynorm"))
            has, why = True, ""
        else:
            includes = [f"-I{os.path.join(root, 'include')}" for root in (source, protolib)]
            call("c++", "-w", "-DUNIX", "-DLINUX", "-D_FILE_OFFSET_BITS=64", *includes, "-o",
                          os.path.join(tools, program), os.path.join(source, f"examples/{program}.cpp"),
                          "-lnorm", "-lprotokit")
            has, why = True, ""
        if has:
            able.append(program)
        else:
            print(f"SKIPPED: {program}: {why}", flush=True)
    return able


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("library")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--programs", default="zeromq,pynorm,normMsgr,normStreamer")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--write")
    args = parser.parse_args()
    if args.short:
        args.rounds = 6
    tools = tempfile.mkdtemp(prefix="fanfare-restarts-")
    try:
        programs = prepare(args.library, tools, args.programs.split(","))
        jobs = [(program, pair) for program in programs for pair in PAIRS]
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            numbered = [(n, *job, args.rounds, tools) for n, job in enumerate(jobs)]
            results = dict(zip(jobs, pool.map(measure, numbered)))
    finally:
        shutil.rmtree(tools, ignore_errors=True)
    rows, failed = [], False
    for program, pair in jobs:
        (lost, twice), (bound, often) = results[program, pair], results[program, PAIRS[0]]
        worse = sum(lost) > sum(bound) or twice > often
        failed |= worse
        rows.append((f"{program} {pair[0]}→{pair[1]}", lost, twice, worse))
        print(f"{'FAIL' if worse else 'pass'}  {rows[-1][0]}: lost {lost[0]} of {args.rounds // 2 * MESSAGES} "
              f"after the sender's restarts, {lost[1]} after the receiver's, {twice} came twice", flush=True)
    if args.write:
        with open(args.write, "w") as page:
            page.write(table(args, rows))
    return 1 if failed else 0


def table(args, rows):
    version = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "libnorm1"], check=False,
                             capture_output=True, text=True).stdout or "unknown"
    half = args.rounds // 2
    text = ("# NORM programs over restarts\n\n"
            f"Written by `interop/restarts/run.py --rounds {args.rounds}` on {datetime.date.today()}, against\n"
            f"libnorm {version}. By turns the sender and the receiver are killed or told to end, and started\n"
            f"anew, {half} times each. After {SETTLE} s the sender is given {MESSAGES} messages, and both sides live\n"
            f"{REPAIRED:.0f} s more. `fanfare` is our libnorm.so.1 and `norm` is Debian's, sender first. A row with more\n"
            "losses than `norm→norm` is a failure.\n\n"
            "| programs | lost after the sender's restarts | after the receiver's | came twice |\n|---|---|---|---|\n")
    for name, lost, twice, worse in rows:
        mark = "**" if worse else ""
        text += f"| {name} | {mark}{lost[0]} of {half * MESSAGES}{mark} | {mark}{lost[1]}{mark} | {mark}{twice}{mark} |\n"
    return text


if __name__ == "__main__":
    sys.exit(main())
