//! The tables of what was sent, as Markdown.

use std::fmt::Write as _;

use super::{Outcome, Plan};

const MIB: f64 = (1 << 20) as f64;

/// The page, made by `command` on that day.
pub fn page(command: &str, date: &str, outcome: &Outcome) -> String {
    let kind = if outcome.are_devices { "loop devices" } else { "files (no loop devices here)" };
    let (plan, sent) = &outcome.sent;
    let mut page = format!(
        "# Disks to many\n\n\
         *For readers who want to know what it costs to send a disk that is mostly empty, and to do so\n\
         again after an interruption.*\n\n\
         Written on {date} by\n\
         `{command}`,\n\
         with {kind} over sparse files of this machine. Hosts are network namespaces on one bridge.\n\
         Bytes are the payload of UDP that left the sender's host.\n\n## To all at once\n\n\
         `fanfare send DEVICE` and `fanfare recv --to DEVICE --sparse --verify`, then `cmp`. {}\n\n\
         | bytes sent / used | s | memory of the sender, of a receiver, MiB | result |\n\
         |---|---|---|---|\n\
         | {:.3} | {:.1} | {:.0}, {:.0} | {} |\n\n",
        of(*plan),
        sent.wire as f64 / plan.used.max(1) as f64,
        sent.seconds,
        sent.memory.0 as f64 / MIB,
        sent.memory.1 as f64 / MIB,
        sent.failure.as_deref().unwrap_or("all are the same"),
    );
    let (plan, kills) = &outcome.kills;
    // Writing to a String cannot fail.
    let _ = write!(
        page,
        "## Killed and begun again\n\n\
         The sender or a receiver is killed (`kill -9`) when so many percent have been sent, and so is\n\
         everybody else. Then both commands run again, with `send --sync`. {} *Lacked* is what not all\n\
         had then. *Share* is all that was sent, less what was lost by the kill, of what is used: 1.1 is\n\
         the goal.\n\n\
         | killed | at, % | lacked, MiB | sent before, MiB | after, MiB | share | result |\n\
         |---|---|---|---|---|---|---|\n",
        of(*plan)
    );
    for one in kills {
        let _ = writeln!(
            page,
            "| {} | {} | {:.1} | {:.1} | {:.1} | {:.3} | {} |",
            one.victim,
            one.percent,
            one.lacked as f64 / MIB,
            one.wire.0 as f64 / MIB,
            one.wire.1 as f64 / MIB,
            one.share(),
            one.failure.as_deref().unwrap_or("all are the same"),
        );
    }
    page
}

fn of(plan: Plan) -> String {
    format!(
        "{} receivers,\ndevices of {:.0} MiB, of which {:.0} are used.",
        plan.receivers,
        plan.size as f64 / MIB,
        plan.used as f64 / MIB
    )
}
