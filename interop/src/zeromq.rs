//! ZeroMQ over `norm://`: Debian's libzmq with our libnorm.so.1 on one side or on both.

use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::impair::{self, Loss};
use crate::lab::{Family, Host, Lab};
use crate::report::Head;
use crate::scratch::Scratch;
use crate::tool::{self, ToolError};

const SOURCE: &str = include_str!("../peer/zmq_peer.c");
/// Names another folder than the system's with `include` and `lib…` of libzmq, as unpacked packages have them.
const ROOT: &str = "FANFARE_ZMQ";
/// Names the folder of a libzmq.so.5 that is built with `interop/libzmq-large-messages.patch`.
pub const PATCHED: &str = "FANFARE_ZMQ_PATCHED";
/// Names our shared object.
const LIBRARY: &str = "FANFARE_LIBNORM";
const GROUP: &str = "239.255.42.8:17500";
/// No cell takes longer on a machine that does something else, too.
const LIMIT: Duration = Duration::from_secs(90);

/// Whose libnorm a process has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// Fanfare's.
    Ours,
    /// Debian's.
    Nrl,
}

impl Library {
    /// As it is called in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ours => "fanfare",
            Self::Nrl => "norm",
        }
    }
}

/// Messages from one publisher to some subscribers.
#[derive(Clone, Debug)]
pub struct Cell {
    name: &'static str,
    publisher: Library,
    subscriber: Library,
    crossed: bool,
    subscribers: usize,
    messages: u32,
    bytes: u32,
    /// It needs a libzmq that sends messages of more than 2,038 bytes.
    patched: bool,
    /// Microseconds between messages.
    pause: u32,
    /// Subscribers come so long after the first message.
    late: Option<Duration>,
    /// Of a thousand datagrams that a subscriber receives so many are lost.
    inbound_permille: u32,
    /// Settings of ours.
    options: Option<&'static str>,
    /// Whether it is in the short list.
    pub quick: bool,
}

impl Cell {
    /// It needs libzmq with `interop/libzmq-large-messages.patch`, which `FANFARE_ZMQ_PATCHED` names.
    pub fn is_patched(&self) -> bool {
        self.patched
    }

    /// The same for processes that valgrind makes about thirty times slower.
    #[must_use]
    pub fn slowly(self) -> Self {
        Self { messages: self.messages.min(500), pause: self.pause.max(10_000), ..self }
    }

    /// As it is called on the command line and in the table.
    pub fn name(&self) -> String {
        format!("{} {}→{}", self.name, self.publisher.name(), self.subscriber.name())
    }
}

/// As fast as it goes, with a library on both sides: so many messages of so many bytes.
pub fn fast(
    library: Library,
    (messages, bytes): (u32, u32),
    options: Option<&'static str>,
) -> Cell {
    let (publisher, subscriber, pause) = (library, library, 0);
    let name = "as fast as it goes";
    Cell { name, publisher, subscriber, pause, messages, bytes, options, ..base() }
}

fn base() -> Cell {
    Cell {
        name: "pub-sub",
        publisher: Library::Ours,
        subscriber: Library::Ours,
        crossed: false,
        subscribers: 1,
        messages: 2000,
        bytes: 100,
        patched: false,
        pause: 300,
        late: None,
        inbound_permille: 0,
        options: None,
        quick: true,
    }
}

/// Every cell, in the order of the table.
pub fn all() -> Vec<Cell> {
    let base = base();
    let slow = Cell { quick: false, ..base.clone() };
    let pairs = [
        (Library::Ours, Library::Ours),
        (Library::Ours, Library::Nrl),
        (Library::Nrl, Library::Ours),
    ];
    let conditions = [
        base.clone(),
        Cell { name: "xpub-xsub", crossed: true, ..base },
        Cell { name: "to-three", subscribers: 3, ..slow.clone() },
        Cell { name: "large", bytes: 2000, messages: 1000, ..slow.clone() },
        Cell { name: "late", late: Some(Duration::from_secs(1)), messages: 8000, ..slow.clone() },
    ];
    let mut cells: Vec<Cell> = conditions
        .into_iter()
        .flat_map(|cell| {
            pairs.map(|(publisher, subscriber)| Cell { publisher, subscriber, ..cell.clone() })
        })
        // ZeroMQ 4.3.4 aborts a late subscriber on NRL's library (norm_engine.cpp, line 471).
        .filter(|cell| cell.late.is_none() || cell.subscriber == Library::Ours)
        .collect();
    for subscriber in [Library::Ours, Library::Nrl] {
        cells.push(Cell { name: "loss-5", inbound_permille: 50, subscriber, ..slow.clone() });
    }
    // A publisher on NRL's library repairs the last 93 blocks, which are 1,488 messages, and squelches
    // what is older. At 1,500 messages a second that is one second, and the first NACK comes after up to
    // four GRTT of at first half a second: messages are lost for good (14 to 27 of 2,000, told as gaps). A
    // subscriber on NRL's library does not end within a minute then: congestion control counts each loss,
    // and ten packets a second are left. At 300 messages a second both get everything.
    for subscriber in [Library::Ours, Library::Nrl] {
        let (publisher, pause, messages) = (Library::Nrl, 3000, 1000);
        let inbound_permille = 50;
        let name = "loss-5 slowly";
        cells.push(Cell {
            name,
            publisher,
            subscriber,
            pause,
            messages,
            inbound_permille,
            ..slow.clone()
        });
    }
    for publisher in [Library::Ours, Library::Nrl] {
        let (pause, messages, bytes) = (0, 50_000, 1000);
        cells.push(Cell { name: "no-pause", publisher, pause, messages, bytes, ..slow.clone() });
    }
    for (publisher, subscriber) in pairs {
        for (name, bytes, pause) in
            [("4,000 bytes", 4_000, 5_000), ("100,000 bytes", 100_000, 50_000)]
        {
            let (messages, patched) = (100, true);
            let cell = Cell { name, publisher, subscriber, ..slow.clone() };
            cells.push(Cell { bytes, messages, pause, patched, ..cell });
        }
    }
    cells
}

/// What is needed for it.
#[derive(Clone, Debug)]
pub struct Peer {
    program: PathBuf,
    /// Where the loader finds libzmq, if not where it always looks.
    libraries: Option<PathBuf>,
    /// A folder with libnorm.so.1 of ours.
    ours: PathBuf,
    /// Processes on our library run under valgrind.
    valgrind: bool,
}

/// An error of memory ends the process with this, and so does memory that nothing points to at the end.
const VALGRIND: [&str; 5] = [
    "--quiet",
    "--error-exitcode=9",
    "--leak-check=full",
    "--errors-for-leak-kinds=definite",
    "--fair-sched=yes",
];

/// Why there is nothing to run, in words.
#[derive(Debug)]
pub struct Skipped(pub String);

impl Peer {
    /// Compiles the peer, where libzmq and our library are there.
    ///
    /// # Errors
    /// When compiling fails.
    pub fn build(scratch: &Scratch) -> Result<Result<Self, Skipped>, ToolError> {
        let root = std::env::var_os(ROOT).map(PathBuf::from);
        let (include, libraries) = match &root {
            Some(root) => (root.join("include"), Some(library_folder(root))),
            None => (PathBuf::from("/usr/include"), None),
        };
        if !include.join("zmq.h").exists() {
            let what =
                format!("no zmq.h in {}: install libzmq3-dev, or set {ROOT}", include.display());
            return Ok(Err(Skipped(what)));
        }
        let Some(ours) = private_folder(scratch)? else {
            let what = format!("no libnorm.so of ours: build fanfare-norm, or set {LIBRARY}");
            return Ok(Err(Skipped(what)));
        };
        let program = scratch.path().join("zmq_peer");
        compile(&program, &include, libraries.as_deref())?;
        Ok(Ok(Self { program, libraries, ours, valgrind: false }))
    }

    /// Processes on our library run under valgrind.
    #[must_use]
    pub fn under_valgrind(self) -> Self {
        Self { valgrind: true, ..self }
    }

    /// A folder with our library.
    pub fn ours(&self) -> &Path {
        &self.ours
    }

    fn command(&self, host: &Host, cell: &Cell, sends: bool) -> Command {
        let library = if sends { cell.publisher } else { cell.subscriber };
        let mut command = if self.valgrind && library == Library::Ours {
            let mut command = host.command("valgrind");
            command.args(VALGRIND).arg(&self.program);
            command
        } else {
            host.command(&self.program)
        };
        let ours = (library == Library::Ours).then(|| self.ours.clone());
        if let Some(options) = cell.options {
            command.env("FANFARE_NORM_OPTIONS", options);
        }
        let patched = std::env::var_os(PATCHED).filter(|_| cell.patched).map(PathBuf::from);
        let libraries = patched.or_else(|| self.libraries.clone());
        let path = std::env::join_paths(ours.into_iter().chain(libraries));
        command.env("LD_LIBRARY_PATH", path.unwrap_or_default());
        let verb = match (sends, cell.crossed) {
            (true, false) => "pub",
            (true, true) => "xpub",
            (false, false) => "sub",
            (false, true) => "xsub",
        };
        command.arg(verb);
        command
    }
}

fn library_folder(root: &Path) -> PathBuf {
    let triplet = root.join("lib").join(format!("{}-linux-gnu", std::env::consts::ARCH));
    if triplet.exists() { triplet } else { root.join("lib") }
}

/// A folder with our library under the name that the loader looks for. `None`: it is not built.
///
/// # Errors
/// When the folder cannot be made.
pub fn private_folder(scratch: &Scratch) -> Result<Option<PathBuf>, ToolError> {
    let Some(library) = own_library() else { return Ok(None) };
    let ours = scratch.path().join("norm");
    std::fs::create_dir_all(&ours).map_err(tool::at(ours.display()))?;
    let link = ours.join("libnorm.so.1");
    std::os::unix::fs::symlink(&library, &link).map_err(tool::at(link.display()))?;
    Ok(Some(ours))
}

/// Named, or beside this program.
fn own_library() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(LIBRARY) {
        return Some(named.into());
    }
    let own = std::env::current_exe().ok()?;
    let beside = own.parent()?;
    // The newer one: tests alone leave the first as it was, or leave none.
    let places = [beside.join("libnorm.so"), beside.join("deps/libnorm.so")];
    places
        .into_iter()
        .filter_map(|place| Some((place.metadata().ok()?.modified().ok()?, place)))
        .max()
        .map(|(_, place)| place)
}

fn compile(program: &Path, include: &Path, libraries: Option<&Path>) -> Result<(), ToolError> {
    let (out, include) = (program.display().to_string(), format!("-I{}", include.display()));
    let folder = libraries.map(|folder| format!("-L{}", folder.display()));
    let mut words = vec!["-x", "c", "-O2", "-Wall", &include, "-o", &out, "-"];
    words.extend(folder.as_deref());
    // What libzmq itself needs is found when it is loaded.
    words.extend(["-l:libzmq.so.5", "-Wl,--allow-shlib-undefined"]);
    tool::output_with_input("cc", &words, SOURCE).map(drop)
}

/// What a cell came to: messages a second of the slowest subscriber, or what was wrong.
pub type Outcome = Result<f64, String>;

/// Runs one.
///
/// # Errors
/// No root, a full disk, Ctrl-C.
pub fn run(cell: &Cell, peer: &Peer, scratch: &Scratch) -> Result<Outcome, ToolError> {
    let lab = Lab::new(cell.subscribers + 1, Family::V4)?;
    let Some((publisher_host, hosts)) = lab.hosts().split_first() else {
        return Ok(Err("the laboratory has no hosts".into()));
    };
    let start_all = || -> Result<Vec<(Child, PathBuf)>, ToolError> {
        hosts
            .iter()
            .enumerate()
            .map(|(index, host)| {
                let output =
                    scratch.path().join(format!("{}-{index}.out", cell.name().replace('→', "-")));
                let mut command = peer.command(host, cell, false);
                arguments(&mut command, cell, index + 2);
                let into = File::create(&output).map_err(tool::at(output.display()))?;
                let child = command.stdin(Stdio::null()).stdout(into).spawn();
                Ok((child.map_err(tool::at("subscriber"))?, output))
            })
            .collect()
    };
    let loss = Loss { inbound_permille: cell.inbound_permille, ..Loss::default() };
    for host in hosts.iter().filter(|_| cell.inbound_permille > 0) {
        impair::apply(host, loss)?;
    }
    let mut subscribers = if cell.late.is_none() { start_all()? } else { Vec::new() };
    if cell.late.is_none() {
        std::thread::sleep(Duration::from_millis(400));
    }
    let began = Instant::now();
    let mut publisher = peer.command(publisher_host, cell, true);
    arguments(&mut publisher, cell, 1);
    let mut publisher = publisher
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .map_err(tool::at("publisher"))?;
    if let Some(late) = cell.late {
        // The publisher itself waits a second.
        std::thread::sleep(Duration::from_secs(1) + late);
        subscribers = start_all()?;
    }
    let mut outcome = Ok(f64::MAX);
    for (child, output) in &mut subscribers {
        let told = wait(child, began)?;
        if let Ok(least) = outcome {
            outcome = judge(cell, told, output).map(|rate| rate.min(least));
        }
    }
    drop(publisher.stdin.take());
    match wait(&mut publisher, began)? {
        Some(0) => Ok(outcome),
        other => Ok(outcome.and(Err(format!("publisher exit {other:?}")))),
    }
}

fn arguments(command: &mut Command, cell: &Cell, node: usize) {
    let address = format!("norm://{node},eth0;{GROUP}");
    let numbers = [cell.messages, cell.bytes, cell.pause].map(|number| number.to_string());
    command.arg(address).args(numbers);
}

fn wait(child: &mut Child, began: Instant) -> Result<Option<i32>, ToolError> {
    loop {
        if let Some(status) = child.try_wait().map_err(tool::at("a program"))? {
            return Ok(status.code());
        }
        if began.elapsed() > LIMIT || tool::interrupted() {
            child.kill().and_then(|()| child.wait()).map_err(tool::at("a program"))?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Every message comes once and in order; to a late subscriber from some message on.
fn judge(cell: &Cell, code: Option<i32>, output: &Path) -> Outcome {
    let said = std::fs::read_to_string(output).unwrap_or_default();
    if code != Some(0) {
        return Err(format!("subscriber exit {code:?}: {said}"));
    }
    let numbers: Vec<f64> = said.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [got, first, gaps, wrong, seconds] = numbers[..] else {
        return Err(format!("it said {said:?}"));
    };
    let whole = cell.late.is_some() || first == 0.0;
    let all = got + first == f64::from(cell.messages);
    match got > 0.0 && gaps == 0.0 && wrong == 0.0 && whole && all {
        true => Ok(got / seconds.max(1e-9)),
        false => Err(said.trim().to_owned()),
    }
}

/// The table.
pub fn page(head: &Head, rows: &[(Cell, Outcome)]) -> String {
    let mut page = format!(
        "# ZeroMQ over NORM\n\n\
         Written by `{}` on {}, against libnorm {}. Publisher and subscribers are hosts of their own, as\n\
         network namespaces. A cell passes when every message comes once, unchanged and in order; to a\n\
         late subscriber from some message on.\n\n| cell | result |\n|---|---|\n",
        head.command, head.date, head.nrl_version
    );
    for (cell, outcome) in rows {
        let told = match outcome {
            Ok(rate) => format!("passed, {rate:.0} messages/s"),
            Err(why) => format!("FAILED: {why}"),
        };
        let _ = writeln!(page, "| {} | {told} |", cell.name());
    }
    page
}

/// Where the page goes.
pub fn place() -> PathBuf {
    PathBuf::from("results/norm/zeromq.md")
}
