//! One protocol over one road, all patterns one after another.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde::Deserialize;

use super::{
    ngtcp2::Site,
    protocol::{Pattern, Protocol},
    row::UnicastRow,
};
use crate::{
    error::LabError,
    host::Host,
    lab::{
        Lab,
        road::{Course, Road},
    },
    process::Process,
    stop::Stop,
};

/// The road of the paper (4.5.1): 512 kbit/s, 250 ms, which is taken as one way.
const RATE: u64 = 512_000;
const DELAY_MS: u32 = 250;
/// There and back, while the road does not change.
pub(super) const ROUND_TRIP: Duration = Duration::from_millis(2 * DELAY_MS as u64);
/// A queue of one product of rate and round trip, in packets of 1,500 bytes. The paper does not say.
const QUEUE: u64 = Road::product(RATE, DELAY_MS);
/// A file of the paper, bytes.
pub(super) const FILE: u64 = 1_000_000;
/// What takes longer is missing, as in the paper.
const LONGEST: Duration = Duration::from_secs(160);
pub(super) const PORT: &str = "5000";
const LINK: u16 = 7001;
/// A server listens after so long, and a link is dialled.
const SETTLE: Duration = Duration::from_millis(700);
/// A link is there within this time, or nothing is measured.
const LINKED: Duration = Duration::from_secs(40);
/// How often is looked whether a client has ended.
const LOOK: Duration = Duration::from_millis(20);

/// A protocol, ready.
#[derive(Debug, Clone)]
pub(super) struct Ready {
    pub(super) protocol: Protocol,
    pub(super) peer: PathBuf,
    pub(super) version: String,
    pub(super) fanfare: PathBuf,
    /// Directory of the keys `near` and `far`, and the keys.
    pub(super) keys: PathBuf,
    pub(super) shown: [String; 2],
    /// Of ngtcp2's server.
    pub(super) site: Option<Site>,
}

/// What a client says.
#[derive(Debug, Deserialize)]
struct Said {
    seconds: Option<f64>,
    error: Option<String>,
}

/// Measures all patterns; each with a connection of its own.
pub(super) fn run(
    ready: &Ready,
    (loss, repetition): (u32, u32),
    changing: bool,
    stop: &Stop,
) -> Result<Vec<UnicastRow>, LabError> {
    let patterns: &[Pattern] = if changing { &Pattern::TRANSFERS } else { &Pattern::ALL };
    let course = if changing { Course::Turns } else { Course::Still };
    let lasts = LINKED + LONGEST * Pattern::ALL.len() as u32;
    let road = Road::even(RATE, DELAY_MS, loss.into(), QUEUE);
    let road = Road { course, lasts, ..road };
    let lab = Lab::up(&road.scenario()?, u64::from(repetition) + 1)?;
    let [near, far] = lab.ends()?;
    let failed = |error| LabError::system("unicast_peer", &error);
    // Behind the proxy, TCP does not cross the road.
    let protocol = ready.protocol.carrier().map_or(ready.protocol.name(), |_| "cubic");
    let server = match (&ready.site, ready.protocol.ngtcp2()) {
        (Some(site), Some(control)) => site.serve(far, control),
        _ => {
            let mut server = far.command(&ready.peer);
            server.args([protocol, "server", PORT]);
            Process::start(server, Stdio::null(), Stdio::null())
        }
    };
    let server = server.map_err(failed)?;
    let daemons = daemons(ready, near, far)?;
    thread::sleep(SETTLE);
    let linked = daemons.is_empty() || is_linked(ready, (near, far), stop);
    let mut rows = Vec::new();
    for &pattern in patterns {
        let told = match linked {
            true => client(ready, (near, far), pattern, stop)?,
            false => Err("there was no link".to_owned()),
        };
        let (seconds, why) = match told {
            Ok(seconds) => (Some(seconds), String::new()),
            Err(why) => (None, why),
        };
        let (protocol, version) = (ready.protocol, ready.version.clone());
        rows.push(UnicastRow { protocol, pattern, loss, repetition, seconds, version, why });
    }
    drop((daemons, server));
    lab.down()?;
    Ok(rows)
}

fn command(ready: &Ready, (near, far): (&Host, &Host), pattern: Pattern) -> Command {
    let mut command = near.command(&ready.peer);
    let protocol = ready.protocol.carrier().map_or(ready.protocol.name(), |_| "socks");
    command.args([protocol, "client", &far.address().to_string(), PORT]);
    command.args([pattern.name(), &FILE.to_string()]);
    command
}

/// The seconds of one measurement, or why there are none.
fn client(
    ready: &Ready,
    hosts: (&Host, &Host),
    pattern: Pattern,
    stop: &Stop,
) -> Result<Result<f64, String>, LabError> {
    let failed = |error| LabError::system("unicast_peer", &error);
    let ended = |elapsed: Duration| match (elapsed > LONGEST, stop.is_set()) {
        (true, _) => Some("longer than 160 s"),
        (_, true) => Some("stopped"),
        _ => None,
    };
    if let (Some(site), Some(control)) = (&ready.site, ready.protocol.ngtcp2()) {
        return site.measure(hosts, (control, pattern), &ended).map_err(failed);
    }
    let command = command(ready, hosts, pattern);
    let mut process = Process::start(command, Stdio::piped(), Stdio::null()).map_err(failed)?;
    let (out, _) = process.outputs();
    let begun = Instant::now();
    while process.try_end().map_err(failed)?.is_none() {
        if let Some(why) = ended(begun.elapsed()) {
            return Ok(Err(why.to_owned()));
        }
        thread::sleep(LOOK);
    }
    let mut text = String::new();
    if let Some(mut out) = out {
        std::io::Read::read_to_string(&mut out, &mut text).map_err(failed)?;
    }
    let said: Option<Said> = serde_json::from_str(text.trim()).ok();
    Ok(match said {
        Some(Said { seconds: Some(seconds), .. }) => Ok(seconds),
        Some(Said { error: Some(why), .. }) => Err(why),
        _ => Err("it said nothing".to_owned()),
    })
}

/// Both sides of the proxy, where that is measured.
fn daemons(ready: &Ready, near: &Host, far: &Host) -> Result<Vec<Process>, LabError> {
    let Some(carrier) = ready.protocol.carrier() else { return Ok(Vec::new()) };
    let address = far.address();
    let identity = |name: &str| Path::new(&ready.keys).join(name);
    let mut server = far.command(&ready.fanfare);
    server.args(["proxy", "server", "--listen", &format!("0.0.0.0:{LINK}"), "--quiet"]);
    server.args(["--accept", &format!("near={}", ready.shown[0])]);
    server.args(["--allow", &format!("{address}:{PORT}")]).arg("--identity").arg(identity("far"));
    let mut client = near.command(&ready.fanfare);
    client.args(["proxy", "client", "--carrier", carrier, "--optimistic=never", "--quiet"]);
    client.args(["--peer", &format!("far={address}:{LINK},{}", ready.shown[1])]);
    client.arg("--identity").arg(identity("near"));
    let start = |command| Process::start(command, Stdio::null(), Stdio::null());
    let failed = |error| LabError::system("fanfare", &error);
    Ok(vec![start(server).map_err(failed)?, start(client).map_err(failed)?])
}

/// Whether a connection through the proxy is there in time. It is not measured.
fn is_linked(ready: &Ready, hosts: (&Host, &Host), stop: &Stop) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < LINKED && !stop.is_set() {
        let mut command = command(ready, hosts, Pattern::Handshake);
        let told = command.stdin(Stdio::null()).stderr(Stdio::null()).output();
        let said = told.ok().and_then(|told| serde_json::from_slice::<Said>(&told.stdout).ok());
        if said.is_some_and(|said| said.seconds.is_some()) {
            return true;
        }
        thread::sleep(SETTLE);
    }
    false
}
