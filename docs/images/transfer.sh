#!/usr/bin/env bash
# The session of the README's picture: a real transfer to ten machines (network namespaces) over an
# emulated network. Each loses 2 % of the packets, and one that is far away 10 %. As root:
#   tools/terminal.py record docs/images/transfer.cast -- docs/images/transfer.sh
#   tools/terminal.py draw docs/images/transfer.cast docs/images/transfer.svg --title "..."
# FANFARE names the program.
set -euo pipefail
fanfare=$(realpath "${FANFARE:-target/release/fanfare}")
scratch=$(mktemp -d)
trap '"$fanfare" lab down --lab room >/dev/null 2>&1 || true; rm -rf "$scratch"' EXIT
cd "$scratch"
cat >room.toml <<'TOML'
[scenario]
name = "room"
duration = "10min"
[[node]]
name = "server"
host = true
[[node]]
name = "pc"
count = 9
host = true
[[node]]
name = "attic"
host = true
[[link]]
from = "*"
to = "*"
rate = "200Mbps"
delay = "2ms"
loss = "2%"
[[link]]
from = "server"
to = "attic"
rate = "200Mbps"
delay = "2ms"
loss = "10%"
TOML
head -c 120000000 /dev/urandom >disk.img
"$fanfare" lab up room.toml >up.log 2>&1 &
for _ in $(seq 50); do "$fanfare" lab exec --lab room attic -- true 2>/dev/null && break; sleep 0.2; done
for pc in pc1 pc2 pc3 pc4 pc5 pc6 pc7 pc8 pc9 attic; do
  "$fanfare" lab exec --lab room "$pc" -- \
    "$fanfare" recv "$pc" --create-dirs --once --name "$pc" >"$pc.log" 2>&1 &
done
sleep 1
printf '$ fanfare send disk.img --expect 10\n'
"$fanfare" lab exec --lab room server -- "$fanfare" send disk.img --expect 10
sleep 1
