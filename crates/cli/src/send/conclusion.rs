//! How a sending ended: a line for each receiver, what to do about it, and the exit code.

use fanfare_command::{Exit, Failure, Output};
use fanfare_files::{
    Expect,
    event::{Finished, Outcome, SendEnd, SendReport},
};
use fanfare_json::Line;

/// The last words, and the exit code.
pub(super) fn conclude(
    output: &Output,
    finished: Finished,
    explain: impl FnOnce(Option<Failure>) -> Option<Failure>,
    expect: &Expect,
    hints: (&str, &str),
) -> Exit {
    let Some(report) = finished.sent else { return Exit::Failed };
    table(output, &report);
    let failure = explain(failure_of(&report, expect, hints));
    let exit = failure.as_ref().map_or(Exit::Done, |failure| failure.exit);
    match &failure {
        Some(failure) if exit != Exit::Interrupted => output.failure(failure),
        _ => {}
    }
    if output.tells_result() {
        output.event(&Line::send_result(&report, finished.stats.bytes_sent, exit as u8));
    }
    exit
}

fn failure_of(
    report: &SendReport,
    expect: &Expect,
    (waited, doctor): (&str, &str),
) -> Option<Failure> {
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
            let other = match expect {
                Expect::Hosts(_) => {
                    "without --silent: one that answers nothing cannot be reached with --to"
                }
                _ => "or send to whoever listens with --one-way",
            };
            let text = format!(
                "receivers (0): no receiver answered on {waited}. Start receivers with 'fanfare \
                 recv', {other}. To find the cause, run '{doctor}'"
            );
            Some(Failure::new(Exit::Nobody, "nobody", text))
        }
        SendEnd::Partial => {
            let wanted = match expect {
                Expect::Anyone => report.receivers.len(),
                Expect::Count(count) => *count,
                Expect::Names(names) => names.len(),
                Expect::Hosts(hosts) => hosts.len(),
            };
            let lacking = lacking(report);
            let text = format!(
                "receivers ({} of {wanted} complete): {lacking}. Send again to those",
                report.complete()
            );
            Some(Failure::new(Exit::Partial, "partial", text))
        }
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
    for result in &report.receivers {
        let address = result.source.map_or_else(String::new, |source| source.ip().to_string());
        output.text(&format!(
            "{:<20} {address:<15} {:<11} loss {:>5.1} %  NACKs {:>4}  {:>7.2} s",
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
    if let Some(limit) = &report.limit {
        output.text(&format!("what limited the rate longest: {limit}"));
    }
}
