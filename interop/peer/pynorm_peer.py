"""A file by pynorm, NRL's binding for Python: `send FILE` and `recv FOLDER`."""

import os
import sys

import pynorm
import pynorm.constants as c
from pynorm.session import Session

# pynorm finds sessions by the comparison of Python 2, which Python 3 does not look for.
Session.__eq__ = lambda self, other: self._as_parameter_ == getattr(
    other, "_as_parameter_", other
)

instance = pynorm.Instance()
verb, place = sys.argv[1:]
if verb == "recv":
    instance.setCacheDirectory(place.encode())
# Without a node id of its own each takes its address.
session = instance.createSession(b"224.1.2.3", 6003)
session.setMulticastInterface(b"eth0")
if verb == "send":
    session.setTxRate(20e6)
    session.startSender(1, 1024 ** 2, 1400, 64, 16)
    session.fileEnqueue(place.encode(), os.path.basename(place).encode())
else:
    session.startReceiver(1024 ** 2)
while True:
    event = instance.getNextEvent()
    if event is False:
        break
    print(event.type, flush=True)
    if verb == "send" and event.type == c.NORM_TX_FLUSH_COMPLETED:
        print("flushed", flush=True)
