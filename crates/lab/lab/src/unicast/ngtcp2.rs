//! QUIC by ngtcp2: its own client and server of HTTP/3 (Debian's `gtlsclient` and `gtlsserver`).
//!
//! What happened when is seen in what the client prints, as it prints it. A file of 2,048 bytes is the
//! answer of a request, one of 1 MB comes one way, and 1 MB posted beside it goes the other way.

use std::{
    fs::{self, File},
    io::{self, BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

use super::{
    protocol::Pattern,
    trial::{FILE, PORT, ROUND_TRIP},
};
use crate::{error::LabError, host::Host, process::Process};

/// Of the answer to a request.
const ANSWER: u64 = 2048;

/// How often it is looked whether a client is to be given up.
const LOOK: Duration = Duration::from_millis(20);

/// A server that does not listen after so long has failed.
const LISTENING: Duration = Duration::from_secs(10);

/// Why a client is given up that has run for so long.
pub(super) type Ended<'a> = dyn Fn(Duration) -> Option<&'static str> + Sync + 'a;

/// What one connection of the client is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Handshake,
    Answer,
    Down,
    Up,
}

/// The server's key and files.
#[derive(Debug, Clone)]
pub(super) struct Site(PathBuf);

impl Site {
    /// In a directory of its own.
    pub(super) fn make(directory: &Path) -> Result<Self, LabError> {
        let site = directory.join("ngtcp2");
        let failed = |error: io::Error| LabError::system(site.display(), &error);
        fs::create_dir_all(&site).map_err(failed)?;
        for (name, size) in [("answer", ANSWER), ("file", FILE)] {
            File::create(site.join(name)).and_then(|file| file.set_len(size)).map_err(failed)?;
        }
        let mut made = Command::new("openssl");
        made.args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30"]);
        made.args(["-subj", "/CN=localhost", "-keyout"]).arg(site.join("key"));
        made.arg("-out").arg(site.join("certificate")).output().map_err(failed)?;
        Ok(Self(site))
    }

    pub(super) fn serve(&self, far: &Host, control: &str) -> io::Result<Process> {
        let mut server = far.command("gtlsserver");
        server.args(["--quiet", "--cc", control, "--timeout", "300s", "-d"]);
        server.arg(&self.0);
        server.args(["0.0.0.0", PORT]).arg(self.0.join("key")).arg(self.0.join("certificate"));
        let server = Process::start(server, Stdio::null(), Stdio::null())?;
        // On a busy machine it takes its time, and a first packet that nobody hears costs a second.
        let begun = Instant::now();
        while !is_served(far)? && begun.elapsed() < LISTENING {
            thread::sleep(LOOK);
        }
        Ok(server)
    }

    /// The seconds of one measurement, or why there are none. It is given up when `ended` says so.
    pub(super) fn measure(
        &self,
        hosts: (&Host, &Host),
        (control, pattern): (&str, Pattern),
        ended: &Ended<'_>,
    ) -> io::Result<Result<f64, String>> {
        let one = |what| self.client(hosts, (control, what), ended);
        match pattern {
            Pattern::Handshake => one(What::Handshake),
            Pattern::Rpc => one(What::Answer),
            Pattern::OneWay => one(What::Down),
            // Its server reads no request to the end once it has answered: each way has a connection.
            Pattern::TwoWay => {
                let (down, up) = thread::scope(|scope| {
                    let down = scope.spawn(|| one(What::Down));
                    let up = one(What::Up);
                    (down.join(), up)
                });
                let down = down.map_err(|_| io::Error::other("its thread has failed"))??;
                Ok(up?.and_then(|up| down.map(|down| down.max(up))))
            }
        }
    }

    fn client(
        &self,
        (near, far): (&Host, &Host),
        (control, what): (&str, What),
        ended: &Ended<'_>,
    ) -> io::Result<Result<f64, String>> {
        let address = far.address();
        let mut client = near.command("gtlsclient");
        client.args(["--no-http-dump", "--no-quic-dump", "--exit-on-all-streams-close"]);
        client.args(["--timeout", "300s", "--handshake-timeout", "300s", "--cc", control]);
        if what == What::Up {
            client.args(["-m", "POST", "--data"]).arg(self.0.join("file"));
        }
        let name = if what == What::Down { "file" } else { "answer" };
        client.args([&address.to_string(), PORT, &format!("https://{address}:{PORT}/{name}")]);
        let begun = Instant::now();
        let mut client = Process::start(client, Stdio::null(), Stdio::piped())?;
        let (_, Some(printed)) = client.outputs() else { return Err(io::Error::other("no pipe")) };
        let lines = read(printed);
        let mut seen = Seen::default();
        loop {
            match lines.recv_timeout(LOOK) {
                Ok((at, line)) => {
                    let at = at.saturating_duration_since(begun);
                    if let Some(seconds) = seen.line(at, &line, what) {
                        return Ok(Ok(seconds));
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(Err("it ended early".to_owned())),
            }
            if let Some(why) = ended(begun.elapsed()) {
                return Ok(Err(why.to_owned()));
            }
        }
    }
}

/// Whether somebody on this host has the port.
fn is_served(far: &Host) -> io::Result<bool> {
    let sockets = far.enter(|| fs::read_to_string("/proc/thread-self/net/udp"));
    let sockets = sockets.map_err(|error| io::Error::other(error.to_string()))??;
    let port = PORT.parse::<u16>().map(|port| format!(":{port:04X} ")).unwrap_or_default();
    Ok(sockets.lines().any(|line| line.contains(&port)))
}

/// Lines, and when each came.
fn read(printed: impl io::Read + Send + 'static) -> Receiver<(Instant, String)> {
    let (tell, lines) = channel();
    thread::spawn(move || {
        for line in BufReader::new(printed).lines().map_while(Result::ok) {
            if tell.send((Instant::now(), line)).is_err() {
                return;
            }
        }
    });
    lines
}

/// What was printed so far, as time since the start.
#[derive(Debug, Default)]
struct Seen {
    connected: Option<Duration>,
    first: Option<Duration>,
}

impl Seen {
    /// One more line; the seconds that were wanted, when it is the last of them.
    fn line(&mut self, at: Duration, line: &str, what: What) -> Option<f64> {
        if line.contains("handshake has completed") {
            self.connected.get_or_insert(at);
            if what == What::Handshake {
                return Some(at.as_secs_f64());
            }
        }
        if line.contains(" frm rx ") && line.contains(" STREAM(") && line.contains(" id=0x0 ") {
            self.first.get_or_insert(at);
        }
        // Both directions of the only stream are over.
        if !line.starts_with("HTTP stream 0 closed") {
            return None;
        }
        let took = |from: Duration| at.saturating_sub(from);
        let took = match what {
            What::Handshake => None,
            What::Answer => self.connected.map(took),
            What::Down => self.first.map(took),
            // The first byte gets there half a round trip later, and the answer back as much.
            What::Up => self.connected.map(took).map(|took| took.saturating_sub(ROUND_TRIP)),
        };
        took.map(|took| took.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As version 0.12.1 prints them, with milliseconds.
    const PRINTED: [(u64, &str); 5] = [
        (520, "QUIC handshake has completed"),
        (530, "I00000530 0x57 frm tx 3 1RTT STREAM(0x0b) id=0x0 fin=1 offset=0 len=15 uni=0"),
        (1020, "I00001020 0x57 frm rx 4 1RTT STREAM(0x0e) id=0xb fin=0 offset=1 len=1 uni=1"),
        (1030, "I00001030 0x57 frm rx 5 1RTT STREAM(0x0a) id=0x0 fin=0 offset=0 len=596 uni=0"),
        (21_030, "HTTP stream 0 closed with error code 256"),
    ];

    #[test]
    fn times_are_found_in_what_the_client_prints() {
        let seconds = |what| {
            let mut seen = Seen::default();
            let line = |(ms, line): &(u64, &str)| seen.line(Duration::from_millis(*ms), line, what);
            PRINTED.iter().find_map(line)
        };
        assert_eq!(seconds(What::Handshake), Some(0.52));
        assert_eq!(seconds(What::Answer), Some(20.51));
        assert_eq!(seconds(What::Down), Some(20.0));
        assert_eq!(seconds(What::Up), Some(20.01));
    }
}
