"""Sends files to many machines, and says who has them; or receives.

    file_to_many.py send GROUP RECEIVERS PATH...
    file_to_many.py recv GROUP FOLDER NAME
"""

import sys

import fanfare


def send(group, receivers, *paths):
    transfer = fanfare.send_files(group, paths, expect=receivers)
    for event in transfer:
        if event.kind == "receipt":
            print(f"{event.name} has {event.text} after {event.seconds:.1f} s")
        elif event.kind == "failed":
            print(f"{event.name}: {event.text}")
    report = transfer.finish()
    whole = [one for one in report.receivers if one.outcome == "complete"]
    print(f"{len(whole)} of {len(report.receivers)} have everything")
    return 0 if report.complete else 3


def receive(group, folder, name):
    transfer = fanfare.receive_files(
        group, folder, name=name, create_dirs=True, until="sender-ended"
    )
    print("ready", flush=True)
    # It is whole, verified, on the disk and under its final name.
    for event in transfer:
        if event.kind == "file":
            print(f"{event.name}: {event.bytes} bytes")
    return 0 if transfer.finish().complete else 3


if __name__ == "__main__":
    jobs = {"send": send, "recv": receive}
    if len(sys.argv) < 5 or sys.argv[1] not in jobs:
        sys.exit(__doc__)
    sys.exit(jobs[sys.argv[1]](*sys.argv[2:]))
