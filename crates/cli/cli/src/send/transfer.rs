//! One sending, from the files to the exit code.

use std::{
    net::SocketAddr,
    sync::mpsc::RecvTimeoutError,
    time::{Duration, Instant},
};

use fanfare_command::config::Reload;
use fanfare_command::json::{Line, Resuming, Sending, SignedLine, Start, Waiting};
use fanfare_command::shims::chain;
use fanfare_command::{Exit, Failure, Output, input, interrupt, units};
use fanfare_files::{
    Gathering, LayeredError, SendEvent, SlowVerdict, Sources, Transfer, TransferError,
    TransferEvent, event::Receipt,
};
use fanfare_node::proto::{Bitrate, CongestionControl};

use super::{
    choice,
    conclusion::{ClosingHints, conclude},
    plain_receivers::PlainReceivers,
    plan::SendPlan,
    progress::Progress,
    receipts::Receipts,
    roster::Roster,
    skipped::Skipped,
};
use crate::warnings::{self, KeyMistake};

/// How often to look whether the node still lives; events come at once.
const POLL: Duration = Duration::from_millis(500);

/// Hashing that takes so long is told, where there is no bar.
const HASHING_TOLD: Duration = Duration::from_secs(5);

/// Below this rate, bits per second, a packet of 1,400 bytes takes longer than ten seconds: somebody meant
/// megabits.
const SLOWEST: u64 = 1000;

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
    let plan = meet(plan, output)?;
    let shown = plan.output;
    let SendPlan {
        mut options,
        signing,
        congestion,
        rate,
        builder,
        layered,
        hosts,
        adapt,
        is_public,
        ..
    } = plan;
    let record = plan.record;
    signing.apply(&mut options)?;
    let (files, is_stream) = (sources.file_count(), sources.is_stream());
    let objects = sources.files.len() as u64 + u64::from(is_stream);
    let bytes = sources.bytes;
    let size = sources.stream_size();
    let mut watched = Watched {
        receipts,
        plain: PlainReceivers::new(sources.has_packs() || is_stream),
        roster: Roster::of_stream(size),
        keys: KeyMistake::default(),
        progress: Progress::default(),
        total: bytes,
        waits: false,
        there: 0,
        reads_input: is_stream,
    };
    let expect = options.expect.clone();
    let wait = options.start.and_then(|start| start.first).unwrap_or(options.wait);
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
    if rate.as_bps() < SLOWEST && layered.is_none() {
        let text =
            format!("rate ({rate}): a packet takes longer than ten seconds. Write megabits as 10M");
        output.warn("rate.low", text);
    }
    let on_interface =
        node.interface().map_or_else(String::new, |i| format!(" --interface {}", i.name));
    let adapting = adapt.map(|plan| {
        let set = node.rate_setter();
        let within = move |most: Option<Bitrate>| set(most.map_or(rate, |most| rate.min(most)));
        fanfare_command::view::follow(plan, Output::new(shown), within)
    });
    watch(&node, output, &mut watched, reload);
    drop(adapting);
    output.clear();
    let finished = node.finish();
    watched.receipts.close()?;
    let waited = match hosts.1 {
        true => format!("{group} in {}", units::seconds(wait)),
        false => format!("{to} in {}", units::seconds(wait)),
    };
    let doctor = format!("fanfare doctor --group {group}{on_interface}");
    let explain = |failure| watched.keys.explain(failure);
    let hints = ClosingHints { waited: &waited, doctor: &doctor, port: group.port(), is_public };
    let exit = conclude(output, finished, explain, &expect, &hints);
    if let Some(record) = &record {
        chain::note_sent(record);
    }
    Ok(exit)
}

/// Waits for those who have the code, if there is one.
fn meet(mut plan: SendPlan, output: &Output) -> Result<SendPlan, Failure> {
    if let Some(hosting) = plan.hosting.take() {
        plan.builder = Transfer::over(hosting.meet(output)?);
    }
    Ok(plan)
}

fn gather(plan: &SendPlan, output: &Output) -> Result<Sources, Failure> {
    plan.doubtful.iter().for_each(|text| output.warn("to.several", text));
    if let Some(path) = plan.stream() {
        let sources = Sources::open_stream(path, &plan.gather.stdin_name)?;
        let mounts = sources.mounts().into_iter().filter(|mounted| mounted.is_writable);
        let at: Vec<String> = mounts.map(|mounted| mounted.at).collect();
        if !at.is_empty() {
            let (path, at) = (path.display(), at.join(", "));
            let text = format!(
                "{path}, or a part of it, is mounted at {at}: what is written there meanwhile makes the copy \
                 useless. Unmount it, or mount it read-only"
            );
            output.warn("source.mounted", text);
        }
        return Ok(sources);
    }
    let mut skipped = Skipped::default();
    let (begun, mut is_told) = (Instant::now(), false);
    let mut report = |gathering: Gathering<'_>| match gathering {
        Gathering::Hashed(bytes) if !is_told && begun.elapsed() >= HASHING_TOLD => {
            is_told = true;
            let text = "hashing everything before it is sent: that takes as long as reading it";
            output.text(&format!("{text}. {} so far", units::size(bytes)));
        }
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
    keys: KeyMistake,
    progress: Progress,
    total: u64,
    /// Receivers that are expected are not there yet.
    waits: bool,
    /// Number of those that are.
    there: usize,
    /// Standard input may be what is sent.
    reads_input: bool,
}

fn watch(node: &Transfer, output: &Output, watched: &mut Watched, mut reload: Reload<SendPlan>) {
    loop {
        reload.on_hangup(node, output);
        if watched.waits && (interrupt::take_go() || (!watched.reads_input && input::took_enter()))
        {
            if watched.there > 0 {
                node.start_now();
            } else {
                output.warn(
                    "start.nobody",
                    "nobody is there yet, so nothing is sent. It goes on waiting",
                );
            }
        }
        match node.next_event(POLL) {
            Ok(TransferEvent::Send(event)) => {
                if let Some(message) = watched.plain.on_event(&event) {
                    output.warn("packs.unreadable", message);
                }
                if let SendEvent::KeyRefused { receiver, key, revoked } = &event {
                    let key = key.map(|key| key.to_string());
                    watched.keys.on_refused_key(&receiver.label(), key.as_deref(), *revoked);
                }
                if let SendEvent::Receiver(view) = &event {
                    watched.roster.on_receiver(view, output);
                }
                show(&event, output, watched);
            }
            Ok(event) => {
                watched.keys.on_event(&event);
                warnings::of_transfer(&event, output);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn show(event: &SendEvent, output: &Output, watched: &mut Watched) {
    match event {
        SendEvent::Receiver(view) => {
            output.event(&Line::receiver(view));
            output.spin(format!("{} {}", view.label(), view.state.map_or("", |s| s.name())));
        }
        SendEvent::Waiting { receivers, expected, missing } => {
            (watched.waits, watched.there) = (true, *receivers);
            let (receivers, expected) = (*receivers as u64, *expected as u64);
            let names = missing.join(", ");
            let here = match missing.is_empty() {
                true => format!("{receivers} of {expected} receivers are here"),
                false => format!("waiting for {names} ({receivers} of {expected} are here)"),
            };
            let may_start = receivers > 0 && !watched.reads_input;
            let hint = if may_start { ". Enter starts with them" } else { "" };
            output.spin(format!("{here}{hint}"));
            output.event(&Line::Waiting(Waiting { receivers, expected, missing: missing.clone() }));
        }
        SendEvent::Slow { receiver, verdict, rate } => {
            output.event(&Line::slow(receiver, *verdict, *rate));
            let (label, then) = (receiver.label(), consequence(*verdict));
            output.text(&format!("receiver {label} gets {rate}: {then}"));
        }
        SendEvent::Started { receivers } => {
            watched.waits = false;
            output.event(&Line::Sending(Sending { receivers: *receivers as u64 }));
        }
        SendEvent::Resuming { object, name } => {
            output.event(&Line::Resuming(Resuming { object: *object, file: name.clone() }));
            output.text(&format!("resuming '{name}': every receiver has a part of it, or all"));
        }
        SendEvent::Progress(progress) => {
            output.event(&Line::send_progress(progress));
            watched.progress.on_progress(Instant::now(), progress, output);
        }
        SendEvent::Receivers(each) => {
            output.event(&Line::receivers(each, watched.total));
            watched.progress.on_receivers(each, output);
        }
        SendEvent::Signed(signed) => {
            let line = Line::Signed(SignedLine::of(signed));
            output.event(&line);
            watched.receipts.write(&output.line_text(&line));
        }
        SendEvent::Sent { name, bytes, packed } => {
            let text = |name: &str, bytes| format!("sent '{name}', {}", units::size(bytes));
            match packed {
                None => output.detail(|| text(name, *bytes)),
                Some(files) => {
                    files.iter().for_each(|file| output.detail(|| text(file.name, file.bytes)));
                }
            }
        }
        SendEvent::Receipt(receipt) => show_receipt(receipt, output, &mut watched.receipts),
        SendEvent::Reported { receiver, name, reason } => {
            output.event(&Line::reported(receiver, name, *reason));
            let label = receiver.label();
            output.text(&format!("receiver {label}: '{name}': {}", reason.name()));
        }
        SendEvent::SourceChanged(path) => {
            let text = format!(
                "file ({}): changed while it was sent. What it is now is sent in its place",
                path.display()
            );
            output.warn("source.again", text);
        }
        SendEvent::KeyRefused { .. } => {}
    }
}

/// A line for each file: nobody knows what is in a pack.
fn show_receipt(receipt: &Receipt, output: &Output, receipts: &mut Receipts) {
    let who = receipt.receiver.label();
    if output.tells_events() {
        output.events(Line::receipts(receipt));
    }
    if receipts.are_kept() {
        Line::receipts(receipt).for_each(|line| receipts.write(&output.line_text(&line)));
    }
    match &receipt.packed {
        None => output.detail(|| format!("{who} has '{}'", receipt.file)),
        Some(files) => {
            files.iter().for_each(|file| output.detail(|| format!("{who} has '{}'", file.name)));
        }
    }
}

fn consequence(verdict: SlowVerdict) -> &'static str {
    match verdict {
        SlowVerdict::Deferred => "it is finished last",
        SlowVerdict::Restored => "it is no longer slow",
        SlowVerdict::Evicted => "it is dropped",
    }
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
