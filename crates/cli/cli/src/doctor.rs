//! `fanfare doctor`: why multicast does or does not work here.

use fanfare_monitor::doctor::{Diagnosis, Examination, Finding, Level, PeerReport, examine};
use fanfare_node::JoinError;
use serde::Serialize;

use fanfare_command::{Exit, Failure, Notice, print_line, say, to_text, units};

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

/// What is examined, and how that is shown.
#[derive(Debug)]
pub(crate) struct DoctorPlan {
    pub(crate) subjects: Vec<Subject>,
    pub(crate) shown: Shown,
}

/// How findings are shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown {
    pub(crate) json: bool,
    /// Only what is bad.
    pub(crate) quiet: bool,
}

/// One group to be examined.
#[derive(Debug)]
pub(crate) struct Subject {
    /// What a node's file calls it, where it has several.
    pub(crate) name: Option<String>,
    pub(crate) examination: Examination,
}

/// Examines all groups.
pub(crate) fn run(plan: &DoctorPlan) -> Exit {
    let DoctorPlan { subjects, shown } = plan;
    run_all(*shown, subjects).unwrap_or_else(|failure| give_up(*shown, &failure))
}

/// Says why there is nothing to examine.
pub(crate) fn refuse(shown: Shown, failures: &[Failure]) -> Exit {
    let Some((last, others)) = failures.split_last() else { return Exit::Failed };
    for failure in others {
        say(failure);
        print_error(shown, failure);
    }
    give_up(shown, last)
}

fn run_all(shown: Shown, subjects: &[Subject]) -> Result<Exit, Failure> {
    let mut all = Vec::new();
    for subject in subjects {
        let name = subject.name.as_deref();
        let diagnosis = diagnose(shown, subject).map_err(|failure| match name {
            Some(name) => failure.of_group(name),
            None => failure,
        })?;
        all.push(conclude(shown, name, &diagnosis));
    }
    let fine = all.iter().filter(|line| line.ok).count();
    let exit = if fine == all.len() { Exit::Done } else { Exit::Failed };
    if subjects.iter().any(|subject| subject.name.is_some()) {
        let sum = |count: fn(&ResultLine) -> usize| all.iter().map(count).sum();
        let verdict = format!("{fine} of {} groups are fine", all.len());
        if !shown.json && !shown.quiet {
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
        print_json(shown, None, &Line::Result(line));
    }
    Ok(exit)
}

fn diagnose(shown: Shown, subject: &Subject) -> Result<Diagnosis, Failure> {
    let Subject { name, examination } = subject;
    if !shown.json && !shown.quiet {
        let time = units::seconds(examination.peer_wait);
        let name = name.as_ref().map_or_else(String::new, |name| format!("group {name}: "));
        let group = &examination.group;
        say(&format_args!("{name}examining {group}, listening {time} for other doctors"));
    }
    let mut show = |finding: &Finding| show(shown, name.as_deref(), finding);
    examine(examination, &mut show).map_err(|error| Failure::from(JoinError::Open(error)))
}

fn show(shown: Shown, name: Option<&str>, finding: &Finding) {
    let line = Line::Check(CheckLine {
        check: finding.check(),
        level: finding.level.name(),
        code: finding.code,
        seen: &finding.seen,
        advice: finding.advice.as_deref(),
    });
    print_json(shown, name, &line);
    if !shown.json && (!shown.quiet || finding.level == Level::Bad) {
        let name = name.map_or_else(String::new, |name| format!("{name}: "));
        print_line(&format!("{name}{finding}"));
    }
}

/// Says what came of one group; `name`: it is one of several.
fn conclude(shown: Shown, name: Option<&str>, diagnosis: &Diagnosis) -> ResultLine {
    let verdict = diagnosis.verdict();
    let exit = if verdict.is_fine() { Exit::Done } else { Exit::Failed };
    for peer in &diagnosis.peers {
        print_json(shown, name, &Line::Peer(peer_line(peer)));
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
    print_json(shown, name, &told);
    if !shown.json && !shown.quiet {
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

fn give_up(shown: Shown, failure: &Failure) -> Exit {
    say(failure);
    print_error(shown, failure);
    if shown.json {
        print_line(&to_text(&Notice::result(failure.exit as u8)));
    }
    failure.exit
}

fn print_error(shown: Shown, failure: &Failure) {
    if shown.json {
        let message = failure.to_string();
        print_line(&to_text(&Notice::Error { code: failure.code, message: &message }));
    }
}

/// Where JSON is asked for; `name`: about this group of several.
fn print_json(shown: Shown, name: Option<&str>, line: &Line<'_>) {
    if shown.json {
        let line = GroupLine { line, within: name };
        print_line(&to_text(&line));
    }
}
