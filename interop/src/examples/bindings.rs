//! Bindings of NRL's library on our libnorm.so.1: pynorm, Java, and pyzmq by way of libzmq.
//!
//! Their sources are not here. pynorm and the Java binding come with the source package `norm` (Debian:
//! `apt-get source norm`), pyzmq with the package `python3-zmq`.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::lab::{Family, Host, Lab};
use crate::payload::Payload;
use crate::scratch::Scratch;
use crate::tool::{self, ToolError};
use crate::zeromq::{self, Skipped};

/// Names the unpacked source package.
const SOURCE: &str = "FANFARE_NORM_SOURCE";
/// Names Python packages where pyzmq is, if it is not installed.
const PYZMQ: &str = "FANFARE_PYZMQ";
const PYNORM_PEER: &str = include_str!("../../peer/pynorm_peer.py");
const PYZMQ_PEER: &str = include_str!("../../peer/pyzmq_peer.py");
/// Receivers are there when the sender begins.
const SETTLE: Duration = Duration::from_secs(2);
const LIMIT: Duration = Duration::from_secs(60);
/// The Java example sends at 64 kbit/s, and offers no other rate.
const FILE_BYTES: u64 = 60_000;

/// A binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// NRL's for Python.
    Pynorm,
    /// NRL's for Java.
    Java,
    /// `ZeroMQ`'s for Python.
    Pyzmq,
}

/// All of them.
pub const ALL: [Binding; 3] = [Binding::Pynorm, Binding::Java, Binding::Pyzmq];

impl Binding {
    /// As it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pynorm => "pynorm",
            Self::Java => "java",
            Self::Pyzmq => "pyzmq",
        }
    }
}

/// A folder with our library, and what is made for each binding.
#[derive(Debug)]
pub struct Programs {
    scratch: Scratch,
    ours: PathBuf,
}

impl Programs {
    /// Where our library is there.
    ///
    /// # Errors
    /// A full disk.
    pub fn find() -> Result<Result<Self, Skipped>, ToolError> {
        let scratch = Scratch::new()?;
        let Some(ours) = zeromq::private_folder(&scratch)? else {
            return Ok(Err(Skipped("no libnorm.so of ours: build fanfare-norm".into())));
        };
        let (link, beside) = (ours.join("libnorm.so"), "libnorm.so.1");
        std::os::unix::fs::symlink(beside, &link).map_err(tool::at(link.display()))?;
        Ok(Ok(Self { scratch, ours }))
    }

    /// Makes what a binding needs. What is missing is told.
    fn prepare(&self, binding: Binding) -> Result<Result<(), Skipped>, ToolError> {
        let folder = self.folder(binding);
        fs::create_dir_all(&folder).map_err(tool::at(folder.display()))?;
        let source = std::env::var_os(SOURCE).map(PathBuf::from);
        match (binding, source) {
            (Binding::Pyzmq, _) => {
                let imports = self.python(Binding::Pyzmq).args(["-c", "import zmq"]).status();
                match imports.is_ok_and(|status| status.success()) {
                    true => Ok(Ok(())),
                    false => Ok(Err(Skipped(format!("install python3-zmq, or set {PYZMQ}")))),
                }
            }
            (_, None) => Ok(Err(Skipped(format!("set {SOURCE} to the sources of norm")))),
            (Binding::Pynorm, Some(source)) => {
                let (from, to) = (source.join("src/pynorm"), folder.join("pynorm"));
                std::os::unix::fs::symlink(from, &to).map_err(tool::at(to.display()))?;
                Ok(Ok(()))
            }
            (Binding::Java, Some(source)) => compile_java(&source, &folder).map(Ok),
        }
    }

    fn folder(&self, binding: Binding) -> PathBuf {
        self.scratch.path().join(binding.name())
    }

    /// Debian's Python: pyzmq there is linked with the system's libzmq.
    fn python(&self, binding: Binding) -> Command {
        let mut command = Command::new("/usr/bin/python3");
        self.surround(&mut command, binding);
        command
    }

    fn surround(&self, command: &mut Command, binding: Binding) {
        let packages = std::env::var_os(PYZMQ).filter(|_| binding == Binding::Pyzmq);
        let packages = packages.unwrap_or_else(|| self.folder(binding).into_os_string());
        command.env("LD_LIBRARY_PATH", &self.ours).env("PYTHONPATH", packages);
        command.env("PYTHONDONTWRITEBYTECODE", "1").current_dir(self.scratch.path());
    }

    fn start(
        &self,
        host: &Host,
        (binding, sends): (Binding, bool),
        file: &Path,
    ) -> Result<Child, ToolError> {
        let (verb, class) = match sends {
            true => ("send", "NormFileSend"),
            false => ("recv", "NormFileRecv"),
        };
        let words: Vec<OsString> = match binding {
            Binding::Java => {
                let folder = self.folder(binding);
                let library = format!("-Djava.library.path={}", folder.display());
                let words = [library.into(), "-cp".into(), folder.into(), class.into()];
                words.into_iter().chain([file.into()]).collect()
            }
            Binding::Pynorm | Binding::Pyzmq => {
                let peer = if binding == Binding::Pynorm { PYNORM_PEER } else { PYZMQ_PEER };
                vec!["-c".into(), peer.into(), verb.into(), file.into()]
            }
        };
        let program = if binding == Binding::Java { "java" } else { "/usr/bin/python3" };
        let mut command = host.command(program);
        self.surround(&mut command, binding);
        let path = self.scratch.path().join(format!("{}.{verb}", binding.name()));
        let into = fs::File::create(&path).map_err(tool::at(path.display()))?;
        let errors = into.try_clone().map_err(tool::at(path.display()))?;
        command.args(words).stdin(Stdio::null()).stdout(into).stderr(errors);
        command.spawn().map_err(tool::at(program))
    }

    fn last_words(&self, binding: Binding, verb: &str) -> String {
        let path = self.scratch.path().join(format!("{}.{verb}", binding.name()));
        let said = fs::read_to_string(path).unwrap_or_default();
        said.lines().last().unwrap_or_default().to_owned()
    }
}

fn compile_java(source: &Path, folder: &Path) -> Result<(), ToolError> {
    let text = |path: PathBuf| path.display().to_string();
    let compiler = fs::canonicalize(tool::output("which", &["javac"])?.trim());
    let compiler = compiler.map_err(tool::at("javac"))?;
    let home = compiler.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
    let includes = [source.join("include"), home.join("include"), home.join("include/linux")];
    let includes = includes.map(|place| format!("-I{}", text(place)));
    let shared = text(folder.join("libmil_navy_nrl_norm.so"));
    let sources = found(&source.join("src/java/jni"), "cpp")?;
    let mut words = vec!["-w", "-shared", "-fPIC", "-DUNIX", "-o", &shared];
    words.extend(includes.iter().chain(&sources).map(String::as_str));
    words.push("-lnorm");
    tool::output("c++", &words)?;
    let mut sources = found(&source.join("src/java/src"), "java")?;
    for class in ["NormFileSend", "NormFileRecv"] {
        sources.push(text(source.join("examples/java").join(format!("{class}.java"))));
    }
    let folder = text(folder.to_owned());
    let mut words = vec!["-nowarn", "-encoding", "UTF-8", "-d", &folder];
    words.extend(sources.iter().map(String::as_str));
    tool::output("javac", &words).map(drop)
}

/// Files of a kind below a folder.
fn found(folder: &Path, extension: &str) -> Result<Vec<String>, ToolError> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).map_err(tool::at(folder.display()))?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            all.extend(found(&path, extension)?);
        } else if path.extension().is_some_and(|found| found == extension) {
            all.push(path.display().to_string());
        }
    }
    Ok(all)
}

/// Runs a file from one program to the other. What is wrong comes back in words; `Skipped`: what it needs
/// is not here.
///
/// # Errors
/// No root, a compiler that fails, Ctrl-C.
pub fn run(
    binding: Binding,
    programs: &Programs,
) -> Result<Result<Result<(), String>, Skipped>, ToolError> {
    if let Err(skipped) = programs.prepare(binding)? {
        return Ok(Err(skipped));
    }
    let lab = Lab::new(2, Family::V4)?;
    let [sender, receiver] = lab.hosts() else {
        return Ok(Ok(Err("the laboratory has no hosts".into())));
    };
    let name = format!("{}-out", binding.name());
    let sent = Payload::make(programs.scratch.path(), &name, FILE_BYTES)?;
    let content = fs::read(&sent.path).map_err(tool::at(sent.path.display()))?;
    let inbox = programs.scratch.path().join(format!("{}-in", binding.name()));
    fs::create_dir_all(&inbox).map_err(tool::at(inbox.display()))?;
    let receives = programs.start(receiver, (binding, false), &inbox)?;
    std::thread::sleep(SETTLE);
    let sends = programs.start(sender, (binding, true), &sent.path)?;
    let began = Instant::now();
    let came = loop {
        let files = fs::read_dir(&inbox).map_err(tool::at(inbox.display()))?.flatten();
        let same = |path: PathBuf| fs::read(path).is_ok_and(|found| found == content);
        if files.map(|file| file.path()).any(same) {
            break true;
        }
        if began.elapsed() > LIMIT || tool::interrupted() {
            break false;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    for mut child in [sends, receives] {
        let _ = child.kill();
        child.wait().map_err(tool::at("a program"))?;
    }
    let said = ["send", "recv"].map(|verb| programs.last_words(binding, verb));
    Ok(Ok(if came { Ok(()) } else { Err(format!("the file did not come: {said:?}")) }))
}
