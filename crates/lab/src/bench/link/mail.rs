//! One way of messages: `fanfare link send` at one end and `fanfare link recv` at the other, a line each.

use std::{
    io::{self, BufRead as _, BufReader, Write as _},
    process::{ChildStdin, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, Instant},
};

use crate::{bench::proxy::Ends, process::Process};

/// Where messages go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// As downloads do.
    ToNear,
    /// As requests do.
    ToFar,
}

/// Both programs.
#[derive(Debug)]
pub(super) struct Mail {
    _programs: [Process; 2],
    to: ChildStdin,
    from: Receiver<(u32, Instant)>,
}

impl Mail {
    /// Starts both; no link is there yet.
    pub(super) fn open(ends: &Ends<'_>, direction: Direction, class: &str) -> io::Result<Self> {
        let (sender, receiver, port, [own, theirs], [accept, peer]) = match direction {
            Direction::ToNear => {
                (ends.far, ends.near, 7002, ["far", "near"], [&ends.keys[1], &ends.keys[0]])
            }
            Direction::ToFar => {
                (ends.near, ends.far, 7003, ["near", "far"], [&ends.keys[0], &ends.keys[1]])
            }
        };
        let program = ends.plan.proxy();
        let mut recv = receiver.command(&program);
        recv.args(["link", "recv", "--listen", &format!("0.0.0.0:{port}"), "--quiet"]);
        recv.args(["--accept", &format!("{own}={accept}")]);
        recv.arg("--identity").arg(ends.directory.join(theirs));
        let mut recv = Process::start(recv, Stdio::piped(), Stdio::null())?;
        let mut send = sender.command(&program);
        send.args(["link", "send", &format!("{theirs}={}:{port},{peer}", receiver.address())]);
        send.args(["--class", class, "--quiet", "--wait", "3600s"]);
        send.arg("--identity").arg(ends.directory.join(own));
        let mut send = Process::start_with_input(send, Stdio::null(), Stdio::null())?;
        let (Some(to), (Some(out), _)) = (send.input(), recv.outputs()) else {
            return Err(io::Error::other("no pipes"));
        };
        let (tell, from) = channel();
        thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let number = line.split(' ').next().and_then(|number| number.parse().ok());
                if number.is_some_and(|number| tell.send((number, Instant::now())).is_err()) {
                    return;
                }
            }
        });
        Ok(Self { _programs: [recv, send], to, from })
    }

    /// A message of so many bytes, which begins with its number.
    pub(super) fn write(&mut self, number: u32, size: usize) -> io::Result<()> {
        writeln!(self.to, "{number:<size$}")
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
