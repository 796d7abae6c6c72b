//! The table of what was sent, as Markdown.

use std::fmt::Write as _;

use super::{RECEIVERS, Row, Sending};

/// The page of these rows, made by `command` on that day.
pub fn page(command: &str, date: &str, rows: &[Row]) -> String {
    let mut page = format!(
        "# Real directories\n\n\
         *For readers who want to know whether a directory arrives as it was, and what it costs.*\n\n\
         Written on {date} by\n\
         `{command}`.\n\
         Hosts are network namespaces on one bridge of this machine. Each directory is sent twice to {RECEIVERS} receivers, with `--archive` on both sides and\n\
         without a limit to the rate. Then `rsync -aHAX --checksum --dry-run --itemize-changes --delete`\n\
         says what is left to do. Pipes, sockets and devices are not compared: they do not travel.\n\n\
         *Share* is the payload of UDP that left the sender's host, in percent of the files' bytes.\n\
         *Memory* is the most that the sender, and a receiver, had at a time, in MiB. One run each.\n\n\
         | directory | entries | MB | 1st, s | share | 2nd, s | share | memory | left to do |\n\
         |---|---|---|---|---|---|---|---|---|\n"
    );
    for row in rows {
        page += &line(row);
    }
    page
}

/// One row of the table.
pub fn line(row: &Row) -> String {
    let mut line =
        format!("| {} | {} | {:.1} |", shown(row), row.size.entries, row.size.bytes as f64 / 1e6);
    for sending in &row.passes.sendings {
        // Writing to a String cannot fail.
        let _ = write!(line, " {:.1} | {} |", sending.seconds, share(row, sending));
    }
    let most = |of: fn(&Sending) -> u64| {
        row.passes.sendings.iter().map(of).max().unwrap_or(0) as f64 / f64::from(1 << 20)
    };
    let left = row.passes.failure().unwrap_or_else(|| "nothing".into());
    let (sender, receiver) = (most(|s| s.memory.0), most(|s| s.memory.1));
    let _ = writeln!(line, " {sender:.0}, {receiver:.0} | {} |", left.replace('|', "/"));
    line
}

/// A directory of which only a part was sent is told by that part.
fn shown(row: &Row) -> String {
    let path = row.path.display().to_string();
    if path.starts_with(&format!("{}/", row.name)) { path } else { row.name.clone() }
}

fn share(row: &Row, sending: &Sending) -> String {
    format!("{:.2} %", 100.0 * sending.wire as f64 / row.size.bytes.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trees::{Passes, Size};

    fn row(exits: &[Option<i32>], left: &[&str]) -> Row {
        let sending = |wire| Sending {
            seconds: 1.25,
            wire,
            memory: (5 << 20, 7 << 20),
            exits: exits.to_vec(),
            said: "no".into(),
        };
        let left = left.iter().map(|line| (*line).to_owned()).collect();
        let passes = Passes { sendings: vec![sending(1_050_000), sending(2000)], left };
        let size = Size { entries: 12, bytes: 1_000_000 };
        Row { name: "/usr".into(), path: "/usr/lib".into(), size, passes }
    }

    #[test]
    fn a_row_says_what_was_sent_what_it_cost_and_that_nothing_is_left() {
        let all_right = row(&[Some(0); 4], &[]);
        assert!(all_right.is_right());
        let said = "| /usr/lib | 12 | 1.0 | 1.2 | 105.00 % | 1.2 | 0.20 % | 5, 7 | nothing |\n";
        assert_eq!(line(&all_right), said);
    }

    #[test]
    fn what_is_left_and_who_did_not_end_well_is_told() {
        assert!(
            line(&row(&[Some(0); 4], &[">f..t usr/a"])).contains("rsync prints 1 lines: >f..t")
        );
        let failed = row(&[Some(3), Some(0)], &[]);
        assert!(!failed.is_right() && line(&failed).contains("exits [Some(3), Some(0)]: no"));
        assert!(!row(&[Some(0), None], &[]).is_right());
    }
}
