//! Remedies for an object that proved wrong: asked for again, begun anew, or given up.

use std::time::Duration;

use fanfare_proto::Time;

/// The same wrong content comes so often before its announcement is doubted, too.
const SAME_MAX: u8 = 3;
/// Other wrong content each time is what somebody makes who sends wrong symbols in the sender's name. It is
/// asked for again as long as that goes on: the sender gives up receivers that do not get further
/// (`--wait`). This is for senders that do not, and for those who send wrong things without end.
const PATIENCE: Duration = Duration::from_secs(900);

/// Remedy for an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MendingVerdict {
    /// Ask for what is wrong again.
    Again,
    /// Forget all that is known of it, its announcement too: that may be what is wrong.
    Anew,
    /// Its sender's file is not what it announces, and will not become so.
    Never,
}

/// Hashes of what was announced and of what came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WrongContent {
    pub(super) announced: Option<[u8; 32]>,
    pub(super) found: Option<[u8; 32]>,
    /// Number of its bytes that are wrong.
    pub(super) bytes: u64,
}

/// Memory of what came of an object and proved wrong. It outlives that the object is begun anew.
#[derive(Debug, Default)]
pub(super) struct Mended {
    /// The least that was wrong, and since when it was not less.
    least: Option<u64>,
    since: Option<Time>,
    /// Content that was there last, and how often in a row.
    last: Option<WrongContent>,
    same: u8,
    /// Content that was there when it was begun anew.
    before: Option<WrongContent>,
}

impl Mended {
    /// It proved wrong.
    pub(super) fn on_wrong(&mut self, now: Time, wrong: WrongContent) -> MendingVerdict {
        let is_less = self.least.is_none_or(|least| wrong.bytes < least);
        if is_less {
            self.least = Some(wrong.bytes);
            self.since = Some(now);
        }
        if !self.is_patient(now) {
            return MendingVerdict::Never;
        }
        self.same = if self.last == Some(wrong) { self.same.saturating_add(1) } else { 1 };
        self.last = Some(wrong);
        // Where there is nothing to ask for, what was announced is wrong.
        if self.same <= SAME_MAX && wrong.bytes > 0 {
            return MendingVerdict::Again;
        }
        if self.before == Some(wrong) {
            return MendingVerdict::Never;
        }
        self.before = Some(wrong);
        self.last = None;
        self.same = 0;
        MendingVerdict::Anew
    }

    /// Its announcement was changed on the way. Whether to ask for that again.
    pub(super) fn on_wrong_announcement(&mut self, now: Time) -> bool {
        self.since.get_or_insert(now);
        self.is_patient(now)
    }

    fn is_patient(&self, now: Time) -> bool {
        self.since.is_none_or(|since| now.since(since) < PATIENCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(found: u8, bytes: u64) -> WrongContent {
        WrongContent { announced: Some([9; 32]), found: Some([found; 32]), bytes }
    }

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn the_same_wrong_content_is_begun_anew_once_and_given_up_when_it_comes_again() {
        let mut mended = Mended::default();
        let told: Vec<MendingVerdict> =
            (0..8).map(|n| mended.on_wrong(at(n), wrong(1, 5))).collect();
        let again = [MendingVerdict::Again; 3];
        let expected =
            [&again[..], &[MendingVerdict::Anew], &again[..], &[MendingVerdict::Never]].concat();
        assert_eq!(told, expected);
    }

    #[test]
    fn what_is_announced_otherwise_the_next_time_is_not_given_up() {
        let mut mended = Mended::default();
        for announced in 0..20 {
            let wrong = WrongContent { announced: Some([announced; 32]), ..wrong(1, 5) };
            let told: Vec<MendingVerdict> = (0..4).map(|_| mended.on_wrong(at(1), wrong)).collect();
            assert_eq!(told[3], MendingVerdict::Anew);
        }
        assert_eq!(
            Mended::default().on_wrong(at(0), wrong(1, 0)),
            MendingVerdict::Anew,
            "nothing to ask for"
        );
    }

    #[test]
    fn changing_content_is_asked_for_until_it_has_not_become_less_wrong_for_long() {
        let mut mended = Mended::default();
        let differs = |n: u64| wrong((n % 250) as u8, 1000);
        assert!(
            (0..PATIENCE.as_secs())
                .all(|n| mended.on_wrong(at(n), differs(n)) == MendingVerdict::Again)
        );
        let late = PATIENCE.as_secs();
        assert_eq!(mended.on_wrong(at(late), differs(late)), MendingVerdict::Never);
        let mut mended = Mended::default();
        let less = |n: u64| wrong((n % 250) as u8, 1000 - n);
        let told = (0..900).map(|n| mended.on_wrong(at(n * 600), less(n)));
        assert!(told.into_iter().all(|told| told == MendingVerdict::Again), "it becomes less");
    }

    #[test]
    fn an_announcement_that_was_changed_is_asked_for_as_long() {
        let mut mended = Mended::default();
        assert!(mended.on_wrong_announcement(at(5)) && mended.on_wrong_announcement(at(800)));
        assert!(!mended.on_wrong_announcement(at(5 + PATIENCE.as_secs())));
    }
}
