//! `fanfare pub`.
//!
//! - `options`: its options; `sending`: messages on their way;
//!   `conclusion`: what it came to

mod conclusion;
mod options;
mod sending;

use std::{io::Read, path::Path};

use fanfare_command::json::{Line, hex};
use fanfare_command::local::{
    client::Client,
    request::{INLINE_MAX, Request},
};
use fanfare_command::{Exit, Failure, Output, interrupt};
use fanfare_node::group::{Body, BodyError};

pub(crate) use options::PubArgs;

use crate::group::events;
use conclusion::conclude;
use options::Plan;
use sending::{End, Sending};

pub(crate) fn run(args: &PubArgs) -> Exit {
    let output = Output::new(args.output);
    match publish(args, &output) {
        Ok(exit) => exit,
        Err(failure) => fanfare_command::give_up(&output, &failure),
    }
}

fn publish(args: &PubArgs, output: &Output) -> Result<Exit, Failure> {
    if let (Some(tag), Some(path)) = (args.cancel, &args.via) {
        return cancel(tag, (path.as_path(), args.via_group.clone()), output);
    }
    let plan = args.plan()?;
    let mut source = args.source()?;
    if let Some(path) = &args.via {
        let via = (path.as_path(), args.via_group.clone());
        return publish_via(via, &plan, &mut *source, output);
    }
    // One message is read whole before anything is sent: it may be too long.
    let whole = match args.lines {
        true => None,
        false => Some(Body::read_from(&mut source, plan.message_max)?),
    };
    let group = args.member.join(&args.net, |_| {})?;
    interrupt::stop_on_interrupt(group.stopper());
    events::show_start(&group, "publishing to", output);
    let mut sending = Sending::new(&group, output, &plan);
    let published = match whole {
        Some(body) => sending.publish(body),
        None => sending.publish_lines(source),
    };
    let end = match published {
        Err(_) if interrupt::is_asked() => End::Interrupted,
        published => published.map(|()| sending.wait())?,
    };
    let stayed = end == End::Interrupted || sending.stay(plan.stay);
    let tally = sending.into_tally();
    let report = group.leave();
    let end = if stayed { end } else { End::Interrupted };
    Ok(conclude(&tally, end, &plan, &report, output))
}

fn publish_via(
    (path, within): (&Path, Option<String>),
    plan: &Plan,
    source: &mut dyn Read,
    output: &Output,
) -> Result<Exit, Failure> {
    let body = Body::read_from(source, plan.message_max)?;
    let (mut text, mut digits, mut bytes) = (None, None, None);
    if body.len() > INLINE_MAX {
        bytes = Some(body.len());
    } else {
        let mut content = Vec::new();
        body.copy_to(&mut content).map_err(BodyError::Unreadable)?;
        match String::from_utf8(content) {
            Ok(content) => text = Some(content),
            Err(error) => digits = Some(hex(error.as_bytes())),
        }
    }
    let request = Request::Publish {
        topic: plan.topic.as_str().to_owned(),
        text,
        hex: digits,
        bytes,
        priority: Some(plan.options.priority),
        expiry_ms: plan.options.expiry.map(|expiry| expiry.as_millis() as u64),
        tag: plan.options.tag,
        replace: plan.options.replaces,
        within,
    };
    let follows = bytes.is_some().then_some(&body);
    output.event(&Client::connect(path)?.ask_with(&request, follows)?);
    if output.is_json() {
        let (counts, nodes) = ((1, 0, 0), (0, Vec::new()));
        let line = Line::publish_result(Exit::Done as u8, counts, body.len(), nodes, None);
        output.event(&line);
    }
    Ok(Exit::Done)
}

fn cancel(
    tag: u64,
    (path, within): (&Path, Option<String>),
    output: &Output,
) -> Result<Exit, Failure> {
    let line = Client::connect(path)?.ask(&Request::Cancel { tag, within })?;
    if let Line::Cancelled(cancelled) = &line {
        output.text(&format!("{} messages with tag {tag} are withdrawn", cancelled.messages));
    }
    output.event(&line);
    if output.is_json() {
        output.event(&Line::early_result(Exit::Done as u8));
    }
    Ok(Exit::Done)
}
