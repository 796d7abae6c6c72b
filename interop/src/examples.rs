//! NRL's own example programs, compiled against their unchanged header, on our libnorm.so.1.
//!
//! Their sources are not here. They come with the source package `norm` (Debian: `apt-get source norm`),
//! and need the headers of protolib.

pub mod bindings;
pub mod norp;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::lab::{Family, Host, Lab};
use crate::payload::Payload;
use crate::scratch::Scratch;
use crate::tool::{self, ToolError};
use crate::zeromq::{self, Skipped};

/// Names the unpacked source package: it has `examples` and `include`.
const SOURCE: &str = "FANFARE_NORM_SOURCE";
/// Names the unpacked sources of protolib: they have `include`.
const PROTOLIB: &str = "FANFARE_PROTOLIB";
const GROUP: &str = "224.1.2.3/6010";
/// Receivers are there when the sender begins.
const SETTLE: Duration = Duration::from_millis(700);
const LIMIT: Duration = Duration::from_secs(40);

/// Two of them that belong together.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// What is run.
    pub name: &'static str,
    sender: &'static str,
    receiver: &'static str,
    kind: Kind,
}

/// What goes from one to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Messages on standard input and output, each behind its length.
    Messages,
    /// Files into a folder.
    Files,
    /// One file, by programs without options.
    File,
    /// Whatever the programs make up; the receiver says this when it has all of it.
    Own(&'static str),
}

/// All of them.
pub const ALL: [Example; 6] = [
    Example {
        name: "normStreamer",
        sender: "normStreamer",
        receiver: "normStreamer",
        kind: Kind::Messages,
    },
    Example { name: "normMsgr", sender: "normMsgr", receiver: "normMsgr", kind: Kind::Messages },
    Example { name: "normCast", sender: "normCast", receiver: "normCast", kind: Kind::Files },
    Example {
        name: "normFile",
        sender: "normFileSend",
        receiver: "normFileRecv",
        kind: Kind::File,
    },
    Example {
        name: "normData",
        sender: "normDataSend",
        receiver: "normDataRecv",
        kind: Kind::Own("transfer duration"),
    },
    Example {
        name: "normStream",
        sender: "normStreamSend",
        receiver: "normStreamRecv",
        kind: Kind::Own("current stream completed"),
    },
];

/// What is needed for them.
#[derive(Debug)]
pub struct Programs {
    scratch: Scratch,
    ours: PathBuf,
}

impl Programs {
    /// Compiles all of them, where their sources and our library are there.
    ///
    /// # Errors
    /// When compiling fails.
    pub fn build() -> Result<Result<Self, Skipped>, ToolError> {
        let named = |variable: &str| std::env::var_os(variable).map(PathBuf::from);
        let (Some(source), Some(protolib)) = (named(SOURCE), named(PROTOLIB)) else {
            let what = format!("set {SOURCE} to the sources of norm, and {PROTOLIB} to protolib's");
            return Ok(Err(Skipped(what)));
        };
        let scratch = Scratch::new()?;
        let Some(ours) = zeromq::private_folder(&scratch)? else {
            return Ok(Err(Skipped("no libnorm.so of ours: build fanfare-norm".into())));
        };
        for example in ALL {
            for program in [example.sender, example.receiver] {
                compile(&scratch.path().join(program), program, (&source, &protolib))?;
            }
        }
        Ok(Ok(Self { scratch, ours }))
    }

    fn command(&self, host: &Host, program: &str) -> Command {
        let mut command = host.command(self.scratch.path().join(program));
        command.env("LD_LIBRARY_PATH", &self.ours).current_dir(self.scratch.path());
        command
    }

    fn output(&self, example: Example, end: &str) -> Result<File, ToolError> {
        let path = self.said(example, end);
        File::create(&path).map_err(tool::at(path.display()))
    }

    fn said(&self, example: Example, end: &str) -> PathBuf {
        self.scratch.path().join(format!("{}.{end}", example.name))
    }
}

fn compile(out: &Path, program: &str, (source, protolib): (&Path, &Path)) -> Result<(), ToolError> {
    if out.exists() {
        return Ok(());
    }
    let text = |path: PathBuf| path.display().to_string();
    let file = text(source.join("examples").join(format!("{program}.cpp")));
    let includes = [source, protolib].map(|root| format!("-I{}", text(root.join("include"))));
    let out = out.display().to_string();
    let words = ["-w", "-DUNIX", "-DLINUX", "-D_FILE_OFFSET_BITS=64", &includes[0], &includes[1]];
    let rest = ["-o", &out, &file, "-lnorm", "-lprotokit"];
    tool::output("c++", &[&words[..], &rest].concat()).map(drop)
}

/// Runs one. What is wrong comes back in words.
///
/// # Errors
/// No root, a full disk, Ctrl-C.
pub fn run(example: Example, programs: &Programs) -> Result<Result<(), String>, ToolError> {
    let lab = Lab::new(2, Family::V4)?;
    let [sender_host, receiver_host] = lab.hosts() else {
        return Ok(Err("the laboratory has no hosts".into()));
    };
    let input = input(example, programs)?;
    let folder = programs.scratch.path().join(format!("{}-in", example.name));
    fs::create_dir_all(&folder).map_err(tool::at(folder.display()))?;
    let mut receiver = programs.command(receiver_host, example.receiver);
    match example.kind {
        Kind::Messages => with_options(&mut receiver, "2", &["recv"]),
        Kind::Files => with_options(&mut receiver, "2", &["recv", &folder.display().to_string()]),
        Kind::File => drop(receiver.arg(&folder)),
        Kind::Own(_) => {}
    }
    let mut receiver = spawn(receiver, Stdio::null(), programs, example, "receiver")?;
    std::thread::sleep(SETTLE);
    let mut sender = programs.command(sender_host, example.sender);
    match example.kind {
        Kind::Messages => with_options(&mut sender, "1", &["send", "flush", "active"]),
        Kind::Files => with_options(&mut sender, "1", &["send", &input.path.display().to_string()]),
        Kind::File => drop(sender.arg(&input.path)),
        Kind::Own(_) => {}
    }
    if matches!(example.kind, Kind::Messages | Kind::Files) {
        sender.args(["rate", "20000000", "ack", "2"]);
    }
    let from = match example.kind {
        Kind::Messages => File::open(&input.path).map_err(tool::at(input.path.display()))?.into(),
        _ => Stdio::null(),
    };
    let mut sender = spawn(sender, from, programs, example, "sender")?;
    let outcome = watch(example, programs, (&input.path, &folder))?;
    for child in [&mut sender, &mut receiver] {
        let _ = child.kill();
        child.wait().map_err(tool::at("a program"))?;
    }
    Ok(outcome)
}

fn with_options(command: &mut Command, id: &str, words: &[&str]) {
    command.args(["id", id]).args(words).args(["addr", GROUP, "interface", "eth0"]);
}

fn spawn(
    mut command: Command,
    input: Stdio,
    programs: &Programs,
    example: Example,
    end: &str,
) -> Result<Child, ToolError> {
    let (out, err) =
        (programs.output(example, end)?, programs.output(example, &format!("{end}.err"))?);
    command.stdin(input).stdout(out).stderr(err).spawn().map_err(tool::at(end))
}

/// Waits until all of it has come.
fn watch(
    example: Example,
    programs: &Programs,
    (input, folder): (&Path, &Path),
) -> Result<Result<(), String>, ToolError> {
    let began = Instant::now();
    let said = || {
        let both = ["receiver", "receiver.err"].map(|end| fs::read(programs.said(example, end)));
        both.map(Result::unwrap_or_default)
    };
    loop {
        let sent = fs::read(input).map_err(tool::at(input.display()))?;
        let here = match example.kind {
            Kind::Messages => said()[0] == sent,
            Kind::Files | Kind::File => has_copy(folder, &sent),
            Kind::Own(word) => said().iter().any(|s| String::from_utf8_lossy(s).contains(word)),
        };
        if here {
            return Ok(Ok(()));
        }
        if began.elapsed() > LIMIT || tool::interrupted() {
            let [out, err] = said();
            let (bytes, last) = (out.len(), String::from_utf8_lossy(&err).into_owned());
            let last = last.lines().last().unwrap_or_default().to_owned();
            return Ok(Err(format!("{bytes} bytes of output, and {last:?}")));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn has_copy(folder: &Path, sent: &[u8]) -> bool {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files.into_iter().any(|file| fs::read(file.path()).is_ok_and(|content| content == sent))
}

/// A file; of messages each behind its length in two bytes, which counts itself.
fn input(example: Example, programs: &Programs) -> Result<Payload, ToolError> {
    let payload =
        Payload::make(programs.scratch.path(), &format!("{}-out", example.name), 300_000)?;
    if example.kind == Kind::Messages {
        let content = fs::read(&payload.path).map_err(tool::at(payload.path.display()))?;
        let mut framed = Vec::new();
        for (number, message) in content.chunks(200).enumerate() {
            let message = &message[..1 + number % message.len()];
            framed.extend_from_slice(&(message.len() as u16 + 2).to_be_bytes());
            framed.extend_from_slice(message);
        }
        fs::write(&payload.path, framed).map_err(tool::at(payload.path.display()))?;
    }
    Ok(payload)
}
