"""Lines by pynorm, each an object of data: `send` takes them from standard input, `recv` prints them.

    pynorm_peer.py send|recv NODE GROUP PORT

PYTHONPATH says where pynorm is, and LD_LIBRARY_PATH which libnorm it has.
"""

import ctypes
import os
import random
import select
import sys

import pynorm
import pynorm.constants as c
from pynorm.core import libnorm
from pynorm.session import Session

# pynorm finds sessions by the comparison of Python 2, which Python 3 does not look for.
Session.__eq__ = lambda self, other: self._as_parameter_ == getattr(
    other, "_as_parameter_", other
)

verb, node, group, port = sys.argv[1:]
instance = pynorm.Instance()
session = instance.createSession(group.encode(), int(port), int(node))
session.setMulticastInterface(b"eth0")
#: Objects and their bytes: NRL's library sends from there, and pynorm gives back what Python forgets.
kept = []


if verb == "send":
    session.setTxRate(20e6)
    # pynorm 1.5.9 leaves out the seventh argument, the FEC id: what lies on the stack counts, and with most of
    # that NRL's library sends nothing.
    start = libnorm.NormStartSender
    start.argtypes = [*start.argtypes, ctypes.c_ubyte]
    start(session, random.randrange(1 << 16), 1024 ** 2, 1400, 64, 16, 0)
else:
    session.startReceiver(1024 ** 2)
lines = [sys.stdin.fileno()] if verb == "send" else []
rest = b""
while True:
    ready = select.select([instance, *lines], [], [])[0]
    if lines and lines[0] in ready:
        more = os.read(lines[0], 65536)
        if not more:
            lines = []
        *whole, rest = (rest + more).split(b"\n")
        for line in whole:
            kept.append((line, session.dataEnqueue(line, b"")))
    if instance in ready:
        event = instance.getNextEvent()
        if event is False:
            break
        if verb == "recv" and event.type == c.NORM_RX_OBJECT_COMPLETED:
            print(event.object.getData().decode(), flush=True)
