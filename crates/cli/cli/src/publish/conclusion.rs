//! How `pub` ends: who holds what, in one line and an exit code.

use std::collections::BTreeSet;

use fanfare_command::json::Line;
use fanfare_node::{
    group::{GroupReport, Watch, tally::Tally},
    proto::NodeId,
};

use super::{
    options::Plan,
    sending::{End, STALL},
};
use fanfare_command::{Exit, Failure, Output, units};

/// Says what it came to.
pub(super) fn conclude(
    tally: &Tally,
    end: End,
    plan: &Plan,
    report: &GroupReport,
    output: &Output,
) -> Exit {
    let failure = failure(tally, end, plan);
    let exit = failure.as_ref().map_or(Exit::Done, |failure| failure.exit);
    if let Some(failure) = failure.filter(|failure| failure.exit != Exit::Interrupted) {
        output.failure(&failure);
    }
    if output.is_json() {
        let lacking = tally.lacking().iter().map(|node| node.0).collect();
        let (counts, nodes) = (tally.counts(), (tally.holders(), lacking));
        let drops = Some(report.into());
        output.event(&Line::publish_result(exit as u8, counts, tally.bytes(), nodes, drops));
    }
    exit
}

fn failure(tally: &Tally, end: End, plan: &Plan) -> Option<Failure> {
    let (all, held, replaced) = tally.counts();
    let (needed, lacking) = (all - replaced, tally.lacking());
    let (exit, code, text) = match end {
        End::Interrupted => (Exit::Interrupted, "interrupted", "interrupted".to_owned()),
        End::Stalled => (
            Exit::Failed,
            "message.unsent",
            format!(
                "messages ({all}): nothing of them could be sent for {}. Check the interface, and \
                 publish them again",
                units::seconds(STALL.max(plan.wait))
            ),
        ),
        End::Done | End::TimedOut if plan.watch != Watch::Holders => return None,
        End::Done | End::TimedOut if needed == held && lacking.is_empty() => return None,
        End::Done | End::TimedOut if held == 0 => (
            Exit::Nobody,
            "nobody",
            format!(
                "holders (0): no node said within {} that it holds the message. Check that one is on \
                 this group and interface, or use --one-way",
                units::seconds(plan.patience())
            ),
        ),
        End::Done | End::TimedOut if lacking.is_empty() => (
            Exit::Partial,
            "partial",
            format!(
                "messages ({held} of {needed}): no node said that it holds the others. Publish them \
                 again, or wait longer with --wait"
            ),
        ),
        End::Done | End::TimedOut => (
            Exit::Partial,
            "partial",
            format!(
                "nodes ({}): did not say{} that they hold all that they want. Wait longer with --wait, \
                 or stay and repair with --stay",
                names(&lacking),
                within(plan)
            ),
        ),
    };
    Some(Failure::new(exit, code, text))
}

/// Text of the time that they had; nothing where that is more than one number.
fn within(plan: &Plan) -> String {
    match plan.stay.is_zero() {
        true => format!(" within {}", units::seconds(plan.patience())),
        false => String::new(),
    }
}

/// Some of them by id, and how many there are besides.
fn names(nodes: &BTreeSet<NodeId>) -> String {
    /// More do not help who reads it.
    const NAMED_MAX: usize = 8;
    let named: Vec<String> = nodes.iter().take(NAMED_MAX).map(|n| format!("{:08x}", n.0)).collect();
    match nodes.len().saturating_sub(NAMED_MAX) {
        0 => named.join(", "),
        others => format!("{} and {others} others", named.join(", ")),
    }
}
