//! Reports as text for people.

use std::fmt::Write as _;

use fanfare_monitor::sensor::report::{Path, Report};

/// Pairs that are shown.
const PATHS_MAX: usize = 5;

/// One line for each thing that was seen.
pub(crate) fn lines(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, interface) in &report.interfaces {
        if let (Some(received), Some(sent)) = (interface.in_bps, interface.out_bps) {
            lines.push(format!("{name}: in {}, out {}", rate(received), rate(sent)));
        }
    }
    for (address, agent) in &report.agents {
        for (name, interface) in &agent.interfaces {
            if let (Some(received), Some(sent)) = (interface.in_bps, interface.out_bps) {
                lines.push(format!("{address} {name}: in {}, out {}", rate(received), rate(sent)));
            }
        }
    }
    if let Some(packets) = &report.packets {
        let (seen, dropped) = (packets.seen, packets.dropped);
        lines.push(format!("packets: {seen} seen, {dropped} missed"));
        lines.extend(packets.paths.iter().take(PATHS_MAX).map(path));
        for session in &packets.sessions {
            lines.push(format!(
                "  NORM sender {} at {} to {}: {} of {} messages came",
                session.node, session.from, session.to, session.came, session.sent
            ));
        }
    }
    lines.extend(report.missing.iter().map(|why| format!("not seen: {why}")));
    lines
}

fn path(path: &Path) -> String {
    let mut line = format!("  {} to {}: {}", path.from, path.to, rate(path.bps));
    if let Some(rtt) = path.rtt {
        let _ = write!(line, ", round trip {:.1} ms", rtt * 1000.0);
    }
    let again = path.lost_before + path.lost_after;
    if again > 0 {
        let _ = write!(line, ", {again} of {} segments came again", path.segments);
    }
    line
}

fn rate(bps: u64) -> String {
    match bps {
        0..1_000 => format!("{bps} bit/s"),
        1_000..1_000_000 => format!("{:.1} kbit/s", bps as f64 / 1e3),
        _ => format!("{:.1} Mbit/s", bps as f64 / 1e6),
    }
}
