//! `fanfare doctor`: why multicast does or does not work here.

use std::{net::SocketAddr, path::PathBuf};

use clap::Args;
use fanfare_doctor::{Diagnosis, Examination, Finding, Level, PeerReport, examine};
use fanfare_node::{GroupSpec, GroupSpecError, JoinError};
use serde::Serialize;

use crate::{
    config,
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
    /// Examine every group in this file of 'fanfare node', one after the other
    #[arg(long, value_name = "FILE", conflicts_with_all = ["group", "interface", "ttl"])]
    node: Option<PathBuf>,
    /// Listen this long for doctors on other machines
    #[arg(long, default_value = "5s", value_name = "TIME")]
    peer_wait: String,
    /// Routers to pass, plus one
    #[arg(long, default_value = "1", value_name = "N")]
    ttl: String,
    /// Rate at which receive buffers should last for 100 ms
    #[arg(long, default_value = "100M", value_name = "RATE", allow_hyphen_values = true)]
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

/// One line of `--json`; `docs/reference/doctor.md` describes it.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line<'a> {
    Check(CheckLine<'a>),
    Peer(PeerLine<'a>),
    /// Of one group of several.
    Verdict(ResultLine),
    Result(ResultLine),
}

/// The same about one group of a node's file.
#[derive(Debug, Serialize)]
struct GroupLine<'a> {
    #[serde(flatten)]
    line: &'a Line<'a>,
    #[serde(rename = "in", skip_serializing_if = "Option::is_none")]
    within: Option<&'a str>,
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
#[derive(Debug, Clone, Serialize)]
struct ResultLine {
    ok: bool,
    exit: u8,
    verdict: String,
    checks: usize,
    warnings: usize,
    bad: usize,
    peers: usize,
}

/// What is examined.
struct Subject {
    /// What a node's file calls it, where it has several.
    name: Option<String>,
    examination: Examination,
}

pub(crate) fn run(args: &DoctorArgs) -> Exit {
    match subjects(args) {
        Ok(subjects) => run_all(args, &subjects).unwrap_or_else(|failure| give_up(args, &failure)),
        Err(failures) => {
            let (last, others) = (failures.last(), &failures[..failures.len().saturating_sub(1)]);
            for failure in others {
                eprintln!("{failure}");
                print_error(args, failure);
            }
            last.map_or(Exit::Failed, |failure| give_up(args, failure))
        }
    }
}

/// The one group of the command line, or those of a node's file.
fn subjects(args: &DoctorArgs) -> Result<Vec<Subject>, Vec<Failure>> {
    let Some(path) = &args.node else {
        let spec: Result<GroupSpec, _> = args.group.parse();
        let place = spec.map_err(|error| group_failure(&error)).and_then(|spec| {
            let interface = args.interface.clone().or(spec.interface);
            Ok((spec.group, interface, ttl(&args.ttl)?))
        });
        let examination = place.and_then(|place| examination(args, place));
        return Ok(vec![Subject {
            name: None,
            examination: examination.map_err(|one| vec![one])?,
        }]);
    };
    let subject = |(name, node): (Option<String>, crate::member::NodeArgs)| {
        let (spec, interface, ttl) = node.place()?;
        let examination = examination(args, (spec.group, interface.or(spec.interface), ttl))?;
        Ok(Subject { name, examination })
    };
    let groups = config::node_groups(path)?;
    groups.into_iter().map(subject).collect::<Result<_, Failure>>().map_err(|one| vec![one])
}

fn run_all(args: &DoctorArgs, subjects: &[Subject]) -> Result<Exit, Failure> {
    let mut all = Vec::new();
    for subject in subjects {
        let name = subject.name.as_deref();
        let diagnosis = diagnose(args, subject).map_err(|failure| match name {
            Some(name) => failure.of_group(name),
            None => failure,
        })?;
        all.push(conclude(args, name, &diagnosis));
    }
    let fine = all.iter().filter(|line| line.ok).count();
    let exit = if fine == all.len() { Exit::Done } else { Exit::Failed };
    if subjects.iter().any(|subject| subject.name.is_some()) {
        let sum = |count: fn(&ResultLine) -> usize| all.iter().map(count).sum();
        let verdict = format!("{fine} of {} groups are fine", all.len());
        if !args.json && !args.quiet {
            print_line(&format!("verdict: {verdict}"));
        }
        let line = ResultLine {
            ok: exit == Exit::Done,
            exit: exit as u8,
            verdict,
            checks: sum(|line| line.checks),
            warnings: sum(|line| line.warnings),
            bad: sum(|line| line.bad),
            peers: sum(|line| line.peers),
        };
        print_json(args, None, &Line::Result(line));
    }
    Ok(exit)
}

fn diagnose(args: &DoctorArgs, subject: &Subject) -> Result<Diagnosis, Failure> {
    let Subject { name, examination } = subject;
    if !args.json && !args.quiet {
        let time = units::seconds(examination.peer_wait);
        let name = name.as_ref().map_or_else(String::new, |name| format!("group {name}: "));
        eprintln!("{name}examining {}, listening {time} for other doctors", examination.group);
    }
    let mut show = |finding: &Finding| show(args, name.as_deref(), finding);
    examine(examination, &mut show).map_err(|error| Failure::from(JoinError::Open(error)))
}

fn ttl(text: &str) -> Result<u8, Failure> {
    text.parse().map_err(|_| {
        let text = format!("ttl ({text}): not from 0 to 255. Give 1 for the link");
        Failure::usage("ttl.invalid", text)
    })
}

fn examination(
    args: &DoctorArgs,
    (group, interface, ttl): (SocketAddr, Option<String>, u8),
) -> Result<Examination, Failure> {
    Ok(Examination {
        group,
        interface,
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

fn show(args: &DoctorArgs, name: Option<&str>, finding: &Finding) {
    let line = Line::Check(CheckLine {
        check: finding.check(),
        level: finding.level.name(),
        code: finding.code,
        seen: &finding.seen,
        advice: finding.advice.as_deref(),
    });
    print_json(args, name, &line);
    if !args.json && (!args.quiet || finding.level == Level::Bad) {
        let name = name.map_or_else(String::new, |name| format!("{name}: "));
        print_line(&format!("{name}{finding}"));
    }
}

/// Says what came of one group; `name`: it is one of several.
fn conclude(args: &DoctorArgs, name: Option<&str>, diagnosis: &Diagnosis) -> ResultLine {
    let verdict = diagnosis.verdict();
    let exit = if verdict.is_fine() { Exit::Done } else { Exit::Failed };
    for peer in &diagnosis.peers {
        print_json(args, name, &Line::Peer(peer_line(peer)));
    }
    let line = ResultLine {
        ok: verdict.is_fine(),
        exit: exit as u8,
        verdict: verdict.to_string(),
        checks: diagnosis.findings.len(),
        warnings: verdict.warnings,
        bad: verdict.bad,
        peers: verdict.peers,
    };
    let told = match name {
        Some(_) => Line::Verdict(line.clone()),
        None => Line::Result(line.clone()),
    };
    print_json(args, name, &told);
    if !args.json && !args.quiet {
        let name = name.map_or_else(String::new, |name| format!("{name}: "));
        print_line(&format!("{name}verdict: {verdict}"));
    }
    line
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
    print_error(args, failure);
    if args.json {
        print_line(&json::Line::early_result(failure.exit as u8).to_text());
    }
    failure.exit
}

fn print_error(args: &DoctorArgs, failure: &Failure) {
    if args.json {
        let message = json::Line::message(failure.code, failure.to_string());
        print_line(&json::Line::Error(message).to_text());
    }
}

/// Where JSON is asked for; `name`: about this group of several.
fn print_json(args: &DoctorArgs, name: Option<&str>, line: &Line<'_>) {
    if args.json {
        // Plain data with string keys: it always can be written.
        let line = GroupLine { line, within: name };
        print_line(&serde_json::to_string(&line).unwrap_or_default());
    }
}
