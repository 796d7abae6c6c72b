//! How often an object proved wrong, and when it is given up.

use std::time::Duration;

use fanfare_proto::Time;

/// The same wrong content comes so often before an object is given up: its sender's file is not what it
/// announced, and will not become so.
const SAME_MAX: u8 = 3;
/// Other wrong content each time is what somebody makes who sends wrong symbols in the sender's name: it
/// is borne so often, and for so long, that a burst of them spoils some attempts and not the file.
const ATTEMPTS_MAX: u8 = 32;
const PATIENCE: Duration = Duration::from_secs(120);

/// What came of an object and proved wrong.
#[derive(Debug, Default)]
pub(super) struct Mended {
    attempts: u8,
    since: Option<Time>,
    /// The hash of what was found last, and how often in a row.
    found: Option<[u8; 32]>,
    same: u8,
}

impl Mended {
    /// It proved wrong; `found` is the hash of what was there. Whether to ask for it again.
    pub(super) fn again(&mut self, now: Time, found: Option<[u8; 32]>) -> bool {
        let since = *self.since.get_or_insert(now);
        self.same = if self.found == found { self.same.saturating_add(1) } else { 1 };
        self.found = found;
        self.attempts = self.attempts.saturating_add(1);
        self.same <= SAME_MAX && self.attempts <= ATTEMPTS_MAX && now.since(since) < PATIENCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_wrong_content_is_given_up_soon_and_changing_content_is_asked_for_on() {
        let mut mended = Mended::default();
        let asked = (0..10).take_while(|_| mended.again(Time::ZERO, Some([1; 32]))).count();
        assert_eq!(asked, 3);
        let mut mended = Mended::default();
        let asked = (0..100u8).take_while(|n| mended.again(Time::ZERO, Some([*n; 32]))).count();
        assert_eq!(asked, 32);
        let mut mended = Mended::default();
        assert!(mended.again(Time::ZERO, Some([1; 32])));
        assert!(!mended.again(Time::ZERO + PATIENCE, Some([2; 32])));
    }
}
