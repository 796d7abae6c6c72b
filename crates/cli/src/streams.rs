//! `fanfare send --streams`: several sendings at once, each with a group, files and receivers of its
//! own and on threads of its own; they share a rate and memory.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    thread,
};

use fanfare_files::{MemoryShort, Sources, Streams};

use crate::{
    config::StreamSettings,
    exit::{Exit, Failure},
    json::Line,
    progress::Output,
    send,
    send_args::{SendArgs, SendPlan},
    units,
};

/// One of them, ready to begin.
struct Prepared<'a> {
    args: &'a SendArgs,
    plan: SendPlan,
    /// Its group, by which it is told from the others.
    name: String,
}

pub(crate) fn run(args: &SendArgs) -> Exit {
    let output = Output::new(args.output);
    match send_all(args, &output) {
        Ok(exit) => exit,
        Err(failure) => crate::give_up(&output, &failure),
    }
}

/// Nothing begins before everything has been asked for that can be refused.
fn send_all(args: &SendArgs, output: &Output) -> Result<Exit, Failure> {
    let (total, memory) = (args.streams.total()?, args.streams.memory()?);
    let streams = Streams::new(total, memory);
    let prepared = prepare(&args.streams.each, &streams)?;
    let count = prepared.len();
    let together = total.map_or_else(String::new, |rate| format!(", at {rate} together"));
    let memory = units::size(memory as u64);
    output.text(&format!("sending {count} streams{together}, with {memory} of memory"));
    let bars = Output::bars(args.output);
    let exits: Vec<Exit> = thread::scope(|scope| {
        // All begin before the first is waited for.
        let mut threads = Vec::new();
        for stream in prepared {
            let output = Output::of_stream(args.output, &stream.name, &bars);
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

fn send_one(stream: Prepared<'_>, output: &Output) -> Exit {
    match send::send(stream.args, stream.plan, output) {
        Ok(exit) => exit,
        Err(failure) => crate::give_up(output, &failure),
    }
}

fn prepare<'a>(
    each: &'a [StreamSettings],
    streams: &Streams,
) -> Result<Vec<Prepared<'a>>, Failure> {
    check_shared(each)?;
    let mut plans = Vec::new();
    for stream in each {
        let at = |failure: Failure| Failure {
            text: format!("stream at {}: {}", stream.place, failure.text),
            ..failure
        };
        let args = &stream.args;
        let plan = args.plan().map_err(at)?;
        Sources::check(&args.paths).map_err(|error| at(error.into()))?;
        plan.builder.check().map_err(|error| at(error.into()))?;
        plans.push((stream, plan));
    }
    let least = plans.iter().map(|(_, plan)| plan.builder.memory_least()).sum();
    let mut prepared = Vec::new();
    for (StreamSettings { args, weight, .. }, plan) in plans {
        let builder = streams
            .add(plan.builder, *weight, args.given_rate()?)
            .map_err(|short| too_little(&short, each.len(), least))?;
        let name = args.net.group()?.group.to_string();
        prepared.push(Prepared { args, plan: SendPlan { builder, ..plan }, name });
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
fn check_shared(each: &[StreamSettings]) -> Result<(), Failure> {
    let (mut groups, mut receipts, mut input) = (BTreeMap::new(), BTreeMap::new(), None);
    for StreamSettings { args, place, .. } in each {
        let refused = |what: String, before: &str, advice: &str| {
            let text = format!("{what} at {place}: the stream at {before} has it, too. {advice}");
            Err(Failure::usage("streams.invalid", text))
        };
        let group = args.net.group()?.group;
        if let Some(before) = groups.insert((group, args.net.interface()), place) {
            let advice = "Give each a group or a port of its own";
            return refused(format!("group ({group})"), before, advice);
        }
        if let Some(path) = &args.receipts
            && let Some(before) = receipts.insert(whole(path), place)
        {
            let what = format!("receipts ({})", path.display());
            return refused(what, before, "Give each a file of its own");
        }
        if args.paths.iter().any(|path| path == Path::new("-"))
            && let Some(before) = input.replace(place)
        {
            return refused("paths (-)".to_owned(), before, "Standard input is read but once");
        }
        if args.plan()?.layered.is_some() {
            let text = format!(
                "layers at {place}: one of several streams goes by a rate of its sender. Send over \
                 layers alone"
            );
            return Err(Failure::usage("streams.invalid", text));
        }
    }
    Ok(())
}
