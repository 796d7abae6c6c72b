//! One receiver, from joining to the exit code.

use std::{
    sync::mpsc::RecvTimeoutError,
    time::{Duration, Instant},
};

use fanfare_command::config::Reload;
use fanfare_command::json::{
    Bound, Evicted, Failed, Gone, LayersLine, Line, Mending, Object, Resumed, Sender, Start, Tree,
};
use fanfare_command::shims::chain;
use fanfare_command::{Exit, Failure, Output, interrupt, units};
use fanfare_files::{
    How, Placed, ReceiveEvent, SenderFilter, StreamTarget, TargetKind, Transfer, TransferEvent,
    event::{Finished, ReceiveEnd, ReceiveProgress, ReceiveReport},
    receipt::Reason,
};
use fanfare_node::proto::ObjectKey;

use super::{
    deletion,
    overruns::{self, Overruns},
    place::Place,
    plan::ReceivePlan,
};
use crate::{
    estimate::Estimate,
    warnings::{self, KeyMistake},
};

/// Longest silence of the sender of a transfer that has begun, unless another is given.
const SILENCE: Duration = Duration::from_secs(60);
/// How often to look whether the node still lives; events come at once.
const POLL: Duration = Duration::from_millis(500);

/// Times after which the user wants it to end.
struct TimeLimits {
    /// Text of the time as it was given.
    timeout: String,
    start_timeout: Option<Duration>,
    silence: Option<Duration>,
}

/// Receives, and says what came of it.
pub(crate) fn run(plan: ReceivePlan, reload: Reload<ReceivePlan>, output: &Output) -> Exit {
    receive(plan, reload, output)
        .unwrap_or_else(|failure| fanfare_command::give_up(output, &failure))
}

fn receive(
    plan: ReceivePlan,
    reload: Reload<ReceivePlan>,
    output: &Output,
) -> Result<Exit, Failure> {
    let ReceivePlan { dir, mut network, mut options, visiting, signing, timeout, .. } = plan;
    let record = plan.record;
    let told =
        TimeLimits { timeout, start_timeout: options.start_timeout, silence: options.silence };
    options.identity = signing.of_receiver()?;
    let keyed = matches!(options.from, SenderFilter::Key(_));
    let name = options.name.clone();
    let place = Place::new(dir, options.to.as_ref());
    let into = place.in_full();
    if let Some(visiting) = visiting {
        network = visiting.meet(network, options.timeout, output)?;
    }
    let node = Transfer::over(network).receive(&place.dir, options).start()?;
    interrupt::stop_on_interrupt(node.stopper());
    output.event(&Line::Start(Start {
        group: node.group().to_string(),
        node_id: node.id().0,
        interface: node.interface().map(|interface| interface.name.clone()),
        objects: None,
        bytes: None,
        dir: Some(place.to_string()),
    }));
    let on = node.interface().map_or_else(String::new, |i| format!(" on {}", i.name));
    let group = node.group();
    match node.awaited() {
        None => output.text(&format!("receiving from {group}{on} into {into} as {name}")),
        Some(interface) => output.warn("interface.awaited", warnings::interface_awaited(interface)),
    }
    let keys = watch(&node, (&place, keyed), output, reload);
    output.clear();
    let finished = node.finish();
    let chain = finished.received.as_ref().and_then(|report| report.place);
    let exit = conclude(output, finished, keys, &place, &told);
    if let Some(record) = record.filter(|_| exit == Exit::Done) {
        chain::note_received(&record, chain.map(|place| place.chain));
    }
    Ok(exit)
}

fn watch(
    node: &Transfer,
    (place, keyed): (&Place, bool),
    output: &Output,
    mut reload: Reload<ReceivePlan>,
) -> KeyMistake {
    let (mut overruns, mut estimate) = (Overruns::default(), Estimate::default());
    let mut keys = KeyMistake::default();
    loop {
        reload.on_hangup(node, output);
        match next_event(node, output) {
            Ok(TransferEvent::Receive(ReceiveEvent::Progress(progress))) => {
                show_progress(&progress, &mut estimate, output);
            }
            Ok(TransferEvent::Receive(event)) => {
                if let (ReceiveEvent::SenderRefused { id, .. }, true) = (&event, keyed) {
                    keys.on_other_signer(id.to_string());
                }
                show(&event, place, output);
            }
            Ok(TransferEvent::BufferOverrun { runs }) => {
                if let Some(text) = overruns.on_overrun(runs) {
                    output.warn("receive.overrun", text);
                }
            }
            Ok(event) => {
                keys.on_event(&event);
                warnings::of_transfer(&event, output);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                output.flush();
                return keys;
            }
        }
    }
}

/// What happens next. Files are printed together as long as one follows the other.
fn next_event(node: &Transfer, output: &Output) -> Result<TransferEvent, RecvTimeoutError> {
    match node.next_event(Duration::ZERO) {
        Err(RecvTimeoutError::Timeout) => {
            output.flush();
            node.next_event(POLL)
        }
        event => event,
    }
}

fn show(event: &ReceiveEvent, place: &Place, output: &Output) {
    match event {
        event @ (ReceiveEvent::Sender { .. }
        | ReceiveEvent::Bound { .. }
        | ReceiveEvent::SenderRefused { .. }) => show_sender(event, output),
        ReceiveEvent::Object { key, name, size } => {
            output.event(&Line::Object(Object {
                id: key.object.0,
                sender: key.sender.0,
                name: name.clone(),
                size: *size,
            }));
            if let Some(name) = name {
                output.detail(|| format!("receiving '{name}', {}", units::size(*size)));
            }
        }
        ReceiveEvent::Progress(_) => {}
        ReceiveEvent::Resumed { key, name, bytes, size } => {
            let shown = name.clone().unwrap_or_else(|| format!("object {}", key.object));
            let (had, all) = (units::size(*bytes), units::size(*size));
            output.text(&format!("resuming '{shown}': {had} of {all} are here"));
            output.event(&Line::Resumed(Resumed {
                id: key.object.0,
                sender: key.sender.0,
                name: name.clone(),
                bytes: *bytes,
                size: *size,
            }));
        }
        ReceiveEvent::Mending { key, name, bytes } => {
            let shown = name.clone().unwrap_or_else(|| format!("object {}", key.object));
            let wrong = units::size(*bytes);
            output.text(&format!("warning: '{shown}': {wrong} came wrong and are asked for again"));
            output.event(&Line::Mending(Mending {
                id: key.object.0,
                sender: key.sender.0,
                name: name.clone(),
                bytes: *bytes,
            }));
        }
        ReceiveEvent::File { key, placed, elapsed } => {
            show_file(*key, placed, elapsed.as_secs_f64(), place, output);
        }
        ReceiveEvent::Failed { key, name, reason } => {
            show_failed(*key, name.as_deref(), *reason, place, output);
        }
        ReceiveEvent::TooSmall { needed, room } => {
            output.warn("target.too_small", too_small(place, *needed, *room));
        }
        event @ (ReceiveEvent::Deleted { .. } | ReceiveEvent::Deletion { .. }) => {
            deletion::show(event, &place.dir, output);
        }
        ReceiveEvent::Tree { key, directories, links, hard_links } => {
            output.event(&Line::Tree(Tree {
                id: key.object.0,
                sender: key.sender.0,
                directories: *directories,
                links: *links,
                hard_links: *hard_links,
            }));
        }
        event @ (ReceiveEvent::Level { .. } | ReceiveEvent::Refused { .. }) => {
            show_layers(event, output);
        }
        ReceiveEvent::Evicted { id } => {
            output.text(&format!(
                "warning: sender {id} dropped this receiver: too little of what it sends arrives \
                 here"
            ));
            output.event(&Line::Evicted(Evicted { sender: id.0 }));
        }
        ReceiveEvent::SenderGone { id, said } => {
            output.event(&Line::Gone(Gone { id: id.0, said: *said }));
        }
    }
}

/// Nothing was written: what was there is there.
fn too_small(place: &Place, needed: u64, room: u64) -> String {
    let is_device = place.target.as_ref().is_some_and(|to| to.kind() == TargetKind::Device);
    let (all, here) = (units::size(needed), units::size(room));
    let advice = match is_device {
        true => "Write to a larger device",
        false => "Free some space there. If most of it is zeros, use --sparse",
    };
    format!(
        "{place} is too small: it has room for {here} ({room} bytes), and {all} ({needed} bytes) are sent. \
         Nothing was written. {advice}"
    )
}

fn show_progress(progress: &ReceiveProgress, estimate: &mut Estimate, output: &Output) {
    output.event(&Line::receive_progress(progress));
    estimate.on_done(Instant::now(), progress.bytes);
    let (bytes, total) = (units::size(progress.bytes), units::size(progress.total_bytes));
    let rate = estimate.rate().map_or_else(String::new, |rate| format!(", {rate}"));
    let left = estimate.left(progress.total_bytes);
    let left = left.map_or_else(String::new, |left| format!(", {} left", units::about(left)));
    if progress.total_bytes == 0 {
        return output.spin("waiting for a sender".to_owned());
    }
    let loss = progress.loss * 100.0;
    let loss = if loss < 0.05 { String::new() } else { format!(", loss {loss:.1} %") };
    let message = format!("{bytes} of {total}{rate}{left}{loss}");
    output.progress(progress.bytes, progress.total_bytes, message);
}

fn show_file(key: ObjectKey, placed: &Placed, seconds: f64, place: &Place, output: &Output) {
    let path = place.of(placed);
    output.file(&Line::file(key, placed, path.clone(), seconds), place.tells().then_some(&*path));
    match placed.how {
        How::Already => output.text(&format!("'{path}' is already here")),
        How::Beside => {
            output.text(&format!("'{path}' stands beside the file that was there"));
        }
        How::New | How::Replaced => {}
    }
    if let Some(wanted) = &placed.displaced {
        let obstacle = place.obstacle(wanted);
        output.text(&format!("warning: '{path}' has not its sender's name: {obstacle}"));
    } else if let Some(why) = placed.name_rejected {
        output.text(&format!("warning: '{path}' has not its sender's name: {why}"));
    }
}

/// Who is heard, and who is not.
fn show_sender(event: &ReceiveEvent, output: &Output) {
    match event {
        ReceiveEvent::Sender { id, source } => {
            output.event(&Line::Sender(Sender { id: id.0, source: source.to_string() }));
        }
        ReceiveEvent::Bound { id, source } => {
            let at = source.map_or_else(String::new, |source| format!(" at {}", source.ip()));
            output.text(&format!("receiving from sender {id}{at} only"));
            let source = source.map(|source| source.to_string());
            output.event(&Line::Bound(Bound { id: id.0, source }));
        }
        ReceiveEvent::SenderRefused { id, source } => {
            let at = source.ip();
            let text = format!("sender {id} at {at} was refused: only one sender is accepted");
            output.warn("sender.refused", text);
        }
        _ => {}
    }
}

fn show_failed(key: ObjectKey, name: Option<&str>, reason: Reason, place: &Place, output: &Output) {
    let shown = name.map_or_else(|| format!("object {}", key.object), str::to_owned);
    output.text(&match reason {
        Reason::MetadataRefused => format!(
            "warning: '{shown}' is not all as it was at the sender: this receiver needs --archive, \
             and permission, for owners, attributes, ACLs and the setuid bit"
        ),
        Reason::LinkRefused => format!(
            "warning: '{shown}' is a link that leads out of {place}, and was refused. To accept such \
             links, use --outside-links"
        ),
        Reason::Unsupported => format!(
            "warning: '{shown}' was not received: the file system of {place} cannot hold it (a link, \
             a file so large, or such a name)"
        ),
        Reason::ReaderGone => {
            format!("warning: '{shown}' was not received: the program that reads it has ended")
        }
        reason => format!("warning: '{shown}' was not received: {}", reason.name()),
    });
    if reason == Reason::Refused && place.target.is_some() {
        output.text("--to and --stdout take streams: use 'fanfare send --as-stream'");
    }
    output.event(&Line::Failed(Failed {
        id: key.object.0,
        sender: key.sender.0,
        name: name.map(str::to_owned),
        reason: reason.name().to_owned(),
    }));
}

fn show_layers(event: &ReceiveEvent, output: &Output) {
    match event {
        ReceiveEvent::Level { id, level, rate, loss, overhead } => {
            output.event(&Line::Layers(LayersLine {
                sender: id.0,
                level: *level as u64,
                rate_bps: rate.as_bps(),
                loss: *loss,
                overhead: *overhead,
            }));
        }
        ReceiveEvent::Refused { id, why } => {
            output.warn("layers.refused", format!("layers of sender {id}: {why}"));
        }
        _ => {}
    }
}

fn conclude(
    output: &Output,
    finished: Finished,
    keys: KeyMistake,
    place: &Place,
    told: &TimeLimits,
) -> Exit {
    let Some(report) = finished.received else { return Exit::Failed };
    if finished.overruns > 0 {
        output.text(&overruns::summary(finished.overruns));
    }
    if report.without_mode > 0 {
        let files = match report.without_mode {
            1 => "1 file".to_owned(),
            files => format!("{files} files"),
        };
        let text =
            format!("permissions of {files} were not kept: the file system of {place} has none");
        output.warn("receive.without_mode", text);
    }
    let failure = keys.explain(failure_of(&report, place, told));
    let exit = failure.as_ref().map_or(Exit::Done, |failure| failure.exit);
    match &failure {
        Some(failure) if exit != Exit::Interrupted => output.failure(failure),
        _ => {}
    }
    if output.tells_result() {
        output.event(&Line::receive_result(&report, finished.overruns, exit as u8));
    }
    exit
}

fn failure_of(report: &ReceiveReport, place: &Place, told: &TimeLimits) -> Option<Failure> {
    match report.end {
        ReceiveEnd::Interrupted => {
            Some(Failure::new(Exit::Interrupted, "interrupted", "interrupted"))
        }
        ReceiveEnd::TimedOut if told.timeout.is_empty() => {
            let limit = units::seconds(told.start_timeout.unwrap_or_default());
            let text = format!(
                "start-timeout ({limit}): no transfer began in this time. Check that a sender uses \
                 this group and interface"
            );
            Some(Failure::new(Exit::Nobody, "timeout", text))
        }
        ReceiveEnd::OutOfPlace => {
            let place = report.place.map_or(0, |place| place.place);
            let text = format!(
                "chain (image {place} of a chain): the sender has this one, and not the one that \
                 belongs here. Nothing was written. Start the sender and all receivers anew. If \
                 these images do not belong together, set FANFARE_CHAIN=off"
            );
            Some(Failure::new(Exit::Failed, "chain.place", text))
        }
        ReceiveEnd::TimedOut => {
            let timeout = &told.timeout;
            let text = format!(
                "timeout ({timeout}): nothing new arrived in this time. Check that a sender uses \
                 this group and interface"
            );
            Some(Failure::new(Exit::Nobody, "timeout", text))
        }
        ReceiveEnd::SenderSilent => {
            let files = report.files;
            let silence = units::seconds(told.silence.unwrap_or(SILENCE));
            let text = format!(
                "sender: was silent for {silence} in the middle of the transfer ({files} files are \
                 complete). What has arrived is kept: run the same command again to resume"
            );
            Some(Failure::new(Exit::Partial, "sender.silent", text))
        }
        // One stream was wanted, and an end without one is no success.
        ReceiveEnd::Complete
            if report.failures.is_empty() && report.files == 0 && place.target.is_some() =>
        {
            let text =
                format!("to ({place}): the sender ended, and has sent no stream. Send it again");
            Some(Failure::new(Exit::Failed, "target.nothing", text))
        }
        ReceiveEnd::Complete if report.failures.is_empty() && report.unnamed > 0 => {
            let (unnamed, all) = (report.unnamed, report.files);
            let text = format!(
                "files ({unnamed} of {all}): are here, and not under their names. See the warnings, \
                 and run fanfare send again"
            );
            Some(Failure::new(Exit::Partial, "unnamed", text))
        }
        ReceiveEnd::Complete if report.failures.is_empty() => None,
        ReceiveEnd::Complete => {
            let disk = |reason: &Reason| matches!(reason, Reason::DiskFull | Reason::DiskError);
            let exit = if report.files > 0 {
                Exit::Partial
            } else if report.failures.iter().all(|(_, reason)| disk(reason)) {
                Exit::Resource
            } else {
                Exit::Failed
            };
            let missing = report.failures.len() as u64;
            let all = report.files + missing;
            let advice = advice(report, place);
            let text = format!("files ({missing} of {all}): were not received. {advice}");
            Some(Failure::new(exit, "partial", text))
        }
    }
}

/// Advice about files that could not be had.
fn advice(report: &ReceiveReport, place: &Place) -> &'static str {
    let is = |wanted: Reason| report.failures.iter().any(|(_, reason)| *reason == wanted);
    let target = place.target.as_ref().map(StreamTarget::kind);
    match target {
        _ if is(Reason::ReaderGone) => {
            "The program behind the pipe ended before it had all. See what it says, and run fanfare \
             send again"
        }
        Some(TargetKind::Device) if is(Reason::DiskFull) => {
            "The device is too small. Write to a larger one"
        }
        Some(TargetKind::Device) if is(Reason::DiskError) => {
            "The device is broken, or was taken away. Write to another one"
        }
        Some(_) | None if is(Reason::DiskFull) => "Free some space, and run fanfare send again",
        Some(_) | None if is(Reason::DiskError) => {
            "The disk refused to take them: see 'dmesg'. Write to another one, and run fanfare send again"
        }
        None if is(Reason::Unsupported) => {
            "Receive them into a directory of another file system, such as ext4"
        }
        _ => "See the warnings, and run fanfare send again",
    }
}
