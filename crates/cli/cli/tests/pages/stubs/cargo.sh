#!/bin/sh
# Cargo, for what pages ask of it. Programs are not compiled again: those that were built for the tests
# are put where cargo would put them.
set -e
verb=$1
shift
case "$verb" in
install)
    while test $# -gt 0; do
        test "$1" = --path && crate=$2
        shift
    done
    test -f "$crate/Cargo.toml"
    for program in $(sed -n 's/^name = "\(fanfare\(-[a-z]*\)\{0,1\}\)"$/\1/p' "$crate/Cargo.toml"); do
        case "$program" in *-cli) continue ;; esac
        rm -f "$HOME/.cargo/bin/$program"
        cp "$PROGRAMS/$program" "$HOME/.cargo/bin/$program"
    done
    ;;
run)
    while test "$1" != --; do
        test "$1" = -p && package=$2
        shift
    done
    shift
    test "$package" = fanfare-cli
    exec fanfare "$@"
    ;;
*)
    echo "cargo $verb: pages are not tested with it" >&2
    exit 99
    ;;
esac
