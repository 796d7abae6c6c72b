"""A file in messages by pyzmq over norm://: `send FILE` and `recv FOLDER`."""

import os
import sys
import time

import zmq

GROUP = "norm://{},eth0;239.255.42.8:17500"
CHUNK = 1000

verb, place = sys.argv[1:]
context = zmq.Context()
if verb == "send":
    socket = context.socket(zmq.PUB)
    socket.set(zmq.SNDHWM, 0)
    socket.bind(GROUP.format(1))
    time.sleep(1)
    with open(place, "rb") as file:
        content = file.read()
    for at in range(0, len(content), CHUNK):
        # The first part says what it is; a message of two parts must come whole.
        socket.send_multipart([b"data", content[at : at + CHUNK]])
        time.sleep(0.001)
    while True:
        socket.send_multipart([b"end", b""])
        time.sleep(0.1)
else:
    socket = context.socket(zmq.SUB)
    socket.set(zmq.RCVHWM, 0)
    socket.setsockopt(zmq.SUBSCRIBE, b"")
    socket.connect(GROUP.format(2))
    content = b""
    while True:
        kind, part = socket.recv_multipart()
        if kind == b"end":
            break
        content += part
    with open(os.path.join(place, "file"), "wb") as file:
        file.write(content)
    print(len(content), flush=True)
