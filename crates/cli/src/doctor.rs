//! `fanfare doctor`: why multicast does or does not work here.

use clap::Args;
use fanfare_node::{
    BuildError, GroupSpec, GroupSpecError,
    doctor::{Diagnosis, Examination, Finding, Level, PeerReport, examine},
};
use serde::Serialize;

use crate::{
    exit::{Exit, Failure},
    json,
    progress::print_line,
    units,
};

/// Say in plain words why multicast does or does not work here
///
/// One line per check: ok, warn or bad, what was seen, what to do; then a verdict. Run it on two
/// machines at the same time and each says how well it hears the other. As root it sees more.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Multicast group and port; also norm://INTERFACE;GROUP:PORT
    #[arg(long, default_value = "239.255.42.1:6003", value_name = "GROUP:PORT")]
    group: String,
    /// Interface, by name or address [default: the only one, or the route's]
    #[arg(long, value_name = "NAME")]
    interface: Option<String>,
    /// Listen this long for doctors on other machines
    #[arg(long, default_value = "5s", value_name = "TIME")]
    peer_wait: String,
    /// Routers to pass, plus one
    #[arg(long, default_value = "1", value_name = "N")]
    ttl: String,
    /// Rate at which receive buffers should last for 100 ms
    #[arg(long, default_value = "100M", value_name = "RATE")]
    rate: String,
    /// Name of this machine for the others [default: the machine's]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Print one JSON object per line on standard output
    #[arg(long)]
    json: bool,
    /// Print only what is bad
    #[arg(long, short)]
    quiet: bool,
}

/// One line of `--json`; `docs/doctor.md` describes it.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line<'a> {
    Check(CheckLine<'a>),
    Peer(PeerLine<'a>),
    Result(ResultLine),
}

/// A finding.
#[derive(Debug, Serialize)]
struct CheckLine<'a> {
    check: &'a str,
    level: &'a str,
    code: &'a str,
    seen: &'a str,
    #[serde(rename = "do")]
    advice: Option<&'a str>,
}

/// What the exchange with one other machine came to.
#[derive(Debug, Serialize)]
struct PeerLine<'a> {
    name: &'a str,
    address: String,
    heard: u32,
    of: u32,
    hears_us: u32,
    of_ours: u32,
    rtt_ms: Option<f64>,
    duplicates: u32,
    left: bool,
}

/// The last line.
#[derive(Debug, Serialize)]
struct ResultLine {
    ok: bool,
    exit: u8,
    verdict: String,
    checks: usize,
    warnings: usize,
    bad: usize,
    peers: usize,
}

pub(crate) fn run(args: &DoctorArgs) -> Exit {
    match diagnose(args) {
        Ok(diagnosis) => conclude(args, &diagnosis),
        Err(failure) => give_up(args, &failure),
    }
}

fn diagnose(args: &DoctorArgs) -> Result<Diagnosis, Failure> {
    let examination = examination(args)?;
    if !args.json && !args.quiet {
        let time = units::seconds(examination.peer_wait);
        eprintln!("examining {}, listening {time} for other doctors", examination.group);
    }
    let mut show = |finding: &Finding| show(args, finding);
    examine(&examination, &mut show).map_err(|error| Failure::from(BuildError::Open(error)))
}

fn examination(args: &DoctorArgs) -> Result<Examination, Failure> {
    let spec: GroupSpec = args.group.parse().map_err(|error| group_failure(&error))?;
    let ttl = args.ttl.parse().map_err(|_| {
        let text = format!("ttl ({}): not from 0 to 255. Give 1 for the link", args.ttl);
        Failure::usage("ttl.invalid", text)
    })?;
    Ok(Examination {
        group: spec.group,
        interface: args.interface.clone().or(spec.interface),
        name: args.name.clone().unwrap_or_else(machine_name),
        peer_wait: units::time("peer wait", &args.peer_wait)?,
        ttl,
        rate: units::rate(&args.rate)?,
    })
}

fn group_failure(error: &GroupSpecError) -> Failure {
    let code = match error {
        GroupSpecError::NotMulticast { .. } => "group.not_multicast",
        _ => "group.invalid",
    };
    Failure::usage(code, error.to_string())
}

fn machine_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if name.trim().is_empty() { "unnamed".to_owned() } else { name.trim().to_owned() }
}

fn show(args: &DoctorArgs, finding: &Finding) {
    if args.json {
        print_json(&Line::Check(CheckLine {
            check: finding.check(),
            level: finding.level.name(),
            code: finding.code,
            seen: &finding.seen,
            advice: finding.advice.as_deref(),
        }));
    } else if !args.quiet || finding.level == Level::Bad {
        print_line(&finding.to_string());
    }
}

fn conclude(args: &DoctorArgs, diagnosis: &Diagnosis) -> Exit {
    let verdict = diagnosis.verdict();
    let exit = if verdict.is_fine() { Exit::Done } else { Exit::Failed };
    if args.json {
        diagnosis.peers.iter().for_each(|peer| print_json(&Line::Peer(peer_line(peer))));
        print_json(&Line::Result(ResultLine {
            ok: verdict.is_fine(),
            exit: exit as u8,
            verdict: verdict.to_string(),
            checks: diagnosis.findings.len(),
            warnings: verdict.warnings,
            bad: verdict.bad,
            peers: verdict.peers,
        }));
    } else if !args.quiet {
        print_line(&format!("verdict: {verdict}"));
    }
    exit
}

fn peer_line(peer: &PeerReport) -> PeerLine<'_> {
    let (hears_us, of_ours) = peer.hears_us.map_or((0, peer.our_probes), |h| (h.heard, h.of));
    PeerLine {
        name: &peer.name,
        address: peer.address.to_string(),
        heard: peer.heard,
        of: peer.of,
        hears_us,
        of_ours,
        // Microseconds are more than is known.
        rtt_ms: peer.rtt.map(|rtt| rtt.as_micros() as f64 / 1e3),
        duplicates: peer.duplicates,
        left: peer.left,
    }
}

fn give_up(args: &DoctorArgs, failure: &Failure) -> Exit {
    eprintln!("{failure}");
    if args.json {
        let message = json::Line::message(failure.code, failure.to_string());
        print_line(&json::Line::Error(message).to_text());
        print_line(&json::Line::early_result(failure.exit as u8).to_text());
    }
    failure.exit
}

fn print_json(line: &Line<'_>) {
    // Plain data with string keys: it always can be written.
    print_line(&serde_json::to_string(line).unwrap_or_default());
}
