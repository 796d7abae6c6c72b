//! `fanfare sub`.
//!
//! - `options`: its options; `taking`: messages as they come

mod options;
mod taking;

use std::path::Path;

use clap::ValueEnum as _;
use fanfare_command::local::{client::Client, request::Request};
use fanfare_command::{Exit, Failure, Output, interrupt, units};

pub(crate) use options::SubArgs;

use crate::group::events;
use taking::Taking;

pub(crate) fn run(args: &SubArgs) -> Exit {
    let output = Output::new(args.output);
    match subscribe(args, &output) {
        Ok(exit) => exit,
        Err(failure) => fanfare_command::give_up(&output, &failure),
    }
}

fn taking<'a>(args: &SubArgs, output: &'a Output) -> Result<Taking<'a>, Failure> {
    let time = |text: &String| Ok((text.clone(), units::time("timeout", text)?));
    let timeout: Option<Result<_, Failure>> = args.timeout.as_ref().map(time);
    let mut taking = Taking::new(output, (args.count, timeout.transpose()?));
    if let Some(path) = &args.out {
        taking.write_into(path, args.create_dirs)?;
    }
    Ok(taking)
}

fn subscribe_via(args: &SubArgs, path: &Path, mut taking: Taking<'_>) -> Result<Exit, Failure> {
    let mut client = Client::connect(path)?;
    interrupt::call_on_interrupt(client.closer());
    for filter in &args.patterns {
        let millis = |text| units::time("deadline", text).map(|time| time.as_millis() as u64);
        let request = Request::Subscribe {
            filter: filter.clone(),
            order: args.order.to_possible_value().map(|value| value.get_name().to_owned()),
            history: Some(args.history.clone()),
            priority: Some(args.priority),
            deadline_ms: args.deadline.as_deref().map(millis).transpose()?,
            unreliable: args.unreliable,
            raw: args.out.is_some(),
            within: args.via_group.clone(),
        };
        taking.show_subscribed(&client.ask(&request)?);
    }
    let end = taking.take_via(&mut client);
    Ok(taking.conclude(end, None))
}

fn subscribe(args: &SubArgs, output: &Output) -> Result<Exit, Failure> {
    let subscriptions = args.subscriptions()?;
    let mut taken = taking(args, output)?;
    if let Some(path) = &args.via {
        return subscribe_via(args, path, taken);
    }
    let group = args.member.join_to_stay(&args.net, |options| options.publishes = false)?;
    interrupt::stop_on_interrupt(group.stopper());
    // They come to one place, and share the room there.
    let gate = group.gate();
    for subscription in subscriptions {
        group.subscribe_through(subscription, &gate)?;
    }
    events::show_start(&group, "listening to", output);
    let end = taken.take(&group);
    let report = group.leave();
    Ok(taken.conclude(end, Some(&report)))
}
