//! What is varied: whether the sender hears others, how much of its traffic arrives, and the length
//! of messages.

use crate::{
    error::{LabError, Refusal},
    peer::SEGMENT,
};
use fanfare_sim::Scenario;
use std::{fmt, str::FromStr, time::Duration};

const NETWORK: &str = include_str!("network.toml");
/// The paper's.
const RELIABILITIES: [u8; 4] = [90, 80, 70, 50];
const SIZES: [usize; 4] = [1024, 7168, 15_360, 35_840];
/// What is measured unless all is asked for: a good and a bad link, a message of one segment and one of
/// eleven.
const SOME: ([u8; 2], [usize; 2]) = ([80, 50], [1024, 15_360]);

/// A sender's link, and its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Situation {
    /// Whether it hears nothing.
    pub deaf: bool,
    /// What arrives of what it sends, percent.
    pub reliability: u8,
    /// Bytes of a message.
    pub size: usize,
}

impl Situation {
    /// All of the paper's table.
    #[must_use]
    pub fn all() -> Vec<Self> {
        Self::of(&RELIABILITIES, &SIZES)
    }
    /// A quarter of it.
    #[must_use]
    pub fn some() -> Vec<Self> {
        Self::of(&SOME.0, &SOME.1)
    }
    fn of(reliabilities: &[u8], sizes: &[usize]) -> Vec<Self> {
        let mut all = Vec::new();
        for deaf in [false, true] {
            for reliability in reliabilities {
                let each =
                    sizes.iter().map(|size| Self { deaf, reliability: *reliability, size: *size });
                all.extend(each);
            }
        }
        all
    }

    /// Whether its sender hears, in a word.
    #[must_use]
    pub fn link(&self) -> &'static str {
        if self.deaf { "deaf" } else { "hearing" }
    }

    /// As a network of hosts: first the sender, then the subscribers.
    pub(super) fn network(&self, limit: Duration) -> Result<Scenario, LabError> {
        let loss = 100 - self.reliability;
        let back = if self.deaf { 100 } else { loss };
        let text = NETWORK
            .replace("{duration}", &format!("{}s", limit.as_secs()))
            .replace("{loss}", &loss.to_string())
            .replace("{back}", &back.to_string());
        let none = |file: &str| Err(format!("{file} is not part of it. Report this"));
        Scenario::parse_for_laboratory(&text, &none).map_err(|mistakes| {
            let all: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
            let text = format!("scenario (tactical): {}. Report this", all.join("; "));
            LabError::new(Refusal::System, "lab.experiment", text)
        })
    }

    /// Packets of parity that the paper's NORM sent unasked behind each message when the sender was deaf:
    /// a third of the message's, which is none for one packet and the two that it tells of for 7168 bytes.
    pub(super) fn parity(&self) -> u64 {
        if self.deaf { self.segments() / 3 } else { 0 }
    }

    /// Bytes of a segment, for both systems: as many segments as of the longest, and those about as long as each other. A
    /// repair is as long as the longest, and 7168 bytes are six of 1195, or five of 1400 and one of 168.
    pub(super) fn segment(&self) -> u64 {
        match self.segments() {
            1 => SEGMENT,
            segments => (self.size as u64).div_ceil(segments),
        }
    }

    fn segments(&self) -> u64 {
        (self.size as u64).div_ceil(SEGMENT)
    }
}

impl fmt::Display for Situation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.link(), self.reliability, self.size)
    }
}

impl FromStr for Situation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::all().into_iter().find(|one| one.to_string() == text);
        found.ok_or_else(|| {
            "no such situation. Use for example deaf:80:1024, hearing:50:15360, or all".to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_has_32_situations_and_each_is_a_network_of_ten_hosts() {
        let all = Situation::all();
        assert_eq!((all.len(), Situation::some().len()), (32, 8));
        for one in all {
            assert_eq!(one.to_string().parse(), Ok(one));
            let hosts = one.network(Duration::from_secs(60)).unwrap().plan(1).emulated_hosts();
            assert_eq!(hosts.len(), 10);
            assert_eq!((hosts[0].name.as_str(), hosts[3].name.as_str()), ("sender", "subscriber3"));
        }
        assert!("deaf:60:1024".parse::<Situation>().is_err());
    }

    #[test]
    fn a_deaf_sender_adds_the_papers_third_of_parity() {
        let parity = |deaf, size| Situation { deaf, reliability: 50, size }.parity();
        assert_eq!([1024, 7168, 15_360, 35_840].map(|size| parity(true, size)), [0, 2, 3, 8]);
        assert_eq!(parity(false, 35_840), 0);
    }

    #[test]
    fn segments_of_a_message_are_as_long_as_each_other() {
        let segment = |size| Situation { deaf: false, reliability: 50, size }.segment();
        assert_eq!([1024, 7168, 15_360, 35_840].map(segment), [1400, 1195, 1397, 1379]);
    }
}
