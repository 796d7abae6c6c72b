//! How the bytes come, and the programs that bring them.

use std::{
    fs::File,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::{plan::RoadPlan, web};
use crate::{error::LabError, host::Host, process::Process};

/// The far side's port.
const LINK: u16 = 7001;
/// The port of sshd there.
pub(super) const ECHO: u16 = 2200;
/// The port of the page's server there.
pub(super) const PAGES: u16 = 8081;
/// Where the near side listens.
pub(super) const SOCKS: &str = "127.0.0.1:7000";
/// A link is there within this time, or the run is not whole: a handshake over 10 % loss.
const LINKED: Duration = Duration::from_secs(20);
/// A port of NORM without a proxy.
const NATIVE: u16 = 6085;

/// How the bytes come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// TCP with this congestion control, without a proxy.
    Tcp(&'static str),
    /// NORM with this congestion control, without a proxy: a stream of `fanfare pipe`.
    Native(&'static str),
    /// The proxy by NORM, with this congestion control.
    Norm(&'static str),
    /// The same, and programs hear at once that they are connected.
    Optimistic(&'static str),
    /// The proxy by QUIC, with this congestion control.
    Quic(&'static str),
}

impl Way {
    /// All that can be measured.
    pub const ALL: [Self; 14] = [
        Self::Tcp("cubic"),
        Self::Tcp("bbr"),
        Self::Native("auto"),
        Self::Native("ecn"),
        Self::Native("loss-tolerant"),
        Self::Native("norm"),
        Self::Norm("auto"),
        Self::Optimistic("auto"),
        Self::Norm("ecn"),
        Self::Norm("loss-tolerant"),
        Self::Norm("norm"),
        Self::Norm("fixed"),
        Self::Quic("cubic"),
        Self::Quic("bbr"),
    ];

    /// As options name it.
    #[must_use]
    pub fn key(self) -> String {
        match self {
            Self::Tcp(control) => format!("tcp-{control}"),
            Self::Native(control) => format!("native-{control}"),
            Self::Norm(control) => format!("norm-{control}"),
            Self::Optimistic(control) => format!("norm-{control}-optimistic"),
            Self::Quic(control) => format!("quic-{control}"),
        }
    }

    /// As tables name it.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Tcp(control) => format!("TCP {control}"),
            Self::Native(control) => format!("NORM {control}, no proxy"),
            Self::Norm(control) => format!("proxy, NORM {control}"),
            Self::Optimistic(control) => format!("proxy, NORM {control}, optimistic"),
            Self::Quic(control) => format!("proxy, QUIC {control}"),
        }
    }

    /// The kernel's congestion control that it needs.
    pub(in crate::bench) const fn kernel(self) -> Option<&'static str> {
        match self {
            Self::Tcp(control) => Some(control),
            _ => None,
        }
    }

    /// Whether one program asks for each connection: the others are one stream.
    pub(super) const fn has_connections(self) -> bool {
        !matches!(self, Self::Native(_))
    }

    const fn is_proxied(self) -> bool {
        !matches!(self, Self::Tcp(_) | Self::Native(_))
    }
}

/// Two hosts, and what is needed to start a way between them.
#[derive(Debug, Clone, Copy)]
pub(in crate::bench) struct Ends<'a> {
    pub(in crate::bench) plan: &'a RoadPlan,
    pub(in crate::bench) way: Way,
    pub(in crate::bench) near: &'a Host,
    pub(in crate::bench) far: &'a Host,
    /// Where the keys `near` and `far` are.
    pub(in crate::bench) directory: &'a Path,
    /// Of this run alone.
    pub(in crate::bench) own: &'a Path,
    pub(in crate::bench) keys: &'a [String; 2],
}

impl Ends<'_> {
    /// What runs all the time: both sides of the proxy, where there is one.
    pub(in crate::bench) fn daemons(&self) -> Result<Vec<Process>, LabError> {
        let (carrier, quic, cc) = match self.way {
            Way::Tcp(_) | Way::Native(_) => return Ok(Vec::new()),
            Way::Norm(control) | Way::Optimistic(control) => ("norm", "cubic", control),
            Way::Quic(control) => ("quic", control, "auto"),
        };
        let limit = (self.plan.road.rate * 4).to_string();
        let common = |command: &mut Command, name: &str| {
            command.arg("--identity").arg(self.directory.join(name));
            command.args(["--quic-cc", quic, "--cc", cc, "--limit", &limit, "--quiet"]);
        };
        let address = self.far.address();
        let mut server = self.far.command(&self.plan.fanfare);
        server.args(["proxy", "server", "--listen", &format!("0.0.0.0:{LINK}")]);
        server.args(["--accept", &format!("near={}", self.keys[0])]);
        for port in [web::PORT, PAGES, ECHO] {
            server.args(["--allow", &format!("{address}:{port}")]);
        }
        common(&mut server, "far");
        let mut client = self.near.command(&self.plan.fanfare);
        client.args(["proxy", "client", "--listen", SOCKS, "--carrier", carrier]);
        client.args(["--peer", &format!("far={address}:{LINK},{}", self.keys[1])]);
        client.args(["--socket".as_ref(), self.own.join("near.sock").as_os_str()]);
        client.args(matches!(self.way, Way::Optimistic(_)).then_some("--optimistic"));
        common(&mut client, "near");
        let start = |command| Process::start(command, Stdio::null(), Stdio::null());
        let failed = |error| LabError::system("fanfare", &error);
        Ok(vec![start(server).map_err(failed)?, start(client).map_err(failed)?])
    }

    /// Whether a connection can be asked for in time.
    pub(in crate::bench) fn is_ready(&self) -> bool {
        let begun = Instant::now();
        // Port 1 is refused by the policy (97): an answer proves the link. Who hears at once that it is
        // connected hears only of a server (0). 7: nobody listens yet; 28: no answer in time.
        let (to, wanted) = match self.way {
            Way::Optimistic(_) => (format!("{}:{}", self.far.address(), web::PORT), 0),
            _ => ("192.0.2.1:1".to_owned(), 97),
        };
        while self.way.is_proxied() && begun.elapsed() < LINKED {
            let mut asked = self.near.command("curl");
            asked.args(["--silent", "--head", "--output", "/dev/null", "--max-time", "10"]);
            asked.args(["--socks5-hostname", SOCKS, &format!("http://{to}/")]);
            let code = asked.status().ok().and_then(|status| status.code());
            if code == Some(wanted) && begun.elapsed() > Duration::from_secs(2) {
                return true;
            }
            thread::sleep(Duration::from_millis(200));
        }
        !self.way.is_proxied()
    }

    /// What writes the bytes to its output, and the program that must run beside it.
    pub(in crate::bench) fn download(&self) -> Result<(Command, Option<Process>), LabError> {
        if let Way::Native(control) = self.way {
            return self.stream(control);
        }
        let mut curl = self.near.command("curl");
        curl.args(["--silent", "--output", "-"]);
        curl.arg("--max-time").arg(self.plan.seconds.to_string());
        if self.way.is_proxied() {
            curl.args(["--socks5-hostname", SOCKS]);
        }
        curl.arg(format!("http://{}:{}/", self.far.address(), web::PORT));
        Ok((curl, None))
    }

    fn stream(&self, control: &str) -> Result<(Command, Option<Process>), LabError> {
        let failed = |error| LabError::system("fanfare", &error);
        let group = format!("{}:{NATIVE}", self.near.address());
        let limit = (self.plan.road.rate * 4).to_string();
        let mut sender = self.far.command(&self.plan.fanfare);
        sender.args(["pipe", "send", "--unicast", "--group", &group, "--expect", "1"]);
        sender.args(["--cc", control, "--rate", &limit, "--quiet"]);
        let endless = File::open("/dev/zero").map_err(failed)?;
        let sender = Process::start_from(sender, endless, Stdio::null(), Stdio::null());
        let mut receiver = self.near.command("timeout");
        receiver.arg(self.plan.seconds.to_string()).arg(&self.plan.fanfare);
        receiver.args(["pipe", "recv", "--unicast", "--group", &group, "--quiet"]);
        Ok((receiver, Some(sender.map_err(failed)?)))
    }
}
