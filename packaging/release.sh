#!/usr/bin/env bash
# Makes what is released, from a clean tree, into one folder:
#   packaging/release.sh OUT [TARGET…]
# TARGET: x86_64-unknown-linux-musl (default), aarch64-unknown-linux-musl. Each needs 'rustup target add'
# and a C compiler for musl: musl-gcc for this machine's processor (musl-tools), cargo-zigbuild with zig
# for another one. Set FANFARE_CARGO="cargo zigbuild" to have zig for all.
#
# The same tree gives the same bytes on the same toolchain, wherever it lies: paths are left out, and
# times are those of the last commit. Run it in two folders and compare SHA256SUMS.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mkdir -p "$1" && cd "$1" && pwd)
shift
targets=("${@:-x86_64-unknown-linux-musl}")
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
# Links to the program, for scripts that call what were programs of their own.
links=(fanfare-relay fanfare-proxy)
# fanfare-sensor.service is not among them: it needs the user of a monitor, which no package makes.
units=(fanfare-node.service fanfare-proxy.service fanfare-recv.service fanfare-relay.service)
# The folders of this tree, of what is built and of cargo's sources are not to be in the programs, nor
# what the caller has set for other builds.
built=${CARGO_TARGET_DIR:-$PWD/target}
cargo_home=${CARGO_HOME:-$HOME/.cargo}
export RUSTFLAGS="--remap-path-prefix=$PWD=/fanfare --remap-path-prefix=$built=/target \
--remap-path-prefix=$cargo_home=/cargo"
export CFLAGS="-ffile-prefix-map=$PWD=/fanfare -ffile-prefix-map=$built=/target \
-ffile-prefix-map=$cargo_home=/cargo"
unset CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_RUSTFLAGS
# Optimised across crates: 6 % smaller, for some minutes more, which nobody waits for who only builds.
export CARGO_PROFILE_RELEASE_LTO=fat
# xz packs differently with several threads.
export DPKG_DEB_THREADS_MAX=1

# A tar archive that depends on content alone.
pack() {
  local name=$1 folder=$2
  tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
    --format=ustar -C "$folder" -c . | gzip -9n > "$out/$name"
}

# The folders of an installed system, below $2.
tree() {
  local bin=$1 root=$2
  install -d "$root/usr/bin" "$root/usr/lib/systemd/system" "$root/etc/fanfare" \
    "$root/usr/share/man/man1" "$root/usr/share/doc/fanfare" \
    "$root/usr/share/bash-completion/completions" "$root/usr/share/zsh/site-functions"
  install -m 755 "$bin/fanfare" "$root/usr/bin/"
  for link in "${links[@]}"; do ln -s fanfare "$root/usr/bin/$link"; done
  for unit in "${units[@]}"; do
    install -m 644 "packaging/$unit" "$root/usr/lib/systemd/system/"
  done
  install -m 644 packaging/fanfare.toml packaging/node.toml "$root/etc/fanfare/"
  install -m 644 LICENSE-MIT LICENSE-APACHE CHANGELOG.md "$root/usr/share/doc/fanfare/"
  # Pages and completions come from the program; one of another processor cannot be run here.
  local own=$3
  "$own/fanfare" man --dir "$root/usr/share/man/man1" > /dev/null
  "$own/fanfare" completions bash > "$root/usr/share/bash-completion/completions/fanfare"
  "$own/fanfare" completions zsh > "$root/usr/share/zsh/site-functions/_fanfare"
  find "$root/usr/share/man" -name '*.1' -exec gzip -9n {} +
}

# A Debian package of such folders.
debian() {
  local architecture=$1 root=$2
  install -d "$root/DEBIAN" "$root/usr/share/zsh/vendor-completions"
  mv "$root/usr/share/zsh/site-functions/_fanfare" "$root/usr/share/zsh/vendor-completions/"
  rmdir "$root/usr/share/zsh/site-functions"
  printf '/etc/fanfare/fanfare.toml\n/etc/fanfare/node.toml\n' > "$root/DEBIAN/conffiles"
  cat > "$root/DEBIAN/control" <<CONTROL
Package: fanfare
Version: $version
Architecture: $architecture
Maintainer: The Fanfare authors <fanfare@example.invalid>
Section: net
Priority: optional
Installed-Size: $(find "$root/usr" "$root/etc" -type f -printf '%s\n' | awk '{ all += $1 } END { print int(all / 1024) + 1 }')
Description: Send files and messages to many machines at once
 Each packet is sent once and reaches all receivers (multicast), or goes to each
 of them (unicast). Receivers request what they lost. The sender lists who has
 every byte.
CONTROL
  # Where systemd runs, units are stopped before their programs go. Nothing is started unasked.
  cat > "$root/DEBIAN/prerm" <<PRERM
#!/bin/sh
set -e
if [ "\$1" = remove ] && [ -d /run/systemd/system ]; then
  systemctl --no-reload disable --now --quiet ${units[*]} || true
fi
PRERM
  # After an upgrade those that run are started again: a receiver resumes what it has not finished.
  cat > "$root/DEBIAN/postinst" <<POSTINST
#!/bin/sh
set -e
if [ "\$1" = configure ] && [ -d /run/systemd/system ]; then
  systemctl daemon-reload || true
  if [ -n "\$2" ]; then systemctl try-restart ${units[*]} || true; fi
fi
POSTINST
  cat > "$root/DEBIAN/postrm" <<POSTRM
#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi
POSTRM
  chmod 755 "$root/DEBIAN/prerm" "$root/DEBIAN/postinst" "$root/DEBIAN/postrm"
  find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
  dpkg-deb --root-owner-group -Zxz -b "$root" "$out/fanfare_${version}_${architecture}.deb" > /dev/null
}

# An RPM of the same folders, of static programs: it needs no packages.
rpm_package() {
  local architecture=$1 root=$2 top
  top=$(mktemp -d)
  cat > "$top/fanfare.spec" <<SPEC
Name: fanfare
Version: $version
Release: 1
Summary: Send files and messages to many machines at once
License: MIT OR Apache-2.0
URL: https://example.invalid/fanfare
AutoReqProv: no
%description
Each packet is sent once and reaches all receivers (multicast), or goes to each
of them (unicast). Receivers request what they lost. The sender lists who has
every byte.
%preun -p <lua>
-- In Lua, so that no shell is needed. Where systemd runs, units are stopped before their programs go.
if tonumber(arg[2]) == 0 and posix.stat("/run/systemd/system") then
  os.execute("systemctl --no-reload disable --now --quiet ${units[*]}")
end
%install
cp -a "$root/." %{buildroot}/
%files
%config(noreplace) /etc/fanfare/fanfare.toml
%config(noreplace) /etc/fanfare/node.toml
%dir /etc/fanfare
%dir /usr/share/doc/fanfare
SPEC
  # All other files, and none of the folders that other packages have, too.
  (cd "$root" && find . \( -type f -o -type l \) ! -path './etc/*' ! -path './DEBIAN/*' -printf '/%P\n' |
    LC_ALL=C sort) >> "$top/fanfare.spec"
  rpmbuild --quiet -bb --target "$architecture" --define "_topdir $top" \
    --define "_buildhost reproducible" --define "use_source_date_epoch_as_buildtime 1" \
    --define "clamp_mtime_to_source_date_epoch 1" --define "_build_id_links none" \
    --define "__os_install_post %{nil}" --define "_binary_payload w9.gzdio" "$top/fanfare.spec"
  mv "$top"/RPMS/*/*.rpm "$out/"
  rm -rf "$top"
}

first=
for target in "${targets[@]}"; do
  builder=${FANFARE_CARGO:-cargo build}
  if [ -z "${FANFARE_CARGO:-}" ] && [ "${target%%-*}" != "$(uname -m)" ]; then builder="cargo zigbuild"; fi
  # shellcheck disable=SC2086
  $builder --release --locked --target "$target" -p fanfare-cli
  bin=$built/$target/release
  if "$bin/fanfare" --version > /dev/null 2>&1; then first=$bin; fi
  [ -n "$first" ] || { echo "error: targets (${targets[*]}): name one first that runs here" >&2; exit 1; }
  work=$(mktemp -d)
  tree "$bin" "$work" "$first"
  pack "fanfare-$version-${target%%-*}-linux.tar.gz" "$work"
  case $target in
    x86_64-*) architecture=amd64 ;;
    aarch64-*) architecture=arm64 ;;
    *) architecture= ;;
  esac
  if [ -n "$architecture" ] && command -v rpmbuild > /dev/null; then
    rpm_package "${target%%-*}" "$work"
  fi
  if [ -n "$architecture" ] && command -v dpkg-deb > /dev/null; then debian "$architecture" "$work"; fi
  if [ -n "$architecture" ]; then
    packaging/container/image.py "$bin" "$architecture" "$version" \
      "$out/fanfare-$version-$architecture-image.tar"
  fi
  rm -rf "$work"
done

git archive --format=tar --prefix="fanfare-$version/" HEAD | gzip -9n > "$out/fanfare-$version-source.tar.gz"
python3 packaging/sbom.py Cargo.lock "$version" > "$out/fanfare-$version.cdx.json"
(cd "$out" && find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%f\n' | LC_ALL=C sort |
  xargs sha256sum > SHA256SUMS && cat SHA256SUMS)
