#!/usr/bin/env python3
r"""Runs scenario files over many seeds and values: on the cores here, or on a Dask cluster.

    tools/sweep.py scenarios/files/small.toml --seeds 1000
    tools/sweep.py cell.toml --vary loss=0.1%,1%,10% --vary rate=1Mbps,2Mbps --seeds 20 --out cells.csv
    tools/sweep.py cell.toml --seeds 100000 --dask tcp://scheduler:8786
    tools/sweep.py scenarios/experiments/layers-sessions.toml --where sessions=16 \
        --where scheme=era,plm-fq,flid-dl,rlc,rlm

A file may hold ${name} where --vary gives values: it is passed on as --set. An experiment's file is
swept over what varies in it, with its seeds; --where keeps some of its values. The work is done by
`fanfare sim run`; this only deals it out, adds the answers up and writes one line for each
combination and figure: runs, mean, half the width of the 95 % confidence interval, least, greatest.
What is written depends on the files, the values and the seeds alone, not on where it was run.
"""

import argparse
import contextlib
import csv
import itertools
import json
import math
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import tomllib

# Student's t for 97.5 %, 1 to 30 degrees of freedom; beyond, Fisher's expansion (as in
# crates/sim/src/statistics.rs).
T_975 = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
]


# ${name} in a file stands for a value.
NAMED = re.compile(r"\$\{(\w+)\}")
# A scheduler that has not answered by then is not there.
CONNECT_SECONDS = 10


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


class Mistake(Exception):
    """What is wrong, how much, why, and what to do."""


def combinations(vary):
    """Every choice of one value for each name: (its labels, the variables that it sets)."""
    names = [name for name, _ in vary]
    for chosen in itertools.product(*(values for _, values in vary)):
        yield chosen, dict(zip(names, chosen))


def text_of(value):
    """A TOML value as --set wants it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (str, int, float)):
        return str(value)
    raise Mistake(f"experiment ({value}): no value of a variable. Write a string or a number")


def levels_of(factor, where):
    """(label, variables) of each value of an experiment's factor that `where` keeps."""
    name, levels = factor["name"], []
    for value in factor["values"]:
        if isinstance(value, dict):
            sets = {key: text_of(one) for key, one in value.items() if key != "name"}
            levels.append((value["name"], sets))
        else:
            levels.append((text_of(value), {name: text_of(value)}))
    kept = where.get(name)
    known = [label for label, _ in levels]
    for label in kept or []:
        if label not in known:
            raise Mistake(f"where ({name}={label}): has no such value. One of {', '.join(known)}")
    return [level for level in levels if kept is None or level[0] in kept]


def experiment_cells(experiment, where):
    """(names, (labels, variables) of each cell) of an experiment's file."""
    factors = experiment.get("vary", [])
    names = [factor["name"] for factor in factors]
    for name in where:
        if name not in names:
            raise Mistake(f"where ({name}): does not vary here. One of {', '.join(names)}")
    fixed = {key: text_of(value) for key, value in experiment.get("set", {}).items()}
    cells = []
    for chosen in itertools.product(*(levels_of(factor, where) for factor in factors)):
        values = dict(fixed)
        for _, sets in chosen:
            values.update(sets)
        cells.append((tuple(label for label, _ in chosen), values))
    return names, cells


def filled(values, text):
    """The variables of a scenario's text, with what they name of each other put in."""
    def put(value, depth):
        if depth > len(values):
            raise Mistake(f"experiment ({value}): names itself. Give it a value")
        inside = lambda found: put(values.get(found[1], found[0]), depth + 1)
        return NAMED.sub(inside, value) if any(n in values for n in NAMED.findall(value)) else value

    known = set(NAMED.findall(text))
    return {name: put(value, 0) for name, value in values.items() if name in known}


def read(what, path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise Mistake(f"{what} ({path}): {error.strerror}. Name a .toml file") from None
    except UnicodeDecodeError:
        raise Mistake(f"{what} ({path}): is not text. Name a .toml file") from None


def as_experiment(path, text):
    """The file's tables when it is an experiment's; a scenario's may hold ${name} and is no TOML."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        if "[experiment]" in text:
            raise Mistake(f"experiment ({path}): {error}. Correct it") from None
        return None
    return tables if "experiment" in tables else None


def plan(path, args):
    """(scenario's path and text, names, cells, first seed, seeds) of a file."""
    text = read("scenario", path)
    tables = as_experiment(path, text)
    first, seeds = args.seed, args.seeds
    if tables is None:
        if args.where:
            raise Mistake(f"where ({path}): is no experiment's file. Use --vary with a scenario")
        names = [name for name, _ in args.vary]
        cells = list(combinations(args.vary))
    else:
        if args.vary:
            raise Mistake(f"vary ({path}): an experiment says what varies. Use --where")
        try:
            told = tables["experiment"]
            path = os.path.join(os.path.dirname(path), told["scenario"])
            names, cells = experiment_cells(tables, args.where)
            first = told.get("seed", 1) if first is None else first
            seeds = told.get("seeds", 20) if seeds is None else seeds
        except (KeyError, TypeError, AttributeError) as error:
            raise Mistake(f"experiment ({path}): lacks {error}. See docs/reference/experiment-files.md") from None
        text = read("scenario", path)
        cells = [(labels, filled(values, text)) for labels, values in cells]
    return path, text, names, cells, 1 if first is None else first, 20 if seeds is None else seeds


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
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            return f"error: fanfare ({fanfare}): {error.strerror}. Say where it is with --fanfare"
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
            why = "is not installed. Run pip install 'dask[distributed]'"
            raise Mistake(f"dask ({args.dask}): {why}") from None
        try:
            client = Client(args.dask, timeout=CONNECT_SECONDS)
        except (OSError, TimeoutError, ValueError) as error:
            why = str(error).splitlines()[0] if str(error) else "does not answer"
            raise Mistake(f"dask ({args.dask}): {why}. Start a scheduler there") from None
        with client:
            if not client.scheduler_info(n_workers=-1)["workers"]:
                raise Mistake(f"dask ({args.dask}): has no workers. Start dask worker {args.dask}")
            yield from client.gather(client.map(run_piece, works, pure=False))
        return
    with multiprocessing.Pool(args.jobs) as pool:
        yield from pool.imap(run_piece, works)


def add_up(works, results, keys):
    """Figures of each combination: {(key, name): {seed: value}}."""
    figures = {}
    for work, result, key in zip(works, results, keys):
        if isinstance(result, str):
            raise Mistake(result.removeprefix("error: "))
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


def seed_number(text):
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"({text}): must be a whole number from 0")
    return int(text)


def positive(text):
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"({text}): must be a whole number from 1")
    return int(text)


def arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", help="scenario files, or one experiment's")
    parser.add_argument("--vary", action="append", default=[], type=variation, metavar="NAME=A,B")
    parser.add_argument("--where", action="append", default=[], type=variation, metavar="NAME=A,B")
    parser.add_argument("--seed", type=seed_number, help="first seed; default the experiment's, or 1")
    parser.add_argument("--seeds", type=positive, help="how many; default the experiment's, or 20")
    parser.add_argument("--piece", type=positive, default=10, help="seeds in one piece of work")
    parser.add_argument("--jobs", type=positive, help="processes; default one for each core")
    parser.add_argument("--dask", metavar="ADDRESS", help="a Dask scheduler to work on instead")
    parser.add_argument("--out", help="CSV file; default standard output")
    parser.add_argument("--fanfare", default="fanfare", help="the command; on each worker")
    return parser.parse_args(argv)


def sweep(args):
    args.where = dict(args.where)
    works, keys, all_names = [], [], None
    for path in args.files:
        path, text, names, cells, first, seeds = plan(path, args)
        if all_names not in (None, names):
            raise Mistake(f"files ({path}): varies otherwise than those before. Sweep it alone")
        all_names = names
        # Only files on this machine can be read beside the scenario.
        beside = None if args.dask else os.path.dirname(os.path.abspath(path))
        for labels, values in cells:
            for begin, count in pieces(first, seeds, args.piece):
                works.append((args.fanfare, text, values, beside, begin, count))
                keys.append((os.path.basename(path), *labels))
    # Before the work, which may take hours.
    with output(args.out) as out:
        write(add_up(works, answers(works, args), keys), all_names, out)


def output(path):
    if not path:
        return contextlib.nullcontext(sys.stdout)
    try:
        return open(path, "w", encoding="utf-8")
    except OSError as error:
        raise Mistake(f"out ({path}): {error.strerror}. Name a file that can be") from None


def main(argv):
    try:
        sweep(arguments(argv))
    except Mistake as mistake:
        print(f"error: {mistake}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
