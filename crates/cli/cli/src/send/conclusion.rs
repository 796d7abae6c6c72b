//! How a sending ended: a line for each receiver, what to do about it, and the exit code.

use std::time::Duration;

use fanfare_command::json::Line;
use fanfare_command::{Exit, Failure, Output, units};
use fanfare_files::{
    Expect,
    event::{Finished, Limit, Outcome, ReceiverResult, SendEnd, SendReport},
};
use fanfare_node::proto::congestion::Reason;

/// Transfers of this length and longer are told what limited their rate.
const LIMIT_TOLD: Duration = Duration::from_secs(2);

/// Words for a sending that nobody answered.
pub(super) struct ClosingHints<'a> {
    /// Place where answers were waited for, and time.
    pub(super) waited: &'a str,
    /// The command that looks for the cause.
    pub(super) doctor: &'a str,
    /// The group's port.
    pub(super) port: u16,
    /// A host that was named has a public address, and nothing is sealed.
    pub(super) is_public: bool,
}

/// Words for somebody who has pressed Ctrl-C.
const INTERRUPTED: &str =
    "interrupted. Receivers keep what they have of files: the same command sends the rest";

/// The last words, and the exit code.
pub(super) fn conclude(
    output: &Output,
    finished: Finished,
    explain: impl FnOnce(Option<Failure>) -> Option<Failure>,
    expect: &Expect,
    hints: &ClosingHints<'_>,
) -> Exit {
    let Some(report) = finished.sent else { return Exit::Failed };
    table(output, &report);
    let failure = explain(failure_of(&report, expect, hints));
    if failure.is_none() {
        output.text(&closing(&report, expect, finished.stats.bytes_sent));
    }
    let exit = failure.as_ref().map_or(Exit::Done, |failure| failure.exit);
    match &failure {
        Some(failure) if exit != Exit::Interrupted => output.failure(failure),
        Some(_) => output.text(INTERRUPTED),
        None => {}
    }
    if output.tells_result() {
        output.event(&Line::send_result(&report, finished.stats.bytes_sent, exit as u8));
    }
    exit
}

fn failure_of(report: &SendReport, expect: &Expect, hints: &ClosingHints<'_>) -> Option<Failure> {
    if report.end == SendEnd::Interrupted {
        return Some(Failure::new(Exit::Interrupted, "interrupted", "interrupted"));
    }
    if let Some(path) = report.changed.first() {
        let more = report.changed.len() - 1;
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let shown = format!("{}{more}", path.display());
        let text =
            format!("file ({shown}): it changed again while it was being sent. Send it again");
        return Some(Failure::new(Exit::Partial, "source.changed", text));
    }
    if let Some((path, why)) = &report.broken {
        let text = format!("stream ({}): cannot be read ({why}). Send it again", path.display());
        return Some(Failure::new(Exit::Failed, "source.unreadable", text));
    }
    match report.end {
        SendEnd::Complete | SendEnd::Interrupted => None,
        SendEnd::NobodyAnswered => {
            let ClosingHints { waited, doctor, port, is_public } = hints;
            let (other, firewalls) = match expect {
                Expect::Hosts(_) => (
                    "without --silent: one that answers nothing cannot be reached with --to",
                    "Their firewalls",
                ),
                _ => ("or send to whoever listens with --one-way", "Firewalls of both sides"),
            };
            let source = if *is_public { " --source THIS-ADDRESS' or a key" } else { "'" };
            let text = format!(
                "receivers (0): no receiver answered on {waited}. Start receivers with 'fanfare \
                 recv{source}, {other}. {firewalls} must let in UDP port {port}. To find the cause, run \
                 '{doctor}'"
            );
            Some(Failure::new(Exit::Nobody, "nobody", text))
        }
        SendEnd::Partial => {
            let wanted = wanted(expect, report.receivers.len());
            let lacking = lacking(report);
            let text = format!(
                "receivers ({} of {wanted} complete): {lacking}. Send again to those",
                report.complete()
            );
            Some(Failure::new(Exit::Partial, "partial", text))
        }
    }
}

/// True if the limit of the rate says something to who reads it at the end. A short transfer was limited by
/// its length.
fn tells(limit: &Limit, report: &SendReport) -> bool {
    let is_idle = matches!(limit.reason, Reason::NoFeedback | Reason::Start);
    report.elapsed >= LIMIT_TOLD && !(is_idle && report.end == SendEnd::Complete)
}

/// The last sentence after success: who has it, how much it was and how long it took.
fn closing(report: &SendReport, expect: &Expect, wire: u64) -> String {
    let (complete, all) = (report.complete(), report.receivers.len());
    let seconds = report.elapsed.as_secs_f64();
    let bytes = units::size(report.bytes);
    let sent = units::size(wire);
    if all == 0 {
        return format!("sent {bytes} in {seconds:.1} s: nobody was asked who has it");
    }
    let wanted = wanted(expect, all).max(complete);
    let what = if report.bytes == 0 { String::new() } else { format!(": {bytes}") };
    let who = match wanted {
        1 => "the receiver has".to_owned(),
        _ => format!("{complete} of {wanted} receivers have"),
    };
    format!("{who} everything{what} in {seconds:.1} s, {sent} sent")
}

/// How many are to have everything.
fn wanted(expect: &Expect, all: usize) -> usize {
    match expect {
        Expect::Anyone => all,
        Expect::Count(count) => *count,
        Expect::Names(names) => names.len(),
        Expect::Hosts(hosts) => hosts.len(),
    }
}

fn lacking(report: &SendReport) -> String {
    let incomplete = report
        .receivers
        .iter()
        .filter(|result| result.outcome != Outcome::Complete)
        .map(|result| format!("{} {}", result.view.label(), result.outcome.name()));
    let missing = report.missing.iter().map(|name| format!("{name} missing"));
    let listed: Vec<String> = incomplete.chain(missing).collect();
    if listed.is_empty() { "the others did not answer".to_owned() } else { listed.join(", ") }
}

fn table(output: &Output, report: &SendReport) {
    for name in &report.missing {
        output.text(&format!("{name:<20} missing"));
    }
    let mut results: Vec<&ReceiverResult> = report.receivers.iter().collect();
    results.sort_by_key(|result| (result.view.name.clone(), result.source));
    for result in results {
        let address = result.source.map_or_else(String::new, |source| source.ip().to_string());
        // 80 columns, the width of a terminal.
        output.text(&format!(
            "{:<18} {address:<15} {:<11} loss {:>4.1} %  NACKs {:>4} {:>7.2} s",
            result.view.name.clone().unwrap_or_else(|| result.view.label()),
            result.outcome.name(),
            result.loss * 100.0,
            result.nacks,
            result.elapsed.as_secs_f64()
        ));
        if let Outcome::Partial { failures, .. } = &result.outcome {
            for (name, reason) in failures {
                output.text(&format!("    '{name}': {}", reason.name()));
            }
        }
    }
    if let Some(limit) = report.limit.as_ref().filter(|limit| tells(limit, report)) {
        output.text(&format!("what limited the rate longest: {limit}"));
    }
}
