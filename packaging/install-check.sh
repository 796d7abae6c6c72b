#!/usr/bin/env bash
# Installs what packaging/release.sh made into fresh systems, sends a file there, removes it again and
# looks at what is left. As root:
#   packaging/install-check.sh OUT [CHECK…]
# CHECK, by default all of them:
#   debian    the .deb, by dpkg in a fresh Debian (debootstrap)
#   ubuntu    the same in Ubuntu
#   rpm       the .rpm, by rpm in an empty folder
#   archive   the .tar.gz in an empty folder: any Linux, such as Alpine
#   image     the container image, unpacked by umoci, as its user
#   aarch64   the programs of the other processor, under qemu-user
#   windows   fanfare.exe under Wine, to itself and from and to Linux; only when named
# FANFARE_AARCH64: a folder with the programs for aarch64, where OUT has none.
# FANFARE_EXE: that program; by default what 'cargo build --target x86_64-pc-windows-gnu -p fanfare-cli' makes.
# FANFARE_ROOTS: a folder that keeps the fresh systems for the next time (debian, ubuntu).
# A check that lacks a tool is skipped, says so, and does not count as passed.
set -euo pipefail
export BOTH= SENDER=
out=$(cd "$1" && pwd)
shift
checks=("${@:-debian}")
[ $# -gt 0 ] || checks=(debian ubuntu rpm archive image aarch64)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
skipped=0

fail() { echo "FAILED   $1: $2"; failed=$((failed + 1)); }
skip() { echo "skipped  $1: $2"; skipped=$((skipped + 1)); }

# Sends a file of 5 MB from one process to another, on a loopback of their own.
#   job ROOT COMMAND…: COMMAND runs the program 'fanfare', which sees ROOT/job as /job
#   job / COMMAND…:    the same without another root: it sees the folder itself
# BOTH, SENDER: options for both in place of a multicast group on loopback, and for the sender.
job() {
  local root=$1
  shift
  local folder=${root%/}/job seen=/job
  if [ "$root" = / ]; then folder=$work/job seen=$work/job; fi
  rm -rf "$folder"
  mkdir -p "$folder/out"
  head -c 5000000 /dev/urandom > "$folder/file"
  chmod -R a+rwX "$folder"
  # shellcheck disable=SC2016
  unshare --net sh -c '
    folder=$1 seen=$2
    shift 2
    ip link set lo up
    export HOME=$seen
    "$@" recv "$seen/out" --once ${BOTH:---interface lo} --timeout 60s > "$folder/recv.log" 2>&1 &
    receiver=$!
    "$@" send "$seen/file" --expect 1 ${BOTH:---interface lo} $SENDER --wait 60s > "$folder/send.log" 2>&1
    sent=$?
    wait $receiver && [ $sent = 0 ]' job "$folder" "$seen" "$@" || {
    sed 's/^/    /' "$folder/send.log" "$folder/recv.log" >&2
    return 1
  }
  cmp "$folder/file" "$folder/out/file" || return 1
  rm -rf "$folder"
}

names() { find "$1" -xdev -printf '%P\n' | LC_ALL=C sort; }

# Says how a check ended: with a program of this version, and nothing left.
tell() {
  local check=$1 version=$2 before=$3 after=$4 left
  left=$(LC_ALL=C comm -13 "$before" "$after")
  if [ -z "$left" ]; then
    echo "ok       $check: $version; sent 5 MB; nothing is left"
  else
    fail "$check" "left behind: $(echo "$left" | tr '\n' ' ')"
  fi
}

# A fresh system of one of debootstrap's suites.
fresh() {
  local name=$1 suite=$2 kept=${FANFARE_ROOTS:-$work/roots}
  if [ ! -e "$kept/$name/bin/sh" ]; then
    mkdir -p "$kept"
    debootstrap --variant=minbase --no-check-gpg "$suite" "$kept/$name" > "$work/$name.log" 2>&1 || {
      tail -3 "$work/$name.log" >&2
      rm -rf "${kept:?}/$name"
      return 1
    }
  fi
  rm -rf "$work/root"
  cp -a "$kept/$name" "$work/root"
}

by_dpkg() {
  local check=$1 suite=$2 root=$work/root package
  package=$(echo "$out"/fanfare_*_amd64.deb)
  if ! command -v debootstrap > /dev/null; then skip "$check" "apt-get install debootstrap"; return; fi
  if ! fresh "$check" "$suite"; then skip "$check" "its packages cannot be had"; return; fi
  cp "$package" "$root/package.deb"
  # dpkg makes copies of its own lists when it first does something.
  touch "$root/var/lib/dpkg/status-old" "$root/var/lib/dpkg/diversions-old" "$root/var/log/dpkg.log"
  names "$root" > "$work/before"
  chroot "$root" dpkg -i /package.deb > "$work/log" 2>&1 || { cat "$work/log"; fail "$check" "dpkg -i"; return; }
  local version
  version=$(chroot "$root" fanfare --version) || { fail "$check" "it does not start"; return; }
  job "$root" chroot "$root" fanfare || { fail "$check" "send or recv"; return; }
  # A systemd that writes down what it is told: units are stopped before their programs go.
  mkdir -p "$root/run/systemd/system"
  printf '#!/bin/sh\necho "$@" >> /told\n' > "$root/usr/bin/systemctl"
  chmod 755 "$root/usr/bin/systemctl"
  chroot "$root" dpkg --purge fanfare > "$work/log" 2>&1 || { cat "$work/log"; fail "$check" "purge"; return; }
  grep -q 'disable --now.*fanfare-recv.service' "$root/told" || { fail "$check" "units go on"; return; }
  grep -q daemon-reload "$root/told" || { fail "$check" "systemd is not told"; return; }
  rm -r "$root/told" "$root/usr/bin/systemctl" "$root/run/systemd"
  names "$root" > "$work/after"
  tell "$check ($suite)" "$version" "$work/before" "$work/after"
}

by_rpm() {
  local root=$work/root package version
  if ! command -v rpm > /dev/null; then skip rpm "apt-get install rpm"; return; fi
  package=$(echo "$out"/fanfare-*.x86_64.rpm)
  rm -rf "$root"
  mkdir -p "$root"
  rpm --root "$root" --initdb
  # The folders that a system has, and rpm's own lists, filled once.
  mkdir -p "$root"/{etc,usr/{bin,lib/systemd/system,share/{doc,man/man1,zsh/site-functions}}} \
    "$root/usr/share/bash-completion/completions"
  rpm --root "$root" -qa
  names "$root" > "$work/before"
  rpm --root "$root" -i "$package" || { fail rpm "rpm -i"; return; }
  version=$(chroot "$root" /usr/bin/fanfare --version) || { fail rpm "it does not start"; return; }
  job "$root" chroot "$root" /usr/bin/fanfare || { fail rpm "send or recv"; return; }
  rpm --root "$root" -e fanfare || { fail rpm "rpm -e"; return; }
  # Locks and journals of rpm's lists come and go.
  names "$root" | grep -v '^var/lib/rpm/' > "$work/after" || true
  tell rpm "$version" "$work/before" "$work/after"
}

by_archive() {
  local root=$work/root package version
  package=$(echo "$out"/fanfare-*-x86_64-linux.tar.gz)
  rm -rf "$root"
  mkdir -p "$root"
  names "$root" > "$work/before"
  tar -C "$root" -xzf "$package"
  version=$(chroot "$root" /usr/bin/fanfare --version) || { fail archive "it does not start"; return; }
  job "$root" chroot "$root" /usr/bin/fanfare || { fail archive "send or recv"; return; }
  tar -tzf "$package" | grep -v '/$' | (cd "$root" && xargs rm)
  find "$root" -mindepth 1 -depth -type d -empty -delete
  names "$root" > "$work/after"
  tell archive "$version" "$work/before" "$work/after"
}

of_image() {
  local root=$work/bundle/rootfs version image
  if ! command -v umoci > /dev/null; then skip image "apt-get install umoci"; return; fi
  image=$(echo "$out"/fanfare-*-amd64-image.tar)
  rm -rf "$work/layout" "$work/bundle"
  mkdir "$work/layout"
  tar -C "$work/layout" -xf "$image"
  umoci unpack --image "$work/layout:$(basename "$image" | cut -d- -f2)" "$work/bundle" > /dev/null 2>&1 ||
    { fail image "umoci unpack"; return; }
  # Every folder above is to be reached by that user.
  chmod 711 "$work" "$work/bundle"
  names "$root" > "$work/before"
  local user="chroot --userspec=65532:65532 $root /usr/bin/fanfare"
  # shellcheck disable=SC2086
  version=$($user --version) || { fail image "it does not start"; return; }
  # shellcheck disable=SC2086
  job "$root" $user || { fail image "send or recv"; return; }
  names "$root" > "$work/after"
  tell "image ($(stat -c %s "$image") bytes packed, $(du -sb "$root" | cut -f1) unpacked, user 65532)" \
    "$version" "$work/before" "$work/after"
}

of_aarch64() {
  local root=$work/root qemu version
  qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64) ||
    { skip aarch64 "apt-get install qemu-user-static"; return; }
  rm -rf "$root"
  if [ -n "${FANFARE_AARCH64:-}" ]; then
    mkdir -p "$root/usr/bin"
    cp "$FANFARE_AARCH64/fanfare" "$root/usr/bin/"
  elif [ -e "$(echo "$out"/fanfare_*_arm64.deb)" ]; then
    dpkg-deb -x "$out"/fanfare_*_arm64.deb "$root"
  else
    skip aarch64 "not in $out"
    return
  fi
  version=$("$qemu" "$root/usr/bin/fanfare" --version) || { fail aarch64 "it does not start"; return; }
  # qemu-user 7.2 can neither join groups nor cut what is sent into segments.
  BOTH="--group 127.0.0.1:6003 --unicast" SENDER=--no-gso job / "$qemu" "$root/usr/bin/fanfare" || { fail aarch64 "send or recv"; return; }
  for command in relay proxy; do
    "$qemu" "$root/usr/bin/fanfare" "$command" --help > /dev/null || { fail aarch64 "$command"; return; }
  done
  echo "ok       aarch64 ($("$qemu" --version | head -1 | cut -d' ' -f1-3)): $version; sent 5 MB"
}

# Wine 8 gives programs no IPv4 socket that tells where a datagram was sent to: the group is one of IPv6.
of_windows() {
  local exe=${FANFARE_EXE:-target/x86_64-pc-windows-gnu/debug/fanfare.exe} version linux pair
  if ! command -v wine > /dev/null; then skip windows "apt-get install wine wine64"; return; fi
  [ -e "$exe" ] || { skip windows "$exe is not there"; return; }
  cp "$exe" "$work/fanfare.exe"
  # Wine 8 lacks one library, which has one function.
  cat > "$work/random.c" <<'C'
#include <windows.h>
#include <ntsecapi.h>
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T bytes) {
  return RtlGenRandom(data, (ULONG)bytes);
}
C
  x86_64-w64-mingw32-gcc -shared -O1 -o "$work/bcryptprimitives.dll" "$work/random.c" -ladvapi32 ||
    { skip windows "apt-get install gcc-mingw-w64-x86-64"; return; }
  linux=$work/linux
  mkdir -p "$linux"
  tar -C "$linux" -xzf "$out"/fanfare-*-x86_64-linux.tar.gz
  linux=$linux/usr/bin/fanfare
  export WINEPREFIX=$work/wine WINEDEBUG=-all WINEARCH=win64
  wine wineboot -i > /dev/null 2>&1 || { fail windows "wineboot"; return; }
  version=$(wine "$work/fanfare.exe" --version | tr -d '\r')
  # Its server sees the interfaces of where it was started.
  wineserver -k || true
  for pair in "wine:wine" "wine:linux" "linux:wine"; do
    local send="$linux" receive="$linux"
    if [ "${pair%:*}" = wine ]; then send="wine $work/fanfare.exe"; fi
    if [ "${pair#*:}" = wine ]; then receive="wine $work/fanfare.exe"; fi
    # shellcheck disable=SC2016
    unshare --net sh -c '
      ip link set lo up
      ip link add one type veth peer name two
      ip link set one up
      ip link set two up
      ip address add fd00::1/64 dev one nodad
      mkdir -p "$1/out"
      cd "$1"
      export HOME=$1
      where="--group [ff15::4242]:6003 --interface fd00::1"
      head -c 5000000 /dev/urandom > file
      $3 recv out --once --timeout 60s $where > log 2>&1 &
      receiver=$!
      for second in $(seq 60); do grep -q receiving log && break; sleep 1; done
      $2 send file --expect 1 --wait 60s $where >> log 2>&1
      sent=$?
      wait $receiver && [ $sent = 0 ] && cmp file out/file' pair "$work/${pair/:/-}" "$send" "$receive" ||
      { wineserver -k; cat "$work/${pair/:/-}/log" >&2; fail windows "$pair"; return; }
    wineserver -k || true
  done
  echo "ok       windows ($(wine --version 2> /dev/null)): $version; sent 5 MB under Wine, to Linux and from it"
}

for check in "${checks[@]}"; do
  case $check in
    debian) by_dpkg debian bookworm ;;
    ubuntu) by_dpkg ubuntu jammy ;;
    rpm) by_rpm ;;
    archive) by_archive ;;
    image) of_image ;;
    aarch64) of_aarch64 ;;
    windows) of_windows ;;
    *) echo "error: check '$check': there is none of this name" >&2; exit 2 ;;
  esac
done
echo "$failed failed, $skipped skipped, of ${#checks[@]}"
[ "$failed" = 0 ]
