#!/bin/sh
# What `nft -j list ruleset` of nftables 1.0.6-2+deb12u2 (Debian 12) says of a chain of one device. Expected:
# "dev": "lo" in the chain, as libnftables-json(5) describes. Seen: no device at all. The words of
# `nft list ruleset` have it. So a program that reads the JSON takes the chain for one of all devices. Needs
# root (for a network namespace), apt-get, dpkg, unshare. Ends with 0 while it is so, and with 1 when it
# has changed.
set -eu
version=1.0.6-2+deb12u2
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
chmod 755 .
apt-get -qq download "nftables=$version" "libnftables1=$version" >/dev/null 2>&1
for package in ./*.deb; do dpkg -x "$package" root; done
library=$(dirname "$(find "$place/root" -name 'libnftables.so.1' | head -n 1)")
nft="$place/root/usr/sbin/nft"
export LD_LIBRARY_PATH="$library" nft
"$nft" --version
unshare -n sh -eu -c '
    "$nft" add table netdev one
    "$nft" add chain netdev one c "{ type filter hook ingress device lo priority 0; policy accept; }"
    "$nft" -j list ruleset >json
    "$nft" list ruleset >words
'
cat json
grep -q 'device "lo"' words
grep -q '"hook": "ingress"' json
if grep -q '"dev' json; then
    echo "changed: the JSON tells the device now"
    exit 1
fi
echo "as told: the chain has no device in the JSON"
