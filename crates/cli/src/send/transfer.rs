//! One sending, from the files to the exit code.

use std::{net::SocketAddr, sync::mpsc::RecvTimeoutError, time::Duration};

use fanfare_command::{Exit, Failure, Output, interrupt, units};
use fanfare_files::{
    Expect, Gathering, LayeredError, SendEvent, SlowVerdict, Sources, Transfer, TransferError,
    TransferEvent,
    event::{Finished, Outcome, SendEnd, SendProgress, SendReport},
};
use fanfare_node::proto::CongestionControl;

use super::{
    choice, plain_receivers::PlainReceivers, plan::SendPlan, receipts::Receipts, roster::Roster,
    skipped::Skipped,
};
use crate::{
    config::Reload,
    json::{Line, Resuming, Sending, Start, Waiting},
    warnings,
};

/// How often to look whether the node still lives; events come at once.
const POLL: Duration = Duration::from_millis(500);

/// More hosts than these are counted, not listed.
const HOSTS_LISTED: usize = 4;

/// Sends, and says what came of it.
pub(crate) fn run(plan: SendPlan, reload: Reload<SendPlan>, output: &Output) -> Exit {
    send(plan, reload, output).unwrap_or_else(|failure| fanfare_command::give_up(output, &failure))
}

/// From the files to the exit code.
pub(super) fn send(
    plan: SendPlan,
    reload: Reload<SendPlan>,
    output: &Output,
) -> Result<Exit, Failure> {
    if plan.stream().is_none() {
        Sources::check(&plan.paths)?;
    }
    if plan.dry_run {
        return choice::dry_run(&plan, output);
    }
    plan.builder.check()?;
    let receipts = Receipts::open(plan.receipts.as_deref())?;
    let sources = gather(&plan, output)?;
    let SendPlan { options, congestion, rate, builder, layered, hosts, .. } = plan;
    let (files, is_stream) = (sources.file_count(), sources.is_stream());
    let objects = sources.files.len() as u64 + u64::from(is_stream);
    let bytes = sources.bytes;
    let mut watched = Watched {
        receipts,
        plain: PlainReceivers::new(sources.has_packs() || is_stream),
        roster: Roster::default(),
    };
    let (expect, wait) = (options.expect.clone(), options.wait);
    let node = match (&layered, sources.files.front()) {
        (Some(layered), Some(file)) if objects == 1 => builder.send_layered(file, layered)?,
        (Some(_), _) => return Err(TransferError::Layers(LayeredError::Many).into()),
        (None, _) => builder.send(sources, options).start()?,
    };
    interrupt::stop_on_interrupt(node.stopper());
    output.event(&Line::Start(Start {
        group: node.group().to_string(),
        node_id: node.id().0,
        interface: node.interface().map(|interface| interface.name.clone()),
        objects: Some(objects),
        bytes: Some(bytes).filter(|_| !is_stream),
        dir: None,
    }));
    let on = node.interface().map_or_else(String::new, |i| format!(" on {}", i.name));
    let what = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
    let what = match is_stream {
        true => "as it is read".to_owned(),
        false => format!("{what}, {}", units::size(bytes)),
    };
    let pace = match congestion {
        _ if layered.is_some() => format!("over layers, {rate} together at most"),
        CongestionControl::Fixed => format!("at {rate}"),
        _ => format!("as fast as the path allows, at most {rate}"),
    };
    let group = node.group();
    let to = destination(&format!("{group}{on}"), &hosts);
    output.text(&format!("sending {what} to {to} {pace}"));
    let on_interface =
        node.interface().map_or_else(String::new, |i| format!(" --interface {}", i.name));
    watch(&node, output, &mut watched, reload);
    output.clear();
    let finished = node.finish();
    watched.receipts.close()?;
    let waited = match hosts.1 {
        true => format!("{group} in {}", units::seconds(wait)),
        false => format!("{to} in {}", units::seconds(wait)),
    };
    let doctor = format!("fanfare doctor --group {group}{on_interface}");
    Ok(conclude(output, finished, &expect, (&waited, &doctor)))
}

fn gather(plan: &SendPlan, output: &Output) -> Result<Sources, Failure> {
    if let Some(path) = plan.stream() {
        return Ok(Sources::open_stream(path, &plan.gather.stdin_name)?);
    }
    let mut skipped = Skipped::default();
    let mut report = |gathering: Gathering<'_>| match gathering {
        Gathering::Hashed(bytes) => output.spin(format!("hashing: {}", units::size(bytes))),
        Gathering::SkippedLink(path) => skipped.links.add(path),
        Gathering::SkippedOther(path) => skipped.others.add(path),
    };
    let paths = choice::paths(plan)?;
    let sources = Sources::gather_as(&paths, &plan.gather, &mut report)?;
    skipped.warn(output);
    Ok(sources)
}

/// What is kept while watching.
struct Watched {
    receipts: Receipts,
    plain: PlainReceivers,
    roster: Roster,
}

fn watch(node: &Transfer, output: &Output, watched: &mut Watched, mut reload: Reload<SendPlan>) {
    loop {
        reload.on_hangup(node, output);
        match node.next_event(POLL) {
            Ok(TransferEvent::Send(event)) => {
                if let Some(message) = watched.plain.on_event(&event) {
                    output.warn("packs.unreadable", message);
                }
                if let SendEvent::Receiver(view) = &event {
                    watched.roster.on_receiver(view, output);
                }
                show(&event, output, &mut watched.receipts);
            }
            Ok(event) => warnings::of_transfer(&event, output),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn show(event: &SendEvent, output: &Output, receipts: &mut Receipts) {
    match event {
        SendEvent::Receiver(view) => {
            output.event(&Line::receiver(view));
            output.spin(format!("{} {}", view.label(), view.state.map_or("", |s| s.name())));
        }
        SendEvent::Waiting { receivers, expected, missing } => {
            let (receivers, expected) = (*receivers as u64, *expected as u64);
            let names = missing.join(", ");
            let names = if missing.is_empty() { String::new() } else { format!(": {names}") };
            output.spin(format!("{receivers} here, waiting for {expected}{names}"));
            output.event(&Line::Waiting(Waiting { receivers, expected, missing: missing.clone() }));
        }
        SendEvent::Slow { receiver, verdict, rate } => {
            output.event(&Line::slow(receiver, *verdict, *rate));
            let (label, then) = (receiver.label(), consequence(*verdict));
            output.text(&format!("receiver {label} gets {rate}: {then}"));
        }
        SendEvent::Started { receivers } => {
            output.event(&Line::Sending(Sending { receivers: *receivers as u64 }));
        }
        SendEvent::Resuming { object, name } => {
            output.event(&Line::Resuming(Resuming { object: *object, file: name.clone() }));
            output.text(&format!("resuming '{name}': every receiver has it, or a part of it"));
        }
        SendEvent::Progress(progress) => {
            output.event(&Line::send_progress(progress));
            output.progress(progress.sent_bytes, progress.total_bytes, describe(progress));
        }
        SendEvent::Receipt(receipt) => {
            let line = Line::receipt(receipt);
            output.event(&line);
            receipts.write(&output.line_text(&line));
        }
        SendEvent::Reported { receiver, name, reason } => {
            output.event(&Line::reported(receiver, name, *reason));
            let label = receiver.label();
            output.text(&format!("receiver {label}: '{name}': {}", reason.name()));
        }
        SendEvent::SourceChanged(_) => {}
    }
}

fn consequence(verdict: SlowVerdict) -> &'static str {
    match verdict {
        SlowVerdict::Deferred => "it is finished last",
        SlowVerdict::Restored => "it is no longer slow",
        SlowVerdict::Evicted => "it is dropped",
    }
}

fn describe(p: &SendProgress) -> String {
    let lossiest = p.lossiest.as_ref().map_or_else(String::new, |(view, loss)| {
        format!(", {} loses {:.1} %", view.label(), loss * 100.0)
    });
    let repair = (p.repair_bytes * 100).checked_div(p.wire_bytes).unwrap_or(0);
    let (done, of, rate, limit) = (p.complete, p.receivers, p.rate, &p.limit);
    format!("{done} done of {of}, repair {repair} %{lossiest}, {rate}: {limit}")
}

/// The last words, and the exit code.
fn conclude(output: &Output, finished: Finished, expect: &Expect, hints: (&str, &str)) -> Exit {
    let Some(report) = finished.sent else { return Exit::Failed };
    table(output, &report);
    let failure = failure_of(&report, expect, hints);
    let exit = failure.as_ref().map_or(Exit::Done, |failure| failure.exit);
    match &failure {
        Some(failure) if exit != Exit::Interrupted => output.failure(failure),
        _ => {}
    }
    if output.is_json() {
        output.event(&Line::send_result(&report, finished.stats.bytes_sent, exit as u8));
    }
    exit
}

/// Where packets go, for people.
fn destination(group: &str, (hosts, with_group): &(Vec<SocketAddr>, bool)) -> String {
    let listed = match hosts.as_slice() {
        [] => return group.to_owned(),
        [one] => format!("host {}", one.ip()),
        few if few.len() <= HOSTS_LISTED => {
            let all: Vec<String> = few.iter().map(|host| host.ip().to_string()).collect();
            format!("hosts {}", all.join(", "))
        }
        many => format!("{} hosts", many.len()),
    };
    if *with_group { format!("{group} and {listed}") } else { listed }
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
            format!("file ({}): it changed again while it was being sent. Send it again", shown);
        return Some(Failure::new(Exit::Partial, "source.changed", text));
    }
    if let Some((path, why)) = &report.broken {
        let text = format!("stream ({}): cannot be read ({why}). Send it again", path.display());
        return Some(Failure::new(Exit::Failed, "source.unreadable", text));
    }
    match report.end {
        SendEnd::Complete | SendEnd::Interrupted => None,
        SendEnd::NobodyAnswered => {
            let text = format!(
                "no receiver answered on {waited}. Start receivers with 'fanfare recv', or send \
                 to whoever listens with --one-way. To find the cause, run '{doctor}'"
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
        output.text(&format!(
            "{:<20} {:<11} loss {:>5.1} %  NACKs {:>4}  {:>7.2} s",
            result.view.label(),
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
