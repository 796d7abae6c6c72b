"""Deals out pieces of work to a Dask cluster: JSON lines in, JSON lines out, in the same order."""

import json
import subprocess
import sys
import tempfile

# A scheduler that has not answered by then is not there.
CONNECT_SECONDS = 10


def run_piece(piece):
    """Runs some seeds of one scenario, on a worker."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(piece["text"])
        file.flush()
        command = [piece["fanfare"], "sim", "run", file.name, "--json", "--jobs", "1"]
        command += ["--seed", str(piece["first"]), "--seeds", str(piece["seeds"])]
        for name, value in piece["values"].items():
            command += ["--set", f"{name}={value}"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            why = f"{error.strerror}. Say where it is with --fanfare"
            return {"error": f"fanfare ({piece['fanfare']}): {why}"}
    # 3: some transfer was not complete, which the figures say.
    if done.returncode not in (0, 3):
        lines = done.stderr.strip().splitlines() or [f"fanfare ended with {done.returncode}"]
        return {"error": lines[-1].removeprefix("error: ")}
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {"seeds": [[line["seed"], line["metrics"]] for line in lines if line["event"] == "seed"]}


def answers(pieces, address):
    """The answer to each piece, in order."""
    try:
        from dask.distributed import Client
    except ImportError:
        yield {"error": f"dask ({address}): is not installed. Run pip install 'dask[distributed]'"}
        return
    try:
        client = Client(address, timeout=CONNECT_SECONDS)
    except (OSError, TimeoutError, ValueError) as error:
        why = str(error).splitlines()[0] if str(error) else "does not answer"
        yield {"error": f"dask ({address}): {why}. Start a scheduler there"}
        return
    with client:
        if not client.scheduler_info(n_workers=-1)["workers"]:
            why = f"has no workers. Start dask worker {address}"
            yield {"error": f"dask ({address}): {why}"}
            return
        for future in client.map(run_piece, pieces, pure=False):
            yield future.result()


for answer in answers([json.loads(line) for line in sys.stdin], sys.argv[1]):
    print(json.dumps(answer), flush=True)
