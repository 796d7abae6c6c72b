#!/usr/bin/env python3
"""Runs scenario files over many seeds and values: on the cores here, or on a Dask cluster.

    tools/sweep.py scenarios/files/small.toml --seeds 1000
    tools/sweep.py cell.toml --vary loss=0.1%,1%,10% --vary rate=1Mbps,2Mbps --seeds 20 --out cells.csv
    tools/sweep.py cell.toml --seeds 100000 --dask tcp://scheduler:8786

A file may hold ${name} where --vary gives values: it is passed on as --set. The work is done by `fanfare sim run`; this only
deals it out, adds the answers up and writes one line for each combination and figure: runs, mean,
half the width of the 95 % confidence interval, least, greatest. What is written depends on the files,
the values and the seeds alone, not on where it was run.
"""

import argparse
import csv
import itertools
import json
import math
import multiprocessing
import os
import subprocess
import sys
import tempfile

# Student's t for 97.5 %, 1 to 30 degrees of freedom; beyond, Fisher's expansion (as in
# crates/sim/src/statistics.rs).
T_975 = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
]


def t_975(freedom):
    if freedom <= len(T_975):
        return T_975[freedom - 1]
    return 1.959964 + 2.37227 / freedom + 2.8225 / freedom**2


def summary(values):
    """Runs, mean, half the width of the 95 % confidence interval, least, greatest."""
    runs = len(values)
    mean = math.fsum(values) / runs
    squares = math.fsum((value - mean) ** 2 for value in values)
    ci95 = t_975(runs - 1) * math.sqrt(squares / (runs - 1) / runs) if runs > 1 else 0.0
    return runs, mean, ci95, min(values), max(values)


def combinations(vary):
    """Every choice of one value for each name."""
    names = [name for name, _ in vary]
    return [dict(zip(names, chosen)) for chosen in itertools.product(*(v for _, v in vary))]


def pieces(first, seeds, size):
    """(first seed, how many) of each piece of work."""
    return [(seed, min(size, first + seeds - seed)) for seed in range(first, first + seeds, size)]


def run_piece(work):
    """Runs some seeds of one text. Gives (seed, figures) of each, or the error's text."""
    fanfare, text, values, beside, first, seeds = work
    # Beside the original only where it may name another file.
    beside = beside if "trace" in text else None
    with tempfile.NamedTemporaryFile("w", suffix=".toml", dir=beside) as file:
        file.write(text)
        file.flush()
        command = [fanfare, "sim", "run", file.name, "--json", "--jobs", "1"]
        command += ["--seed", str(first), "--seeds", str(seeds)]
        for name, value in values.items():
            command += ["--set", f"{name}={value}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    # 3: some transfer was not complete, which the figures say.
    if done.returncode not in (0, 3):
        return done.stderr.strip() or f"fanfare ended with {done.returncode}"
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return [(line["seed"], line["metrics"]) for line in lines if line["event"] == "seed"]


def answers(works, args):
    """The answer to each piece of work, in order."""
    if args.dask:
        try:
            from dask.distributed import Client
        except ImportError:
            sys.exit("error: dask (--dask): is not installed. Run pip install 'dask[distributed]'")
        with Client(args.dask) as client:
            yield from client.gather(client.map(run_piece, works, pure=False))
        return
    with multiprocessing.Pool(args.jobs) as pool:
        yield from pool.imap(run_piece, works)


def add_up(works, results, keys):
    """Figures of each combination: {(key, name): {seed: value}}."""
    figures = {}
    for work, result, key in zip(works, results, keys):
        if isinstance(result, str):
            sys.exit(result)
        for seed, metrics in result:
            for name, value in metrics.items():
                figures.setdefault((key, name), {})[seed] = value
        print(f"\r{key[0]} seed {work[4] + work[5] - 1} ", end="", file=sys.stderr)
    print(file=sys.stderr)
    return figures


def write(figures, names, out):
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["scenario", *names, "figure", "runs", "mean", "ci95", "min", "max"])
    for (key, name), values in figures.items():
        ordered = [values[seed] for seed in sorted(values)]
        writer.writerow([*key, name, *summary(ordered)])


def variation(text):
    name, equals, values = text.partition("=")
    if not (name.isidentifier() and equals and values):
        raise argparse.ArgumentTypeError(f"({text}): not a variation. Write it as loss=1%,10%")
    return name, values.split(",")


def positive(text):
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"({text}): must be a whole number from 1")
    return int(text)


def arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", help="scenario files")
    parser.add_argument("--vary", action="append", default=[], type=variation, metavar="NAME=A,B")
    parser.add_argument("--seed", type=int, default=1, help="first seed")
    parser.add_argument("--seeds", type=positive, default=20)
    parser.add_argument("--piece", type=positive, default=10, help="seeds in one piece of work")
    parser.add_argument("--jobs", type=positive, help="processes; default one for each core")
    parser.add_argument("--dask", metavar="ADDRESS", help="a Dask scheduler to work on instead")
    parser.add_argument("--out", help="CSV file; default standard output")
    parser.add_argument("--fanfare", default="fanfare", help="the command; on each worker")
    return parser.parse_args(argv)


def main(argv):
    args = arguments(argv)
    works, keys = [], []
    for path in args.files:
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except OSError as error:
            print(f"error: scenario ({path}): {error.strerror}. Name a .toml file", file=sys.stderr)
            return 2
        for values in combinations(args.vary):
            # Only files on this machine can be read beside the scenario.
            beside = None if args.dask else os.path.dirname(os.path.abspath(path))
            for first, seeds in pieces(args.seed, args.seeds, args.piece):
                works.append((args.fanfare, text, values, beside, first, seeds))
                keys.append((os.path.basename(path), *values.values()))
    figures = add_up(works, answers(works, args), keys)
    names = [name for name, _ in args.vary]
    if args.out:
        with open(args.out, "w", encoding="utf-8") as out:
            write(figures, names, out)
    else:
        write(figures, names, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
