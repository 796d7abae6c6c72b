#!/usr/bin/env python3
"""Send a directory to three receivers on this machine, twice, and ask rsync what is left to do.

    tools/trees.py target/release/fanfare /usr
    tools/trees.py target/release/fanfare --files 100000 --rate 200M

Needs rsync, and room for three copies below --work. Prints a table: seconds, bytes on the wire as a
share of the files' bytes, and the most memory that the sender and a receiver held.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

RECEIVERS = 3
GROUP = ["--group", "239.255.42.77:7077", "--interface", "lo"]


def start(command, output):
    return subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)


def wait(process):
    """Exit code, and the most memory that it held, in MiB."""
    _, status, usage = os.wait4(process.pid, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_maxrss / 1024


def last_line(path):
    return json.loads(path.read_text().splitlines()[-1])


def send(program, tree, work, rate):
    logs = [work / f"receiver-{n}.json" for n in range(RECEIVERS)]
    recv = [program, "recv", "--once", "--archive", "--create-dirs", "--json", *GROUP]
    receivers = [
        start([*recv, str(work / f"in-{n}"), "--name", f"r{n}"], log.open("w"))
        for n, log in enumerate(logs)
    ]
    time.sleep(1)
    log = work / "sender.json"
    rate = ["--rate", rate] if rate else []
    begun = time.monotonic()
    command = [program, "send", str(tree), "--archive", "--expect", str(RECEIVERS), "--json"]
    code, memory = wait(start([*command, *rate, *GROUP], log.open("w")))
    seconds = time.monotonic() - begun
    ends = [wait(receiver) for receiver in receivers]
    codes = [code, *(end for end, _ in ends)]
    return codes, seconds, last_line(log), memory, max(memory for _, memory in ends)


def left_to_do(tree, there):
    command = ["rsync", "-aHAX", "--numeric-ids", "--checksum", "--dry-run", "--itemize-changes"]
    command += ["--no-specials", "--no-devices", f"{tree}/", f"{there}/"]
    lines = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    lines = (lines.stdout + lines.stderr).splitlines()
    return [line for line in lines if "skipping non-regular file" not in line]


def make(path, files):
    for number in range(files):
        directory = path / f"{number // 500:04}"
        if number % 500 == 0:
            directory.mkdir(parents=True)
        (directory / f"{number:06}").write_bytes(os.urandom(1024))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="a fanfare")
    parser.add_argument("tree", nargs="?", type=pathlib.Path, help="the directory to send")
    parser.add_argument("--files", type=int, help="make so many files of 1 KiB instead")
    parser.add_argument("--rate", help="upper limit in bit/s")
    parser.add_argument("--work", help="where the copies go [default: the temporary directory]")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.work) as work:
        work = pathlib.Path(work)
        tree = options.tree
        if options.files:
            tree = work / "out" / "tree"
            make(tree, options.files)
        failed = False
        for name in ("first", "again"):
            codes, seconds, result, sender, receiver = send(options.program, tree, work, options.rate)
            share = result["wire_bytes"] / max(1, result["bytes"])
            print(
                f"{name:<6} {seconds:7.1f} s  {result['bytes'] / 1e6:9.1f} MB  wire {share:7.4f}  "
                f"sender {sender:6.0f} MiB  receiver {receiver:6.0f} MiB  exits {codes}",
                flush=True,
            )
            failed |= any(codes)
        for number in range(RECEIVERS):
            left = left_to_do(tree, work / f"in-{number}" / tree.name)
            print(f"rsync has {len(left)} things left to do at receiver {number}")
            print("\n".join(left[:20]), end="\n" if left else "")
            failed |= bool(left)
    sys.exit(failed)


if __name__ == "__main__":
    main()
