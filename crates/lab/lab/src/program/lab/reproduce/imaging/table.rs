//! How soon each trouble was named, for people and for programs.

use std::fmt::Write as _;

use fanfare_sim::Sorted;

use super::trouble::{KINDS, NAME};

/// Seconds until a trouble was named, after it showed; nothing where it was not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Named {
    pub(super) page: Option<f64>,
    pub(super) terminal: Option<f64>,
}

/// One imaging.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub(super) machines: usize,
    pub(super) repetition: u32,
    /// The emulator was late.
    pub(super) void: bool,
    /// In the order of kinds.
    pub(super) named: [Named; 3],
    /// What was said and was not so.
    pub(super) wrong: Vec<String>,
}

impl Row {
    pub(super) fn line(&self) -> String {
        let void = if self.void { " (void: the emulator was late)" } else { "" };
        let one = |(kind, named): (&super::trouble::Kind, &Named)| {
            format!("{} {}, {}", kind.cause(), text(named.page), text(named.terminal))
        };
        let named: Vec<String> = KINDS.iter().zip(&self.named).map(one).collect();
        let (named, wrong) = (named.join("; "), self.wrong.join(", "));
        format!("#{}: {named}; wrong: [{wrong}]{void}", self.repetition)
    }
}

fn text(time: Option<f64>) -> String {
    time.map_or("never".to_owned(), |time| format!("{time:.2} s"))
}

pub(super) fn markdown(rows: &[Row]) -> String {
    let counted: Vec<&Row> = rows.iter().filter(|row| !row.void).collect();
    let machines = rows.first().map_or(0, |row| row.machines);
    let mut page = format!(
        "# Who is to blame, and how soon it is said\n\n*For people who image many machines. Made by `fanfare lab \
         reproduce {NAME}`.*\n\n\
         {machines} machines get 32 MB at 2.5 Mbit/s from `fanfare send --watch`. A cable begins to lose 5 %. A \
         machine\ngets its processor for 150 of 1350 ms, with a receive buffer of 64 KiB. A disk has room for \
         three of five\nfiles. Times are seconds after the trouble showed: the cable changed, the machine's system \
         dropped\nthe first packet, its receiver said that the disk is full. Wanted: 2 s. {} runs; {} runs more \
         were void,\nbecause the emulator was late.\n\n\
         | trouble | on the page, median | latest | in the terminal, median | latest | never |\n\
         |---|--:|--:|--:|--:|--:|\n",
        counted.len(),
        rows.len() - counted.len()
    );
    for (place, kind) in KINDS.iter().enumerate() {
        let times = |take: fn(&Named) -> Option<f64>| -> Sorted {
            counted.iter().filter_map(|row| take(&row.named[place])).collect()
        };
        let (on_page, terminal) = (times(|named| named.page), times(|named| named.terminal));
        let never = 2 * counted.len() - on_page.len() - terminal.len();
        let both = |times: &Sorted| {
            let median = times.median().map(|time| format!("{time:.2}")).unwrap_or_default();
            let most = times.last().map(|time| format!("{time:.2}")).unwrap_or_default();
            format!("{median} | {most}")
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            page,
            "| {} | {} | {} | {never} |",
            kind.cause(),
            both(&on_page),
            both(&terminal)
        );
    }
    let wrong: Vec<String> = counted.iter().flat_map(|row| row.wrong.clone()).collect();
    let wrong = if wrong.is_empty() { "nothing".to_owned() } else { wrong.join(", ") };
    let _ = writeln!(page, "\nSaid on the page, and not so: {wrong}.");
    page
}

pub(super) fn csv(rows: &[Row]) -> String {
    let mut text = "repetition,machines,void,cause,page_s,terminal_s,wrong\n".to_owned();
    for Row { machines, repetition, void, named, wrong } in rows {
        for (kind, Named { page, terminal }) in KINDS.iter().zip(named) {
            let time =
                |time: &Option<f64>| time.map(|time| format!("{time:.3}")).unwrap_or_default();
            let (page, terminal, cause) = (time(page), time(terminal), kind.cause());
            let wrong = wrong.len();
            let _ =
                writeln!(text, "{repetition},{machines},{void},{cause},{page},{terminal},{wrong}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trouble_that_is_never_named_is_said_and_void_runs_do_not_count() {
        let named = |page| Named { page, terminal: Some(1.5) };
        let row = Row {
            machines: 8,
            repetition: 0,
            void: false,
            named: [named(Some(1.0)), named(None), named(Some(0.25))],
            wrong: vec!["pc3: silent".to_owned()],
        };
        let void = Row { void: true, wrong: vec!["pc4: silent".to_owned()], ..row.clone() };
        let text = markdown(&[row.clone(), void.clone()]);
        assert!(text.contains("| lossy-path | 1.00 | 1.00 | 1.50 | 1.50 | 0 |"), "{text}");
        assert!(text.contains("| slow-machine |  |  | 1.50 | 1.50 | 1 |"), "{text}");
        assert!(text.contains("not so: pc3: silent.") && !text.contains("pc4"), "{text}");
        assert!(row.line().contains("slow-machine never, 1.50 s") && void.line().contains("void"));
        assert_eq!(csv(&[row]).lines().count(), 4);
    }
}
