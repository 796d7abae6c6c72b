//! Proof that the core does no I/O: it builds where there is no operating system.

use crate::step::{self, Outcome};

const CORE: [&str; 5] =
    ["fanfare-wire", "fanfare-fec", "fanfare-congestion", "fanfare-proto", "fanfare-messaging"];
const TARGET: &str = "wasm32-unknown-unknown";

/// The core crates are `no_std` (so that clock, sockets, files and threads do not even exist for
/// them), and build for wasm32 where that target can be had.
pub(crate) fn check() -> Outcome {
    for name in CORE {
        let folder = name.trim_start_matches("fanfare-");
        let lib = format!("crates/core/{folder}/src/lib.rs");
        match std::fs::read_to_string(&lib) {
            Ok(text) if text.contains("no_std") => {}
            Ok(_) => return Outcome::Failed(format!("{lib} is not no_std")),
            Err(error) => return Outcome::Failed(format!("{lib}: {error}")),
        }
    }
    let mut build = vec!["check", "--locked", "--no-default-features"];
    for name in CORE {
        build.extend(["-p", name]);
    }
    let host = step::cargo(&build, &[]);
    if !matches!(host, Outcome::Passed) {
        return host;
    }
    if !installed() && !step::answers("rustup", &["target", "add", TARGET]) {
        eprintln!("{TARGET} cannot be had here: built without std for this machine only");
        return Outcome::Passed;
    }
    build.extend(["--target", TARGET]);
    step::cargo(&build, &[])
}

fn installed() -> bool {
    step::output("rustc", &["--print", "target-libdir", "--target", TARGET])
        .is_ok_and(|dir| std::path::Path::new(dir.trim()).exists())
}
