//! What is not Linux: the program and the library compile for Windows and macOS, without warnings.

use crate::step::{self, Outcome};

/// The crates of the program and of the library; cargo adds those that they stand on.
const PROGRAMS: [&str; 3] = ["fanfare-cli", "fanfare", "fanfare-udp"];
/// Each with its C compiler, for the cryptography, and how to get that.
const TARGETS: [(&str, Compiler); 2] =
    [("x86_64-pc-windows-gnu", Compiler::Mingw), ("x86_64-apple-darwin", Compiler::Zig)];

/// What compiles C for another system.
#[derive(Debug, Clone, Copy)]
enum Compiler {
    Mingw,
    Zig,
}

impl Compiler {
    fn is_here(self) -> bool {
        match self {
            Self::Mingw => step::answers("x86_64-w64-mingw32-gcc", &["--version"]),
            Self::Zig => step::answers("cargo-zigbuild", &["--version"]),
        }
    }

    const fn advice(self) -> &'static str {
        match self {
            Self::Mingw => "apt-get install gcc-mingw-w64-x86-64",
            Self::Zig => "pip install cargo-zigbuild ziglang",
        }
    }

    /// What runs clippy with it.
    const fn cargo(self) -> &'static str {
        match self {
            Self::Mingw => "cargo",
            Self::Zig => "cargo-zigbuild",
        }
    }
}

/// Compiles and lints for both systems. Tests, benchmarks and examples are Linux's.
pub(crate) fn check() -> Outcome {
    let mut missing = Vec::new();
    for (target, compiler) in TARGETS {
        if !compiler.is_here() {
            missing.push(format!("{target} needs a C compiler: {}", compiler.advice()));
            continue;
        }
        if !installed(target) && !step::answers("rustup", &["target", "add", target]) {
            missing.push(format!("{target} cannot be had: rustup target add {target}"));
            continue;
        }
        let mut args = vec!["clippy", "--locked", "--target", target];
        for name in PROGRAMS {
            args.extend(["-p", name]);
        }
        args.extend(["--", "-D", "warnings"]);
        let outcome = step::run(compiler.cargo(), &args, &[]);
        if !matches!(outcome, Outcome::Passed) {
            return outcome;
        }
    }
    if missing.is_empty() { Outcome::Passed } else { Outcome::Skipped(missing.join("; ")) }
}

fn installed(target: &str) -> bool {
    step::output("rustc", &["--print", "target-libdir", "--target", target])
        .is_ok_and(|dir| std::path::Path::new(dir.trim()).exists())
}
