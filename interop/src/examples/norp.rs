//! NRL's proxy norp, compiled against their unchanged header, on our libnorm.so.1 and on theirs: a TCP
//! connection there and back through two of them.
//!
//! Its sources are not here. They are the folder `norp` of NRL's repository of NORM. It needs protolib,
//! built (`make -C makefiles -f Makefile.linux libprotokit.a`, with a folder `lib`).

use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{PROTOLIB, SOURCE};
use crate::impair::{self, Loss};
use crate::lab::{Family, Host, Lab};
use crate::payload::Payload;
use crate::report::Head;
use crate::scratch::Scratch;
use crate::tool::{self, ToolError};
use crate::zeromq::{self, Library, Skipped};

const ENDS: &str = include_str!("../../peer/norp_ends.py");
/// The makefile's own, for Linux.
const DEFINES: &str = "-DLINUX -DECN_SUPPORT -DHAVE_IPV6 -DHAVE_GETLOGIN -D_FILE_OFFSET_BITS=64 \
                       -DHAVE_LOCKF -DHAVE_OLD_SIGNALHANDLER -DHAVE_DIRFD -DHAVE_ASSERT \
                       -DNO_SCM_RIGHTS -DHAVE_SCHED -DUNIX -DUSE_SELECT -DUSE_TIMERFD \
                       -DUSE_EVENTFD -DHAVE_PSELECT -DPROTO_DEBUG";
/// Sent each way.
const BYTES: u64 = 3_000_000;
/// What norp is told to send, bit/s.
const RATE: &str = "20000000";
/// Where norp takes connections, and where the server is.
const PORTS: [&str; 2] = ["8080", "9000"];
/// Programs have begun to listen.
const SETTLE: Duration = Duration::from_secs(1);
const LIMIT: Duration = Duration::from_secs(40);

/// One run: who has which library, and what each host loses of what it receives.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    originator: Library,
    correspondent: Library,
    loss_permille: u32,
}

impl Cell {
    /// As it is called in the table.
    pub fn name(self) -> String {
        let Self { originator, correspondent, loss_permille } = self;
        let loss = f64::from(loss_permille) / 10.0;
        format!("{}→{}, loss {loss} %", originator.name(), correspondent.name())
    }
}

/// All of them.
pub fn all() -> Vec<Cell> {
    let pairs = [
        (Library::Ours, Library::Ours),
        (Library::Ours, Library::Nrl),
        (Library::Nrl, Library::Ours),
        (Library::Nrl, Library::Nrl),
    ];
    let cell = |loss_permille| {
        pairs.map(|(originator, correspondent)| Cell { originator, correspondent, loss_permille })
    };
    [0, 10, 50].into_iter().flat_map(cell).collect()
}

/// What is needed for it.
#[derive(Debug)]
pub struct Programs {
    scratch: Scratch,
    ours: PathBuf,
    payload: Payload,
}

impl Programs {
    /// Compiles norp, where its sources and our library are there.
    ///
    /// # Errors
    /// When compiling fails.
    pub fn build() -> Result<Result<Self, Skipped>, ToolError> {
        let named = |variable: &str| std::env::var_os(variable).map(PathBuf::from);
        let sources = named(SOURCE).filter(|source| source.join("norp/src/common").is_dir());
        let built = named(PROTOLIB).filter(|root| root.join("lib/libprotokit.a").is_file());
        let (Some(source), Some(protolib)) = (sources, built) else {
            let what = format!(
                "set {SOURCE} to NRL's repository of NORM (it has norp), and {PROTOLIB} to protolib, \
                 built"
            );
            return Ok(Err(Skipped(what)));
        };
        let scratch = Scratch::new()?;
        let Some(ours) = zeromq::private_folder(&scratch)? else {
            return Ok(Err(Skipped("no libnorm.so of ours: build fanfare-norm".into())));
        };
        compile(&scratch.path().join("norp"), &source, &protolib)?;
        let ends = scratch.path().join("norp_ends.py");
        std::fs::write(&ends, ENDS).map_err(tool::at(ends.display()))?;
        let payload = Payload::make(scratch.path(), "there-and-back", BYTES)?;
        Ok(Ok(Self { scratch, ours, payload }))
    }

    fn norp(&self, host: &Host, library: Library) -> Command {
        let mut command = host.command(self.scratch.path().join("norp"));
        if library == Library::Ours {
            command.env("LD_LIBRARY_PATH", &self.ours);
        }
        command.args(["address", &host.address(), "rate", RATE]);
        command.stdin(Stdio::null()).current_dir(self.scratch.path());
        command
    }

    fn end(&self, host: &Host) -> Command {
        let mut command = host.command("python3");
        command.arg(self.scratch.path().join("norp_ends.py")).stdin(Stdio::null());
        command
    }

    fn output(&self, name: &str) -> Result<File, ToolError> {
        let path = self.scratch.path().join(name);
        File::create(&path).map_err(tool::at(path.display()))
    }
}

fn compile(out: &Path, source: &Path, protolib: &Path) -> Result<(), ToolError> {
    let text = |path: PathBuf| path.display().to_string();
    let files = ["norp", "norpApp", "protoPktSOCKS"]
        .map(|name| text(source.join("norp/src/common").join(format!("{name}.cpp"))));
    let includes = [source.join("norp/include"), source.join("include"), protolib.join("include")]
        .map(|path| format!("-I{}", path.display()));
    let (out, archive) = (text(out.to_owned()), text(protolib.join("lib/libprotokit.a")));
    let mut words: Vec<&str> = vec!["-w", "-O1"];
    words.extend(DEFINES.split_whitespace());
    words.extend(includes.iter().map(String::as_str));
    words.extend(["-o", &out]);
    words.extend(files.iter().map(String::as_str));
    words.extend(["-lnorm", &archive, "-lpthread"]);
    tool::output("c++", &words).map(drop)
}

/// Runs one: seconds there and back, or what was wrong.
///
/// # Errors
/// No root, a full disk, Ctrl-C.
pub fn run(cell: Cell, programs: &Programs) -> Result<Result<f64, String>, ToolError> {
    let lab = Lab::new(2, Family::V4)?;
    let [near, far] = lab.hosts() else { return Ok(Err("the laboratory has no hosts".into())) };
    let loss = Loss { inbound_permille: cell.loss_permille, ..Loss::default() };
    if cell.loss_permille > 0 {
        impair::apply(near, loss)?;
        impair::apply(far, loss)?;
    }
    let [listening, served] = PORTS;
    let mut originator = programs.norp(near, cell.originator);
    let forward = format!("{listening},{}/{served},{}", far.address(), far.address());
    originator.args(["forward", &forward]);
    let mut server = programs.end(far);
    server.args(["serve", &far.address(), served, &BYTES.to_string()]);
    let mut others = Vec::new();
    for (name, mut command) in [
        ("correspondent", programs.norp(far, cell.correspondent)),
        ("originator", originator),
        ("server", server),
    ] {
        let (out, err) = (programs.output(name)?, programs.output(&format!("{name}.err"))?);
        others.push(command.stdout(out).stderr(err).spawn().map_err(tool::at(name))?);
    }
    std::thread::sleep(SETTLE);
    let mut client = programs.end(near);
    client.args(["ask", &near.address(), listening]).arg(&programs.payload.path);
    let client = client.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let outcome = watch(client.map_err(tool::at("the client"))?);
    for child in &mut others {
        let _ = child.kill();
        child.wait().map_err(tool::at("a program"))?;
    }
    outcome
}

fn watch(mut client: Child) -> Result<Result<f64, String>, ToolError> {
    let began = Instant::now();
    while client.try_wait().map_err(tool::at("the client"))?.is_none() {
        if began.elapsed() > LIMIT || tool::interrupted() {
            client.kill().map_err(tool::at("the client"))?;
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let told = client.wait_with_output().map_err(tool::at("the client"))?;
    let [out, err] = [told.stdout, told.stderr].map(|b| String::from_utf8_lossy(&b).into_owned());
    Ok(match out.trim().parse() {
        Ok(seconds) if told.status.success() => Ok(seconds),
        _ if err.is_empty() => Err(format!("not done after {} s", LIMIT.as_secs())),
        _ => Err(err.lines().last().unwrap_or_default().to_owned()),
    })
}

/// The table.
pub fn page(head: &Head, rows: &[(Cell, Result<f64, String>)]) -> String {
    let mut page = format!(
        "# NRL's norp on our libnorm.so.1\n\n\
         Written by `{}` on {}, against libnorm {}. Two norp, compiled from NRL's sources against their\n\
         header, are hosts of their own, as network namespaces. A TCP connection takes {} bytes there,\n\
         and the same bytes back in reverse order. `rate {RATE}`. Each host loses what the name says, of\n\
         what it receives. The first library is the originator's.\n\n\
         | libraries | there and back |\n|---|---|\n",
        head.command, head.date, head.nrl_version, BYTES
    );
    for (cell, outcome) in rows {
        let told = match outcome {
            Ok(seconds) => format!("passed in {seconds:.1} s"),
            Err(why) => format!("FAILED: {why}"),
        };
        let _ = writeln!(page, "| {} | {told} |", cell.name());
    }
    page
}

/// Where the page goes.
pub fn place() -> PathBuf {
    PathBuf::from("results/norm/norp.md")
}
