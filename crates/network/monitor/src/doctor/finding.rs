//! What one check came to.

use std::fmt;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// It was not looked at: nothing is known.
    Skip,
    /// As it should be.
    Ok,
    /// Works now, or may work; a person should know.
    Warn,
    /// Multicast does not work like this.
    Bad,
}

impl Level {
    /// `skip`, `ok`, `warn` or `bad`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Bad => "bad",
        }
    }
}

/// One check's result: what was seen and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub level: Level,
    /// A stable name for programs: the check, a dot, what was found. `docs/reference/doctor.md` lists them.
    pub code: &'static str,
    /// What was seen, in words, one line.
    pub seen: String,
    /// What to do, with the command where there is one. `None` when there is nothing to do.
    pub advice: Option<String>,
}

impl Finding {
    /// As it should be.
    pub fn ok(code: &'static str, seen: impl Into<String>) -> Self {
        Self { level: Level::Ok, code, seen: seen.into(), advice: None }
    }

    /// It was not looked at.
    pub fn skip(code: &'static str, seen: impl Into<String>) -> Self {
        Self { level: Level::Skip, code, seen: seen.into(), advice: None }
    }

    /// The same with what to do.
    #[must_use]
    pub fn advised(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }

    /// A person should know, and can do this.
    pub fn warn(code: &'static str, seen: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { level: Level::Warn, code, seen: seen.into(), advice: Some(advice.into()) }
    }

    /// It does not work, and this would help.
    pub fn bad(code: &'static str, seen: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { level: Level::Bad, code, seen: seen.into(), advice: Some(advice.into()) }
    }

    /// The check that found it: the code up to its dot.
    pub fn check(&self) -> &'static str {
        self.code.split('.').next().unwrap_or(self.code)
    }
}

impl fmt::Display for Finding {
    /// `warn  mtu         eth0 takes packets of 1280 bytes …; do: fanfare send --segment 1200`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<5} {:<11} {}", self.level.name(), self.check(), self.seen)?;
        match &self.advice {
            Some(advice) => write!(f, "; do: {advice}"),
            None => Ok(()),
        }
    }
}

/// All findings in one sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// Findings that are bad.
    pub bad: usize,
    /// Findings that warn.
    pub warnings: usize,
    /// Other machines that were heard.
    pub peers: usize,
}

impl Verdict {
    /// Sums up.
    pub fn of(findings: &[Finding], peers: usize) -> Self {
        let count = |level| findings.iter().filter(|finding| finding.level == level).count();
        Self { bad: count(Level::Bad), warnings: count(Level::Warn), peers }
    }

    /// Nothing is bad; there may be warnings.
    pub fn is_fine(&self) -> bool {
        self.bad == 0
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let where_tested = match self.peers {
            0 => "on this machine; no other was heard".to_owned(),
            1 => "between this machine and one other".to_owned(),
            n => format!("between this machine and {n} others"),
        };
        match (self.bad, self.warnings) {
            (0, 0) => write!(f, "multicast works {where_tested}"),
            (0, n) => write!(f, "multicast works {where_tested}; {} above", counted(n, "warning")),
            (n, 0) => write!(f, "multicast does not work: {} above", counted(n, "bad finding")),
            (bad, n) => write!(
                f,
                "multicast does not work: {} and {} above",
                counted(bad, "bad finding"),
                counted(n, "warning")
            ),
        }
    }
}

fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_one_line_with_what_was_seen_and_what_to_do() {
        let finding = Finding::warn("mtu.small", "1280 bytes", "fanfare send --segment 1200");
        assert_eq!(finding.check(), "mtu");
        assert_eq!(
            finding.to_string(),
            "warn  mtu         1280 bytes; do: fanfare send --segment 1200"
        );
    }

    #[test]
    fn warnings_leave_the_verdict_fine_and_one_bad_finding_does_not() {
        let warn = Finding::warn("a.b", "", "");
        let bad = Finding::bad("c.d", "", "");
        let verdict = Verdict::of(&[Finding::ok("e.f", ""), warn.clone()], 2);
        assert!(verdict.is_fine());
        assert_eq!(
            verdict.to_string(),
            "multicast works between this machine and 2 others; 1 warning above"
        );
        let verdict = Verdict::of(&[warn, bad.clone(), bad], 0);
        assert!(!verdict.is_fine());
        assert_eq!(
            verdict.to_string(),
            "multicast does not work: 2 bad findings and 1 warning above"
        );
        assert_eq!(
            Verdict::of(&[], 0).to_string(),
            "multicast works on this machine; no other was heard"
        );
    }
}
