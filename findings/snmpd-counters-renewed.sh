#!/bin/sh
# How often the interface counters of snmpd 5.9.3+dfsg-2+deb12u1 (Debian 12) change, asked four times a second
# while 50 packets a second pass. Expected: with each request, or a time that the request starts. Seen: once in
# three seconds, by the agent's own timer, whatever the requests. So who asks each 5 s sees 3 s or 6 s of
# traffic, and tells an even flow as 0.6 and 1.2 of its rate. Needs root (for a network namespace), apt-get,
# dpkg, ip, unshare, python3. All paths are below a temporary folder. Ends with 0 while it is so, and with 1 when it has changed.
set -eu
version=5.9.3+dfsg-2+deb12u1
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
chmod 755 .
apt-get -qq download "snmpd=$version" "snmp=$version" "libsnmp40=$version" "libsnmp-base=$version" >/dev/null 2>&1
for package in ./*.deb; do dpkg -x "$package" root; done
LD_LIBRARY_PATH=$(dirname "$(find "$place/root" -name 'libnetsnmp.so.40' | head -n 1)")
export LD_LIBRARY_PATH MIBS= place
printf 'rocommunity public\nagentaddress udp:127.0.0.1:1161\n' >snmpd.conf
"$place/root/usr/sbin/snmpd" --version 2>&1 | grep version
unshare -n sh -eu -c '
    ip link set lo up
    "$place/root/usr/sbin/snmpd" -f -Lf /dev/null -C -c snmpd.conf -p "$place/pid" &
    agent=$!
    sleep 2
    python3 - <<PY
import os, socket, subprocess, threading, time
get = [os.environ["place"] + "/root/usr/bin/snmpget", "-v2c", "-cpublic", "-Oqv", "-m", "", "127.0.0.1:1161",
       ".1.3.6.1.2.1.2.2.1.10.1"]
ends = time.monotonic() + 16
def send():
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    while time.monotonic() < ends:
        out.sendto(bytes(500), ("127.0.0.1", 9999))
        time.sleep(0.02)
threading.Thread(target=send).start()
last, changed, asked = None, [], 0
while time.monotonic() < ends:
    value = subprocess.run(get, capture_output=True, text=True, check=True).stdout.strip()
    asked += 1
    if last is not None and value != last:
        changed.append(time.monotonic())
    last = value
    time.sleep(0.25)
spans = [round(b - a, 1) for a, b in zip(changed, changed[1:])]
print(f"asked {asked} times in 16 s, changed {len(changed)} times, seconds between: {spans}")
open("spans", "w").write(" ".join(map(str, spans)))
PY
    kill "$agent"
'
for span in $(cat spans); do
    case $span in 2.[6-9] | 3.[0-4]) ;; *) echo "changed: $span s"; exit 1 ;; esac
done
[ "$(wc -w <spans)" -ge 3 ] || { echo "changed: too few"; exit 1; }
echo "as told: by its own timer, each three seconds"
