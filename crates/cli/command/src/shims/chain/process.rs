//! One process, as `/proc` tells it.

use std::path::Path;

/// Programs that run scripts line by line.
const SHELLS: [&str; 13] = [
    "sh", "bash", "dash", "ash", "busybox", "ksh", "ksh93", "mksh", "zsh", "fish", "hush", "yash",
    "posh",
];

/// One process. Its id and its start name it as long as the machine runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ProcessInfo {
    pub(super) id: u32,
    /// Clock ticks since the machine was started.
    pub(super) start: u64,
    pub(super) parent: u32,
    pub(super) group: u32,
    /// Its terminal; 0 is none.
    pub(super) terminal: i64,
    /// The group that the terminal's keys reach.
    pub(super) foreground: i64,
    /// It has ended, and its parent has not asked for its end yet.
    pub(super) has_ended: bool,
    pub(super) is_shell: bool,
    /// Its words, each with a zero behind it.
    pub(super) words: Vec<u8>,
}

impl ProcessInfo {
    /// Reads it from `/proc/ID`; none where there is no such process, or no `/proc`.
    pub(super) fn read(id: u32) -> Option<Self> {
        let dir = Path::new("/proc").join(id.to_string());
        let mut process = Self::parse(&std::fs::read_to_string(dir.join("stat")).ok()?)?;
        process.words = std::fs::read(dir.join("cmdline")).unwrap_or_default();
        let program = std::fs::read_link(dir.join("exe")).ok();
        let name = program.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
        process.is_shell = name.is_some_and(|name| SHELLS.contains(&name));
        Some(process)
    }

    /// Reads `/proc/ID/stat`, proc(5).
    fn parse(stat: &str) -> Option<Self> {
        // The name in brackets may hold anything.
        let (id, rest) = stat.split_once(" (")?;
        let (_, rest) = rest.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        Some(Self {
            id: id.parse().ok()?,
            has_ended: matches!(*fields.first()?, "Z" | "X"),
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            terminal: fields.get(4)?.parse().ok()?,
            foreground: fields.get(5)?.parse().ok()?,
            start: fields.get(19)?.parse().ok()?,
            ..Self::default()
        })
    }

    /// True if it only runs the other one with its own words, as timeout, sudo, nice and setsid do.
    pub(super) fn wraps(&self, other: &Self) -> bool {
        !other.words.is_empty()
            && self.words.len() > other.words.len()
            && self.words.ends_with(&other.words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_its_name_is() {
        let stat = "42 (a) b (c) S 7 41 40 34816 41 4194304 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2\n";
        let process = ProcessInfo::parse(stat).unwrap();
        let expected = ProcessInfo {
            id: 42,
            start: 98765,
            parent: 7,
            group: 41,
            terminal: 34816,
            foreground: 41,
            ..ProcessInfo::default()
        };
        assert_eq!(process, expected);
        assert!(ProcessInfo::parse("42 (a) Z 7 41 40 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 9").is_some());
        assert!(ProcessInfo::parse("42 (a").is_none() && ProcessInfo::parse("").is_none());
    }

    #[test]
    fn a_program_that_runs_another_one_with_its_own_words_is_known() {
        let process = |words: &str| ProcessInfo { words: words.into(), ..ProcessInfo::default() };
        let own = process("udp-sender\0--nokbd\0");
        assert!(process("timeout\09\0udp-sender\0--nokbd\0").wraps(&own));
        assert!(!process("sh\0-c\0udp-sender --nokbd\0").wraps(&own));
        assert!(!own.wraps(&own) && !own.wraps(&process("")));
    }
}
