#!/bin/sh
# Installs libfanfare, its header, and its files for pkg-config and CMake.
#
#     cargo build --release -p fanfare-c
#     crates/api/c/install.sh target/release /usr/local
set -eu
if [ $# -ne 2 ]; then
    echo "usage: install.sh FOLDER-OF-THE-BUILD PREFIX" >&2
    exit 2
fi
here=$(dirname "$0") built=$1 prefix=$2
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$here/../../../Cargo.toml" | head -n 1)

install -d "$prefix/include" "$prefix/lib/pkgconfig" "$prefix/lib/cmake/fanfare"
install -m 644 "$here/include/fanfare.h" "$prefix/include/fanfare.h"
install -m 755 "$built/libfanfare_c.so" "$prefix/lib/libfanfare.so.0"
ln -sf libfanfare.so.0 "$prefix/lib/libfanfare.so"
if [ -e "$built/libfanfare_c.a" ]; then
    install -m 644 "$built/libfanfare_c.a" "$prefix/lib/libfanfare.a"
fi
for file in fanfare.pc:pkgconfig fanfareConfig.cmake:cmake/fanfare \
    fanfareConfigVersion.cmake:cmake/fanfare; do
    name=${file%%:*}
    sed "s|@PREFIX@|$prefix|; s|@VERSION@|$version|" "$here/installed/$name.in" \
        > "$prefix/lib/${file#*:}/$name"
done
