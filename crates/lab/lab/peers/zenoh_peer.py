"""Publishes lines and prints what is published, over Zenoh (PyPI eclipse-zenoh): one of the systems beside
which groups are measured.

    zenoh_peer.py INTERFACE TOPIC...      topics are key expressions: position/**

Reads "TOPIC TEXT" lines and prints the texts that come. Peers find each other by multicast and connect by TCP;
messages are reliable, and a publisher waits rather than drops.
"""

import json
import sys
import threading

import zenoh


def main() -> None:
    interface, topics = sys.argv[1], sys.argv[2:]
    config = zenoh.Config()
    config.insert_json5("mode", '"peer"')
    config.insert_json5("scouting/multicast/interface", json.dumps(interface))
    session = zenoh.open(config)
    lock = threading.Lock()

    def on_sample(sample: zenoh.Sample) -> None:
        with lock:
            sys.stdout.buffer.write(sample.payload.to_bytes() + b"\n")
            sys.stdout.buffer.flush()

    subscribers = [session.declare_subscriber(topic, on_sample) for topic in topics]
    with lock:
        print("ready", flush=True)
    for line in sys.stdin.buffer:
        topic, _, text = line.rstrip(b"\n").partition(b" ")
        session.put(topic.decode(), text, congestion_control=zenoh.CongestionControl.BLOCK)
    del subscribers


main()
