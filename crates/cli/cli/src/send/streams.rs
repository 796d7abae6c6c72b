//! Several sendings at once, each with a group, files and receivers of its own and on threads of its
//! own; they share a rate and memory.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    thread,
};

use fanfare_command::config::Reload;
use fanfare_command::json::Line;
use fanfare_command::{Exit, Failure, Output, OutputArgs, units};
use fanfare_files::{MemoryShort, Sources, Streams};

use super::{
    plan::{SendPlan, StreamPlan, Streaming, StreamsPlan},
    transfer::send,
};

/// One of them, ready to begin.
struct Prepared {
    plan: SendPlan,
    /// Its group, by which it is told from the others.
    name: String,
}

/// Sends all, and says what came of them.
pub(crate) fn run(plan: StreamsPlan, shown: OutputArgs, output: &Output) -> Exit {
    send_all(plan, shown, output)
        .unwrap_or_else(|failure| fanfare_command::give_up(output, &failure))
}

/// Nothing begins before everything has been asked for that can be refused.
fn send_all(plan: StreamsPlan, shown: OutputArgs, output: &Output) -> Result<Exit, Failure> {
    let StreamsPlan { total, memory, streams: each } = plan;
    let streams = Streams::new(total, memory);
    let prepared = prepare(each, &streams)?;
    let count = prepared.len();
    let together = total.map_or_else(String::new, |rate| format!(", at {rate} together"));
    let memory = units::size(memory as u64);
    output.text(&format!("sending {count} streams{together}, with {memory} of memory"));
    let bars = Output::bars(shown);
    let exits: Vec<Exit> = thread::scope(|scope| {
        // All begin before the first is waited for.
        let mut threads = Vec::new();
        for stream in prepared {
            let output = Output::of_stream(shown, &stream.name, &bars);
            threads.push(scope.spawn(move || send_one(stream, &output)));
        }
        threads.into_iter().map(|thread| thread.join().unwrap_or(Exit::Failed)).collect()
    });
    let complete = exits.iter().filter(|exit| **exit == Exit::Done).count();
    let exit = exits.into_iter().fold(Exit::Done, Exit::worst);
    output.text(&format!("{complete} of {count} streams complete"));
    let used = streams.memory();
    output.event(&Line::streams_result(exit as u8, count as u64, complete as u64, used));
    Ok(exit)
}

fn send_one(stream: Prepared, output: &Output) -> Exit {
    send(stream.plan, Reload::none(), output)
        .unwrap_or_else(|failure| fanfare_command::give_up(output, &failure))
}

fn prepare(each: Vec<StreamPlan>, streams: &Streams) -> Result<Vec<Prepared>, Failure> {
    check_shared(&each)?;
    for StreamPlan { send, at, .. } in &each {
        let at = |failure: Failure| Failure {
            text: format!("stream at {at}: {}", failure.text),
            ..failure
        };
        Sources::check(&send.paths).map_err(|error| at(error.into()))?;
        send.builder.check().map_err(|error| at(error.into()))?;
    }
    let least = each.iter().map(|stream| stream.send.builder.memory_least()).sum();
    let (mut prepared, count) = (Vec::new(), each.len());
    for StreamPlan { send: plan, weight, .. } in each {
        let builder = streams
            .add(plan.builder, weight, plan.given_rate)
            .map_err(|short| too_little(&short, count, least))?;
        let name = plan.place.0.to_string();
        // Streams that are read while they are sent hold more than is shared.
        let streaming = Streaming::Never;
        prepared.push(Prepared { plan: SendPlan { builder, streaming, ..plan }, name });
    }
    Ok(prepared)
}

fn too_little(short: &MemoryShort, count: usize, least: usize) -> Failure {
    let size = |bytes: usize| units::size(bytes as u64);
    let text = format!(
        "memory ({}): {count} streams hold {} together at least. Give --memory {}MiB",
        size(short.bound),
        size(least),
        least.div_ceil(1 << 20)
    );
    Failure::usage("streams.invalid", text)
}

/// One spelling of a file that may not be there yet.
fn whole(path: &Path) -> PathBuf {
    let parent = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    let there = || Some(parent.canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(there).unwrap_or_else(|| path.to_owned())
}

/// Refuses what two streams cannot have both.
fn check_shared(each: &[StreamPlan]) -> Result<(), Failure> {
    let (mut groups, mut receipts, mut input) = (BTreeMap::new(), BTreeMap::new(), None);
    for StreamPlan { send, at: place, .. } in each {
        let refused = |what: String, before: &str, advice: &str| {
            let text = format!("{what} at {place}: the stream at {before} has it, too. {advice}");
            Err(Failure::usage("streams.invalid", text))
        };
        let group = send.place.0;
        if let Some(before) = groups.insert(send.place.clone(), place) {
            let advice = "Give each a group or a port of its own";
            return refused(format!("group ({group})"), before, advice);
        }
        if let Some(path) = &send.receipts
            && let Some(before) = receipts.insert(whole(path), place)
        {
            let what = format!("receipts ({})", path.display());
            return refused(what, before, "Give each a file of its own");
        }
        if send.paths.iter().any(|path| path.path == Path::new("-"))
            && let Some(before) = input.replace(place)
        {
            return refused("paths (-)".to_owned(), before, "Standard input is read but once");
        }
        if send.watch.is_some() {
            let text = format!("watch at {place}: a page shows one transfer. Leave it out");
            return Err(Failure::usage("streams.invalid", text));
        }
        if send.layered.is_some() {
            let text = format!(
                "layers at {place}: one of several streams goes by a rate of its sender. Send over \
                 layers alone"
            );
            return Err(Failure::usage("streams.invalid", text));
        }
    }
    Ok(())
}
