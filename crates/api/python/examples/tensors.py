"""Tensors to workers: each gets all of them, whole and in order, or the sender is told who did not.
They are NumPy's where that is installed.

    tensors.py send GROUP WORKERS TENSORS
    tensors.py work GROUP NAME
"""

import array
import sys

import fanfare

try:
    import numpy
except ImportError:
    numpy = None

ROWS, COLUMNS = 64, 100


def tensor(step):
    values = [(step + i) % 1000 for i in range(ROWS * COLUMNS)]
    if numpy is not None:
        return numpy.array(values, dtype=numpy.float32).reshape(ROWS, COLUMNS)
    return array.array("f", values)


def total(data):
    if numpy is not None:
        return float(numpy.frombuffer(data, dtype=numpy.float32).sum(dtype=numpy.float64))
    return sum(array.array("f", data))


def send(group, workers, tensors):
    stream = fanfare.StreamWriter(group, expect=workers, framing="varint")
    for step in range(int(tensors)):
        stream.write_message(tensor(step))
    report = stream.finish()
    for one in report.receivers:
        if one.outcome != "complete":
            print(f"{one.name} does not have everything: {one.outcome}")
    whole = sum(one.outcome == "complete" for one in report.receivers)
    print(f"{whole} workers have everything")
    return 0 if report.complete else 3


def work(group, name):
    stream = fanfare.StreamReader(group, name=name)
    print("ready", flush=True)
    tensors, values = 0, 0.0
    for message in stream.messages():
        tensors, values = tensors + 1, values + total(message.data)
    # What was read is kept: the sender may know.
    stream.finish()
    print(f"{tensors} tensors, sum {values:.0f}")
    return 0


if __name__ == "__main__":
    if len(sys.argv) == 5 and sys.argv[1] == "send":
        sys.exit(send(*sys.argv[2:]))
    if len(sys.argv) == 4 and sys.argv[1] == "work":
        sys.exit(work(*sys.argv[2:]))
    sys.exit(__doc__)
