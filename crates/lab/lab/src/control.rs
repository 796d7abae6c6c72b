//! How one process finds a lab that another one runs, and talks to it: a socket in
//! /run/fanfare-lab.
//!
//! Each connection has one request, a line of JSON. The answer is a line of JSON, or the bytes of a
//! capture until the reader closes.

use crate::{
    emulator::Handle,
    emulator::capture,
    emulator::snapshot::Snapshot,
    error::{LabError, Refusal},
    lab::Lab,
    stop::Stop,
    system::namespace,
};
use serde::{Deserialize, Serialize};
use std::{
    fs,
    io::{self, BufRead as _, BufReader, Read, Write as _},
    os::unix::{
        fs::DirBuilderExt as _,
        net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

const DIRECTORY: &str = "/run/fanfare-lab";
/// Longest wait for a lab's answer, and for a request: both are written at once.
const PATIENCE: Duration = Duration::from_secs(10);
/// A capture is handed on at least this often, so that a reader sees it live.
const FLUSH: Duration = Duration::from_millis(200);

/// What is asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
enum Request {
    Status,
    Down,
    Capture { node: String },
}

/// A lab as it tells of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Its name.
    pub lab: String,
    /// Its scenario.
    pub scenario: String,
    /// The process that runs it.
    pub process: u32,
    /// Its hosts.
    pub hosts: Vec<HostStatus>,
    /// What has been counted.
    pub counted: Snapshot,
}

/// Where a host is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostStatus {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: String,
    /// Its network namespace.
    pub namespace: String,
}

/// What a lab says to a request.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
enum Answer {
    Status(Box<Status>),
    Done,
    /// A capture's bytes follow.
    Capture,
    NoSuchNode,
}

/// The socket of a lab; gone when dropped.
#[derive(Debug)]
pub(crate) struct Control {
    path: PathBuf,
    down: Stop,
    leaving: Leaving,
}

/// Those who have told it to go down: they see it gone when their connections end.
type Leaving = Arc<Mutex<Vec<UnixStream>>>;

/// What a connection's thread knows of the lab.
#[derive(Debug, Clone)]
struct Connection {
    handle: Handle,
    lab: String,
    scenario: String,
    hosts: Vec<HostStatus>,
    down: Stop,
    leaving: Leaving,
}

impl Control {
    pub(crate) fn open(lab: &Lab) -> Result<Self, LabError> {
        let path = Path::new(DIRECTORY).join(format!("{}.sock", lab.name()));
        let failed =
            |error: io::Error| LabError::system(format!("socket ({})", path.display()), &error);
        // Who may talk to a lab may run programs as root.
        let made = fs::DirBuilder::new().mode(0o700).recursive(true).create(DIRECTORY);
        made.map_err(failed)?;
        let listener = UnixListener::bind(&path).map_err(failed)?;
        let host = |host: &crate::Host| HostStatus {
            name: host.name().to_owned(),
            address: host.address().to_string(),
            namespace: host.namespace().to_owned(),
        };
        let connection = Connection {
            handle: lab.handle().clone(),
            lab: lab.name().to_owned(),
            scenario: lab.scenario().to_owned(),
            hosts: lab.hosts().iter().map(host).collect(),
            down: Stop::new()?,
            leaving: Leaving::default(),
        };
        let (down, leaving) = (connection.down.clone(), Arc::clone(&connection.leaving));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let connection = connection.clone();
                // Who asks and goes away spoils only its own answer.
                thread::spawn(move || drop(connection.serve(stream)));
            }
        });
        Ok(Self { path, down, leaving })
    }
    /// Set when it is to go down.
    pub(crate) fn down(&self) -> &Stop {
        &self.down
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        self.leaving.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Connection {
    fn serve(&self, stream: UnixStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut line = String::new();
        BufReader::new(&stream).take(4096).read_line(&mut line)?;
        let answer = |answer: &Answer| {
            let mut text = serde_json::to_string(answer)?;
            text.push('\n');
            (&stream).write_all(text.as_bytes())
        };
        match serde_json::from_str(&line)? {
            Request::Status => match self.status() {
                Some(status) => answer(&Answer::Status(Box::new(status))),
                None => Ok(()),
            },
            Request::Down => {
                answer(&Answer::Done)?;
                self.leaving.lock().unwrap_or_else(PoisonError::into_inner).push(stream);
                self.down.set();
                Ok(())
            }
            Request::Capture { node } => {
                let Some(host) = self.hosts.iter().position(|host| host.name == node) else {
                    return answer(&Answer::NoSuchNode);
                };
                answer(&Answer::Capture)?;
                self.capture(host, stream)
            }
        }
    }

    fn status(&self) -> Option<Status> {
        Some(Status {
            lab: self.lab.clone(),
            scenario: self.scenario.clone(),
            process: std::process::id(),
            hosts: self.hosts.clone(),
            counted: self.handle.snapshot()?,
        })
    }

    fn capture(&self, host: usize, stream: UnixStream) -> io::Result<()> {
        let frames = self.handle.capture(host);
        let mut to = io::BufWriter::with_capacity(1 << 16, stream);
        capture::write_header(&mut to)?;
        loop {
            use std::sync::mpsc::RecvTimeoutError::{Disconnected, Timeout};
            match frames.recv_timeout(FLUSH) {
                Ok(frame) => capture::write_frame(&mut to, self.handle.clock(), &frame)?,
                Err(Timeout) => to.flush()?,
                Err(Disconnected) => return to.flush(),
            }
        }
    }
}

/// A lab that runs in some process of this machine.
#[derive(Debug)]
pub struct RunningLab {
    path: PathBuf,
}

impl RunningLab {
    /// All of them, by name.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let mut paths: Vec<PathBuf> =
            fs::read_dir(DIRECTORY).into_iter().flatten().flatten().map(|e| e.path()).collect();
        paths.retain(|path| owner(path).is_some_and(namespace::is_alive));
        paths.sort();
        paths.into_iter().map(|path| Self { path }).collect()
    }
    /// The one that is meant: by name or by its scenario's name; or the only one.
    ///
    /// # Errors
    /// When there is none, or more than one.
    pub fn find(name: Option<&str>) -> Result<(Self, Status), LabError> {
        let (mut found, mut silent) = (Vec::new(), None);
        for lab in Self::all() {
            let status = match lab.status() {
                Ok(status) => status,
                // It may be going down, and nobody has asked for it.
                Err(error) => {
                    silent = lab.is_up().then_some(error).or(silent);
                    continue;
                }
            };
            if name.is_none_or(|name| [&status.lab, &status.scenario].iter().any(|n| *n == name)) {
                found.push((lab, status));
            }
        }
        let refuse = |text: String| LabError::new(Refusal::Usage, "lab.which", text);
        let shown = name.unwrap_or_default();
        match found.len() {
            1 => Ok(found.remove(0)),
            0 => Err(silent.unwrap_or_else(|| {
                refuse(format!(
                    "lab ({shown}): no lab is running. Start one with fanfare lab up FILE"
                ))
            })),
            n => {
                let names: Vec<&str> = found.iter().map(|(_, status)| &*status.lab).collect();
                let names = names.join(", ");
                Err(refuse(format!(
                    "lab ({shown}): {n} labs are running. Choose one with --lab: {names}"
                )))
            }
        }
    }
    /// Whether it still is.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.path.exists() && owner(&self.path).is_some_and(namespace::is_alive)
    }
    /// What it tells of itself.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn status(&self) -> Result<Status, LabError> {
        match self.ask(&Request::Status)?.0 {
            Answer::Status(status) => Ok(*status),
            _ => Err(self.silent("answers something else")),
        }
    }
    /// Tells it to go down, and waits until it is gone.
    ///
    /// # Errors
    /// When it does not answer, or is still there after so long.
    pub fn down(&self, longest: Duration) -> Result<(), LabError> {
        let (_, mut stream) = self.ask(&Request::Down)?;
        let gone = stream.get_ref().set_read_timeout(Some(longest)).and_then(|()| {
            // Nothing more is said; its end is the answer.
            stream.read_to_end(&mut Vec::new())
        });
        match gone {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let text = format!("is still going down after {} s", longest.as_secs());
                Err(self.silent(&text))
            }
            // A connection that breaks is an end, too.
            _ => Ok(()),
        }
    }
    /// Everything on a node's cable from now on, as a pcap file without end. Reading waits for a
    /// moment, and then fails with [`io::ErrorKind::WouldBlock`].
    ///
    /// # Errors
    /// When it does not answer, or has no such node.
    pub fn capture(&self, node: &str) -> Result<impl Read + use<>, LabError> {
        let ask = Request::Capture { node: node.to_owned() };
        match self.ask(&ask)? {
            (Answer::Capture, stream) => {
                let patience = stream.get_ref().set_read_timeout(Some(FLUSH));
                patience.map_err(|error| self.silent(&error.to_string()))?;
                Ok(stream)
            }
            (Answer::NoSuchNode, _) => {
                let text =
                    format!("node ({node}): not in this lab. Run fanfare lab status for a list");
                Err(LabError::new(Refusal::Usage, "lab.node", text))
            }
            _ => Err(self.silent("answers something else")),
        }
    }

    fn ask(&self, request: &Request) -> Result<(Answer, BufReader<UnixStream>), LabError> {
        let asked = || -> io::Result<(Answer, BufReader<UnixStream>)> {
            let mut stream = UnixStream::connect(&self.path)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.write_all(serde_json::to_string(request)?.as_bytes())?;
            stream.write_all(b"\n")?;
            let mut reader = BufReader::new(stream);
            let mut line = String::new();
            reader.read_line(&mut line)?;
            Ok((serde_json::from_str(&line)?, reader))
        };
        asked().map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => LabError::system("lab (its socket)", &error),
            _ => self.silent(&error.to_string()),
        })
    }
    fn silent(&self, why: &str) -> LabError {
        let shown = self.path.display();
        let text = format!(
            "lab ({shown}): does not answer ({why}). Kill its process, then run fanfare lab down"
        );
        LabError::new(Refusal::System, "lab.silent", text)
    }
}

fn owner(path: &Path) -> Option<u32> {
    namespace::owner(path.file_name()?.to_str()?)
}

/// Removes the sockets of dead processes.
pub(crate) fn clear_leftovers() {
    clear(|pid| !namespace::is_alive(pid));
}

/// Removes the sockets of all processes that are meant.
pub(crate) fn clear(is_meant: impl Fn(u32) -> bool) {
    for entry in fs::read_dir(DIRECTORY).into_iter().flatten().flatten() {
        if owner(&entry.path()).is_some_and(&is_meant) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
