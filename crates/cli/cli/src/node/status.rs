//! `fanfare node status`: how a running node stands.

use std::path::Path;

use fanfare_command::json::{GatewayLine, Line, MemberLine, StatusLine, WayLine};
use fanfare_command::local::{client::Client, request::Request};
use fanfare_command::{Exit, Failure, Output, units};

/// Asks the node at this socket, and shows what it says.
pub(crate) fn status(path: &Path, output: &Output) -> Result<Exit, Failure> {
    let mut client = Client::connect(path)?;
    let mut shown = Vec::new();
    let mut left = vec![None];
    while let Some(within) = left.pop() {
        let line = client.ask(&Request::Status { within: within.clone() })?;
        let Line::Status(status) = &line else { continue };
        let name = within.clone().or_else(|| status.groups.first().cloned());
        if within.is_none() {
            // The first has answered; the others in their order.
            left.extend(status.groups.iter().skip(1).rev().cloned().map(Some));
        }
        if let Some(name) = &name {
            show(output, &format!("group    {name}"));
        }
        show_status(status, output);
        for gateway in status.gateways.iter().filter(|gateway| !shown.contains(&gateway.groups)) {
            show_gateway(gateway, output);
        }
        shown.extend(status.gateways.iter().map(|gateway| gateway.groups.clone()));
        match &name {
            Some(name) => output.event_of(name, &line),
            None => output.event(&line),
        }
    }
    if output.is_json() {
        output.event(&Line::early_result(Exit::Done as u8));
    }
    Ok(Exit::Done)
}

/// A line for people, unless they want to know only whether it answers.
fn show(output: &Output, text: &str) {
    if !output.is_quiet() {
        output.data(text);
    }
}

fn show_gateway(gateway: &GatewayLine, output: &Output) {
    show(output, &format!("gateway  {}; {} refused", gateway.groups.join(", "), gateway.refused));
    for line in &gateway.ways {
        let WayLine { from, to, way } = line;
        show(
            output,
            &format!(
                "         {from} to {to}: {} carried ({}), {} left to others, {} wait",
                way.carried,
                units::size(way.bytes),
                way.left,
                way.waiting
            ),
        );
    }
}

fn show_status(status: &StatusLine, output: &Output) {
    let names = |member: &MemberLine| match member.hears_us {
        Some(false) => format!("{:08x} (does not hear us)", member.id),
        _ => format!("{:08x}", member.id),
    };
    let members: Vec<String> = status.members.iter().map(names).collect();
    show(output, &format!("node     {:08x}", status.node));
    show(output, &format!("members  {}  {}", members.len(), members.join(" ")));
    show(output, &format!("own      {} messages that it can repair", status.own));
    let kept = units::size(status.kept_bytes);
    show(output, &format!("kept     {} messages of others, {kept}", status.kept));
    show(
        output,
        &format!(
            "repairs  {} sent for others ({} sums), {} own sums ahead, {} asked for, {} heard, {} of use",
            status.repairs_sent,
            status.sums_sent,
            status.proactive_sums_sent,
            status.answers_sent,
            status.repairs_heard,
            status.repairs_useful
        ),
    );
    show(
        output,
        &format!(
            "refused  {} frames, {} messages whose bytes were wrong, {} evicted, {} expired, {} missed",
            status.frames_refused, status.wrong, status.evicted, status.expired, status.missed
        ),
    );
    if let Some(drops) = status.drops.to_words() {
        show(output, &format!("dropped  {drops}"));
    }
}
