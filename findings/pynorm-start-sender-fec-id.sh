#!/bin/sh
# What pynorm of norm 1.5.9 (Debian, norm_1.5.9+dfsg.orig.tar.xz and libnorm1 1.5.9+dfsg-2) sends when a program
# starts a sender and enqueues one object of data. Expected: the object is sent, and NORM_TX_OBJECT_SENT comes.
# Seen: nothing is sent, and no error is told. NormStartSender of normApi.h has a seventh argument, the FEC id;
# pynorm calls it with six, so that what lies on the stack counts. With a seventh argument of 0 it is sent. Needs
# curl, dpkg-deb, /usr/bin/python3 and an x86-64. Ends with 0 while it is so, and with 1 when it has changed.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
pool=http://deb.debian.org/debian/pool/main/n/norm
curl -sfO "$pool/norm_1.5.9+dfsg.orig.tar.xz"
curl -sfO "$pool/libnorm1_1.5.9+dfsg-2_amd64.deb"
mkdir source
tar -C source -xf ./*.tar.xz
dpkg-deb -x ./*.deb root
dpkg-deb -f ./*.deb Package Version | tr '\n' ' '
echo

cat >send.py <<'PY'
import ctypes
import sys
import time

import pynorm
import pynorm.constants as c
from pynorm.core import libnorm
from pynorm.session import Session

# pynorm finds sessions by the comparison of Python 2, which Python 3 does not look for.
Session.__eq__ = lambda self, other: self._as_parameter_ == getattr(other, "_as_parameter_", other)
instance = pynorm.Instance()
session = instance.createSession(b"224.1.2.3", 6003, 1)
session.setMulticastInterface(b"lo")
session.setTxRate(1e6)
if sys.argv[1] == "7":
    start = libnorm.NormStartSender
    start.argtypes = [*start.argtypes, ctypes.c_ubyte]
    start(session, 7, 1 << 20, 1400, 64, 16, 0)
else:
    session.startSender(7, 1 << 20, 1400, 64, 16)
content = b"content"
kept = session.dataEnqueue(content, b"")
sent, end = 0, time.monotonic() + 3
while time.monotonic() < end:
    event = instance.getNextEvent(0.2)
    sent += bool(event) and event.type == c.NORM_TX_OBJECT_SENT
print(sent)
PY
export PYTHONPATH=source/src LD_LIBRARY_PATH="$place/root/usr/lib/$(uname -m)-linux-gnu" PYTHONDONTWRITEBYTECODE=1
six=$(/usr/bin/python3 send.py 6 2>/dev/null)
seven=$(/usr/bin/python3 send.py 7 2>/dev/null)
echo "objects sent: with six arguments $six, with seven $seven"
if [ "$six" -eq 0 ] && [ "$seven" -eq 1 ]; then
    echo "as told: pynorm leaves the FEC id out"
else
    echo "changed"
    exit 1
fi
