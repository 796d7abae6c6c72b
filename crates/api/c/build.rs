//! Programs look for `libfanfare.so.0`: the shared object says that it is that.

#![allow(clippy::print_stderr, clippy::print_stdout)]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libfanfare.so.0");
    }
}
