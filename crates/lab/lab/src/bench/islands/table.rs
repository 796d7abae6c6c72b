//! What relays cost, for people and for programs.

use std::fmt::Write as _;

use super::{row::IslandRow, world::LOSS};
use crate::reproduce::machine;

pub(super) fn markdown(rows: &[IslandRow]) -> String {
    let first = rows.first();
    let (receivers, size) = first.map_or((0, 0), |row| (row.receivers, row.size));
    let mut text = format!(
        "# Three islands joined by relays\n\n*For people who want to know what a relay costs, and what \
         happens when one is killed. Made by\n`fanfare lab reproduce islands`.*\n\n\
         {size} bytes from island 1 to {receivers} receivers, a third of them in each island, at up to \
         60 Mbit/s.\nThere is no multicast between the islands. {LOSS} % is lost on each long link, and \
         another 1 % at each\nreceiver. \"Link\" is what the long link of an island carried, with all \
         headers and what was lost on\nit, by the size of the file. A relay is killed (SIGKILL) when half \
         of the file has been sent:\nanother one is started in its place (`replaced`), or one that stands \
         by takes over (`taken-over`).\n\nRun on {}. \"Load\" is that of the last minute.\n\n\
         | case | run | receipts | files right | links, x file | seconds | load |\n|---|---|---|---|---|---|---|\n",
        machine()
    );
    for row in rows {
        let link = |(name, times): &(&str, f64)| format!("{name}: {times:.3}");
        let links: Vec<String> = row.links.iter().map(link).collect();
        let _ = writeln!(
            text,
            "| {} | {} | {} of {} | {} | {} | {:.1} | {:.1} |",
            row.case.name(),
            row.repetition,
            row.receipts,
            row.receivers,
            row.right,
            links.join("; "),
            row.seconds,
            row.load
        );
    }
    text
}

pub(super) fn csv(rows: &[IslandRow]) -> String {
    let mut text =
        "case,repetition,bytes,receivers,receipts,right,link,times,seconds,load\n".to_owned();
    for row in rows {
        let IslandRow { case, repetition, size, receivers, receipts, right, .. } = row;
        for (link, times) in &row.links {
            let _ = writeln!(
                text,
                "{},{repetition},{size},{receivers},{receipts},{right},\"{link}\",{times:.4},{:.2},{:.2}",
                case.name(),
                row.seconds,
                row.load
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{super::row::IslandCase, *};

    fn row(case: IslandCase, receipts: usize) -> IslandRow {
        IslandRow {
            case,
            repetition: 0,
            size: 1000,
            receivers: 6,
            receipts,
            right: 6,
            links: vec![("2", 1.0841), ("3", 1.0872)],
            seconds: 15.02,
            load: 1.5,
        }
    }

    #[test]
    fn each_transfer_is_a_row_with_all_its_links_and_one_without_a_receipt_is_broken() {
        let rows = [row(IslandCase::Undisturbed, 6), row(IslandCase::Replaced, 5)];
        let text = markdown(&rows);
        let wanted = "| undisturbed | 0 | 6 of 6 | 6 | 2: 1.084; 3: 1.087 | 15.0 | 1.5 |";
        assert!(text.contains(wanted), "{text}");
        assert!(csv(&rows).contains("replaced,0,1000,6,5,6,\"3\",1.0872,15.02,1.50\n"));
        assert_eq!(rows.map(|row| row.is_broken()), [false, true]);
    }
}
