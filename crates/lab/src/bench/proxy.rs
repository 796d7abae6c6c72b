//! `curl` over a bad road: directly, by TCP, and through both sides of the proxy.
//!
//! - `web`: a server whose answers do not end

mod web;

use std::{
    io::Read,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde::Serialize;

use crate::{
    error::{LabError, Refusal},
    host::Host,
    lab::{
        Lab,
        road::{self, Road},
    },
    process::Process,
    stop::Stop,
    system::{privileges, scratch::Scratch},
};
use web::{PORT, Web};

/// The far side's port.
const LINK: u16 = 7001;
const SOCKS: &str = "127.0.0.1:7000";
/// A link is there within this time, or the run is not whole: a handshake over 10 % loss.
const LINKED: Duration = Duration::from_secs(20);
/// The first part of a run is its start.
const START: Duration = Duration::from_secs(20);
/// What "the first" is reckoned for, bytes.
const FIRST: u64 = 1_000_000;

/// How the bytes come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// TCP with this congestion control, without a proxy.
    Tcp(&'static str),
    /// The proxy by NORM, with this congestion control.
    Norm(&'static str),
    /// The proxy by QUIC, with this congestion control.
    Quic(&'static str),
}

impl Way {
    /// All that are measured unless somebody chooses.
    pub const ALL: [Self; 5] = [
        Self::Tcp("cubic"),
        Self::Tcp("bbr"),
        Self::Norm("auto"),
        Self::Quic("cubic"),
        Self::Quic("bbr"),
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Tcp(control) => format!("TCP {control}"),
            Self::Norm(control) => format!("proxy, NORM {control}"),
            Self::Quic(control) => format!("proxy, QUIC {control}"),
        }
    }
}

/// What is to be measured.
#[derive(Debug, Clone)]
pub struct ProxyBench {
    /// The road's rate, bit/s.
    pub rate: u64,
    /// One way, in milliseconds.
    pub delay_ms: u32,
    /// Shares that are lost in either direction, percent.
    pub losses: Vec<f64>,
    /// How.
    pub ways: Vec<Way>,
    /// How long each run takes.
    pub seconds: u32,
    /// How often each is measured, with another seed each time.
    pub repetitions: u32,
    /// The programs that are measured.
    pub fanfare: PathBuf,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProxyRun {
    /// How the bytes came.
    pub way: String,
    /// The road's loss, percent.
    pub loss: f64,
    /// Which one.
    pub seed: u64,
    /// Bits per second from when `curl` was started until it was stopped.
    pub goodput_bps: f64,
    /// The same without the first 20 s.
    pub steady_bps: f64,
    /// Seconds until the first 1 MB was there.
    pub first_s: Option<f64>,
    /// Why it was not whole, if it was not.
    pub why: String,
}

impl ProxyBench {
    /// Measures, one run after another.
    ///
    /// # Errors
    /// What is missing or refused, or that the user stopped it.
    pub fn run(
        &self,
        stop: &Stop,
        tell: &mut dyn FnMut(&ProxyRun),
    ) -> Result<Vec<ProxyRun>, LabError> {
        privileges::check()?;
        crate::lab::clear_leftovers()?;
        let scratch = Scratch::with_large_pages(&std::env::temp_dir())?;
        let key = |name| road::key(&self.fanfare, &scratch.path().join(name));
        let keys = [key("near")?, key("far")?];
        let mut runs = Vec::new();
        for seed in 1..=u64::from(self.repetitions) {
            for &loss in &self.losses {
                for &way in &self.ways {
                    if stop.is_set() {
                        return Ok(runs);
                    }
                    let measured = self.measure(way, loss, seed, (scratch.path(), &keys))?;
                    tell(&measured);
                    runs.push(measured);
                }
            }
        }
        Ok(runs)
    }

    fn road(&self, loss: f64) -> Road {
        let queue = Road::product(self.rate, self.delay_ms).max(10);
        Road { rate: self.rate, delay_ms: self.delay_ms, loss, queue }
    }

    /// The program beside the one that is measured.
    fn proxy(&self) -> PathBuf {
        self.fanfare.with_file_name("fanfare-proxy")
    }

    fn measure(
        &self,
        way: Way,
        loss: f64,
        seed: u64,
        (directory, keys): (&Path, &[String; 2]),
    ) -> Result<ProxyRun, LabError> {
        let lab = Lab::up(&self.road(loss).scenario()?, seed)?;
        let [near, far] = lab.hosts() else {
            let text = "road: it has not two hosts. Report this";
            return Err(LabError::new(Refusal::System, "bench.road", text));
        };
        let control = if let Way::Tcp(control) = way { control } else { "cubic" };
        let web = Web::start(far, control)?;
        let daemons = self.daemons(way, near, far, (directory, keys))?;
        let mut curl = near.command("curl");
        curl.args(["--silent", "--output", "-"]).arg("--max-time").arg(self.seconds.to_string());
        if !daemons.is_empty() {
            curl.args(["--socks5-hostname", SOCKS]);
        }
        curl.arg(format!("http://{}:{PORT}/", far.address()));
        let ready = daemons.is_empty() || self.is_linked(near);
        let counted = if ready { count(curl) } else { Err("there was no link".to_owned()) };
        drop((daemons, web));
        lab.down()?;
        Ok(self.row(way, loss, seed, counted))
    }

    fn row(
        &self,
        way: Way,
        loss: f64,
        seed: u64,
        counted: Result<Vec<(f64, u64)>, String>,
    ) -> ProxyRun {
        let mut run = ProxyRun {
            way: way.name(),
            loss,
            seed,
            goodput_bps: 0.0,
            steady_bps: 0.0,
            first_s: None,
            why: String::new(),
        };
        match counted {
            Err(why) => run.why = why,
            Ok(counted) => {
                let all = counted.last().map_or(0, |(_, bytes)| *bytes);
                let start = START.as_secs_f64();
                let begun = counted.iter().take_while(|(at, _)| *at <= start).last();
                let begun = begun.map_or(0, |(_, bytes)| *bytes);
                let seconds = f64::from(self.seconds);
                run.goodput_bps = all as f64 * 8.0 / seconds;
                run.steady_bps = (all - begun) as f64 * 8.0 / (seconds - start).max(1.0);
                run.first_s = counted.iter().find(|(_, bytes)| *bytes >= FIRST).map(|(at, _)| *at);
                if all == 0 {
                    "nothing came".clone_into(&mut run.why);
                }
            }
        }
        run
    }

    /// Both sides of the proxy, where there is one.
    fn daemons(
        &self,
        way: Way,
        near: &Host,
        far: &Host,
        (directory, keys): (&Path, &[String; 2]),
    ) -> Result<Vec<Process>, LabError> {
        let (carrier, quic, cc) = match way {
            Way::Tcp(_) => return Ok(Vec::new()),
            Way::Norm(control) => ("norm", "cubic", control),
            Way::Quic(control) => ("quic", control, "auto"),
        };
        let limit = (self.rate * 4).to_string();
        let common = |command: &mut Command, name: &str| {
            command.arg("--identity").arg(directory.join(name));
            command.args(["--quic-cc", quic, "--cc", cc, "--limit", &limit, "--quiet"]);
        };
        let address = far.address();
        let mut server = far.command(self.proxy());
        server.args(["proxy", "server", "--listen", &format!("0.0.0.0:{LINK}")]);
        server.args(["--accept", &format!("near={}", keys[0])]);
        server.args(["--allow", &format!("{address}:{PORT}")]);
        common(&mut server, "far");
        let mut client = near.command(self.proxy());
        client.args(["proxy", "client", "--listen", SOCKS, "--carrier", carrier]);
        client.args(["--peer", &format!("far={address}:{LINK},{}", keys[1])]);
        client.args(["--socket".as_ref(), directory.join("near.sock").as_os_str()]);
        common(&mut client, "near");
        let start = |command| Process::start(command, Stdio::null(), Stdio::null());
        let failed = |error| LabError::system("fanfare-proxy", &error);
        Ok(vec![start(server).map_err(failed)?, start(client).map_err(failed)?])
    }

    /// Whether a connection through the proxy is there in time.
    fn is_linked(&self, near: &Host) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < LINKED {
            // Port 1 is refused by the policy: an answer proves the link.
            let mut asked = near.command("curl");
            asked.args(["--silent", "--max-time", "10", "--socks5-hostname", SOCKS]);
            let code = asked.arg("http://192.0.2.1:1/").status().ok().and_then(|s| s.code());
            // 97: the proxy has refused; 7: nobody listens yet; 28: no answer in time.
            let refused = code == Some(97);
            if refused && begun.elapsed() > Duration::from_secs(2) {
                return true;
            }
            thread::sleep(Duration::from_millis(200));
        }
        false
    }
}

/// Seconds and bytes, as they came.
fn count(mut curl: Command) -> Result<Vec<(f64, u64)>, String> {
    let said = |error: std::io::Error| error.to_string();
    let begun = Instant::now();
    let child = curl.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = child.map_err(said)?;
    let (mut counted, mut bytes) = (Vec::new(), 0);
    let mut buffer = vec![0; 64 << 10];
    if let Some(mut out) = child.stdout.take() {
        while let Ok(more @ 1..) = out.read(&mut buffer) {
            bytes += more as u64;
            counted.push((begun.elapsed().as_secs_f64(), bytes));
        }
    }
    child.wait().map_err(said)?;
    Ok(counted)
}
