//! Runs of a chain, and what comes next.

/// One run of `udp-sender` or `udp-receiver`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ChainRun {
    pub(super) place: u32,
    /// It runs still.
    pub(super) is_alive: bool,
    /// It has everything, or was sent to its end.
    pub(super) is_complete: bool,
    /// Chain that it was of, where its sender said so.
    pub(super) chain: Option<u64>,
    /// Object that is sent, or the place where it goes; empty where that cannot be told.
    pub(super) object: String,
}

/// Stream that a receiver is to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextStream {
    /// The stream of this place, after one of that chain.
    Place { place: u32, after: Option<u64> },
    /// The run before, for the image at this place, did not come to its end: nobody can say whether
    /// this one takes its place, or is the next.
    Unknown { place: u32 },
}

/// The place of what is sent now. An image that this chain has sent before has its old place.
pub(super) fn next_sent(runs: &[ChainRun], object: &str) -> u32 {
    let before = runs.iter().find(|run| !object.is_empty() && run.object == object);
    let last = runs.iter().map(|run| run.place).max().unwrap_or(0);
    before.map_or(last + 1, |run| run.place)
}

/// Stream that is to be received now. `is_device`: `object` is a device, and so the place of one image.
pub(super) fn next_received(runs: &[ChainRun], object: &str, is_device: bool) -> NextStream {
    let at = |place: u32, after| NextStream::Place { place, after };
    let chain_at = |place: u32| {
        let complete = runs.iter().filter(|run| run.place == place && run.is_complete);
        complete.filter_map(|run| run.chain).next()
    };
    let again = |place: u32| at(place, chain_at(place - 1));
    let is_there = |run: &&ChainRun| !object.is_empty() && run.object == object;
    if is_device && let Some(run) = runs.iter().find(is_there) {
        return again(run.place);
    }
    let Some(last) = runs.iter().map(|run| run.place).max() else { return at(1, None) };
    let mut of_last = runs.iter().filter(|run| run.place == last);
    if of_last.clone().any(|run| run.is_complete) {
        return at(last + 1, chain_at(last));
    }
    // Two receivers for one image, or the same target once more.
    if of_last.clone().any(|run| run.is_alive) || of_last.any(|run| is_there(&run)) {
        return again(last);
    }
    NextStream::Unknown { place: last }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(place: u32, object: &str) -> ChainRun {
        ChainRun { place, object: object.to_owned(), ..ChainRun::default() }
    }
    fn complete(place: u32, chain: u64) -> ChainRun {
        ChainRun { is_complete: true, chain: Some(chain), ..run(place, "") }
    }

    #[test]
    fn each_image_of_a_sender_is_one_place_further() {
        assert_eq!(next_sent(&[], "a"), 1);
        assert_eq!(next_sent(&[run(1, "a")], "b"), 2);
        assert_eq!(next_sent(&[run(1, ""), run(2, "")], ""), 3);
    }

    #[test]
    fn an_image_that_is_sent_again_has_its_old_place() {
        let runs = [run(1, "a"), run(2, "b")];
        assert_eq!((next_sent(&runs, "a"), next_sent(&runs, "b")), (1, 2));
        assert_eq!(next_sent(&runs, "c"), 3);
    }

    #[test]
    fn a_receiver_takes_one_place_after_the_other() {
        assert_eq!(next_received(&[], "", false), NextStream::Place { place: 1, after: None });
        let runs = [complete(1, 7)];
        assert_eq!(next_received(&runs, "", false), NextStream::Place { place: 2, after: Some(7) });
        let runs = [complete(1, 7), complete(2, 7)];
        assert_eq!(next_received(&runs, "", false), NextStream::Place { place: 3, after: Some(7) });
    }

    #[test]
    fn after_a_receiver_without_its_image_nothing_is_taken_unless_the_target_is_the_same() {
        let runs = [complete(1, 7), run(2, "")];
        assert_eq!(next_received(&runs, "", false), NextStream::Unknown { place: 2 });
        let runs = [complete(1, 7), run(2, "out")];
        assert_eq!(next_received(&runs, "other", false), NextStream::Unknown { place: 2 });
        let again = NextStream::Place { place: 2, after: Some(7) };
        assert_eq!(next_received(&runs, "out", false), again);
        let alive = ChainRun { is_alive: true, ..run(2, "") };
        assert_eq!(next_received(&[complete(1, 7), alive], "", false), again);
    }

    #[test]
    fn a_device_is_the_place_of_one_image() {
        let runs = [ChainRun { object: "dev:1".into(), ..complete(1, 7) }, complete(2, 7)];
        let first = NextStream::Place { place: 1, after: None };
        assert_eq!(next_received(&runs, "dev:1", true), first);
        let third = NextStream::Place { place: 3, after: Some(7) };
        assert_eq!(next_received(&runs, "dev:1", false), third);
    }
}
