//! One way of messages: `fanfare link send` at one end and `fanfare link recv` at the other, a line each.

use std::{
    io::{self, BufRead as _, BufReader, Write as _},
    process::{ChildStdin, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, Instant},
};

use crate::{bench::proxy::Ends, host::Host, process::Process};

/// Where messages go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// As downloads do.
    ToNear,
    /// As requests do.
    ToFar,
}

impl Direction {
    /// Who sends and who receives, at which port, and their names and keys.
    fn between<'a>(self, ends: &Ends<'a>) -> (&'a Host, &'a Host, u16, [&'a str; 2], [&'a str; 2]) {
        let (near, far) = (["near", &*ends.keys[0]], ["far", &*ends.keys[1]]);
        match self {
            Self::ToNear => (ends.far, ends.near, 7002, far, near),
            Self::ToFar => (ends.near, ends.far, 7003, near, far),
        }
    }

    /// The program that sends, and its input.
    pub(super) fn send(self, ends: &Ends<'_>, class: &str) -> io::Result<(Process, ChildStdin)> {
        let (sender, receiver, port, own, theirs) = self.between(ends);
        let mut send = sender.command(&ends.plan.fanfare);
        let peer = format!("{}={}:{port},{}", theirs[0], receiver.address(), theirs[1]);
        send.args(["link", "send", &peer, "--class", class, "--quiet", "--wait", "3600s"]);
        send.arg("--early").arg("--tickets").arg(ends.own.join(own[0]));
        send.arg("--identity").arg(ends.directory.join(own[0]));
        let mut send = Process::start_with_input(send, Stdio::null(), Stdio::null())?;
        let to = send.input().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok((send, to))
    }
}

/// Both programs.
#[derive(Debug)]
pub(super) struct Mail {
    _recv: Process,
    /// The program that sends, and its input.
    pub(super) send: (Process, ChildStdin),
    from: Receiver<(u32, Instant)>,
}

impl Mail {
    /// Starts both; no link is there yet.
    pub(super) fn open(ends: &Ends<'_>, direction: Direction, class: &str) -> io::Result<Self> {
        let (_, receiver, port, own, theirs) = direction.between(ends);
        let mut recv = receiver.command(&ends.plan.fanfare);
        recv.args(["link", "recv", "--listen", &format!("0.0.0.0:{port}"), "--quiet"]);
        recv.args(["--accept", &format!("{}={}", own[0], own[1])]);
        recv.arg("--identity").arg(ends.directory.join(theirs[0]));
        let mut recv = Process::start(recv, Stdio::piped(), Stdio::null())?;
        let send = direction.send(ends, class)?;
        let out = recv.outputs().0.ok_or(io::ErrorKind::BrokenPipe)?;
        let (tell, from) = channel();
        thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let number = line.split(' ').next().and_then(|number| number.parse().ok());
                if number.is_some_and(|number| tell.send((number, Instant::now())).is_err()) {
                    return;
                }
            }
        });
        Ok(Self { _recv: recv, send, from })
    }

    /// A message of so many bytes, which begins with its number.
    pub(super) fn write(&mut self, number: u32, size: usize) -> io::Result<()> {
        writeln!(self.send.1, "{number:<size$}")
    }

    /// When this one came, whatever comes before it.
    pub(super) fn wait_for(&self, number: u32, longest: Duration) -> Option<Instant> {
        let end = Instant::now() + longest;
        while let Some((other, at)) = self.next(end.saturating_duration_since(Instant::now())) {
            if other == number {
                return Some(at);
            }
        }
        None
    }

    /// The next that comes, and when it came.
    pub(super) fn next(&self, longest: Duration) -> Option<(u32, Instant)> {
        self.from.recv_timeout(longest).ok()
    }
}
