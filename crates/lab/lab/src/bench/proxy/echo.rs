//! Keys typed by ssh, and how long each takes until it is seen.

use std::{
    fs,
    io::{self, Read as _, Write as _},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::fd::AsFd as _;

use super::way::{ECHO, Ends, SOCKS, Way};
use crate::{error::LabError, process::Process, wait};

/// A key that has not come back after so long counts with this time, and no more are typed.
const LONGEST: Duration = Duration::from_secs(30);
/// A person's pause between two keys, at least.
const PAUSE: Duration = Duration::from_millis(100);
/// sshd takes connections, and ssh has logged in, within this time.
const READY: Duration = Duration::from_secs(60);

/// Runs `ssh-keygen`, then `sshd` on the far host.
pub(super) fn serve(ends: &Ends<'_>) -> Result<Process, LabError> {
    let failed = |error| LabError::system("sshd", &error);
    for key in ["host", "user"] {
        let mut made = Command::new("ssh-keygen");
        made.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(ends.own.join(key));
        made.stdin(Stdio::null()).output().map_err(failed)?;
    }
    // Where sshd wants to be shut in.
    fs::create_dir_all("/run/sshd").map_err(failed)?;
    let mut sshd = ends.far.command("/usr/sbin/sshd");
    sshd.args(["-D", "-f", "/dev/null", "-p", &ECHO.to_string(), "-h"]);
    sshd.arg(ends.own.join("host"));
    let keys = format!("AuthorizedKeysFile={}", ends.own.join("user.pub").display());
    for option in [&keys, "StrictModes=no", "UsePAM=no", "PidFile=none", "PermitRootLogin=yes"] {
        sshd.args(["-o", option]);
    }
    Process::start(sshd, Stdio::null(), Stdio::null()).map_err(failed)
}

/// Somebody who is logged in.
#[derive(Debug)]
pub(super) struct Terminal {
    ssh: Process,
    to: std::process::ChildStdin,
    from: std::process::ChildStdout,
}

impl Terminal {
    /// Logs in, and sees the first key: what comes later is not the login.
    pub(super) fn open(ends: &Ends<'_>) -> Result<Self, String> {
        let told = |error: io::Error| format!("ssh: {error}");
        let mut ssh = ends.near.command("ssh");
        ssh.arg("-i").arg(ends.own.join("user")).args(["-p", &ECHO.to_string()]);
        for option in
            ["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "ConnectionAttempts=20"]
        {
            ssh.args(["-o", option]);
        }
        if !matches!(ends.way, Way::Tcp(_)) {
            ssh.args(["-o", &format!("ProxyCommand=nc -X 5 -x {SOCKS} %h %p")]);
        }
        ssh.arg(ends.far.address().to_string()).arg("cat");
        let mut ssh =
            Process::start_with_input(ssh, Stdio::piped(), Stdio::null()).map_err(told)?;
        let (to, (from, _)) = (ssh.input(), ssh.outputs());
        let (Some(to), Some(from)) = (to, from) else { return Err("ssh: no pipes".to_owned()) };
        // Whoever waits for a key waits no longer than it says.
        rustix::io::ioctl_fionbio(&from, true).map_err(|error| told(error.into()))?;
        let mut terminal = Self { ssh, to, from };
        match terminal.key(READY) {
            Some(_) => Ok(terminal),
            None => Err("ssh: did not log in".to_owned()),
        }
    }

    /// Types for so long; how long each key took, in milliseconds and in order.
    pub(super) fn types(&mut self, time: Duration) -> Vec<f64> {
        let (begun, mut times) = (Instant::now(), Vec::new());
        while begun.elapsed() < time {
            let Some(took) = self.key(LONGEST) else {
                times.push(LONGEST.as_secs_f64() * 1e3);
                break;
            };
            times.push(took.as_secs_f64() * 1e3);
            thread::sleep(PAUSE);
        }
        times
    }

    /// How long one key took; none if it did not come back in time.
    fn key(&mut self, longest: Duration) -> Option<Duration> {
        let begun = Instant::now();
        self.to.write_all(b"k").ok()?;
        while begun.elapsed() < longest {
            wait::for_any(&[self.from.as_fd()], longest.saturating_sub(begun.elapsed()));
            if self.ssh.try_end().ok()?.is_some() {
                return None;
            }
            if matches!(self.from.read(&mut [0]), Ok(1)) {
                return Some(begun.elapsed());
            }
        }
        None
    }
}

/// What it needs.
pub(super) const NEEDS: [&str; 3] = ["/usr/sbin/sshd", "/usr/bin/ssh", "/usr/bin/ssh-keygen"];
