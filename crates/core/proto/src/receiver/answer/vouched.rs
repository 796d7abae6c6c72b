//! Whether another receiver's report of a low rate makes our own superfluous.
//!
//! A report that is lower than ours speaks for both, where the sender follows it. Anybody can make one
//! up, and a sender that knows better disregards it: then nobody would report. So the probes that
//! follow must vouch for who has silenced us: they name the receivers that limit the rate. If they
//! name others, twice in a row, nobody else silences us for some probes. If they name nobody, the
//! rate may be a fixed one, to which reports mean little: then a few of the group speak all the same.

use crate::{
    rng::Rng,
    time::{Duration, Time},
};
use fanfare_wire::{
    NodeId,
    cmd::{CcNode, CcNodes},
    ext::CcFlags,
};

/// A report may be lost on its way to the sender. Two in a row are one in ten thousand at 1 % loss: if
/// all of a large group answered more often than that, it would be heard.
const STRIKES: u8 = 2;
/// For so many probes we listen to nobody: a sender believes a receiver for longer
/// (`SILENT_PROBES` of its candidates).
const DEAF: u8 = 8;
/// For so many probes whoever speaks up listens to nobody, where the sender has slowed down: a back-off
/// lasts for four GRTT, and probes are about a GRTT apart.
const SPEAKS: u8 = 5;
/// A report reaches the sender and comes back in a probe within so many GRTT.
const THERE_AND_BACK: u32 = 2;
/// So many of a group speak where a probe names nobody.
const SPEAKERS: f64 = 4.0;
/// And this share at most; as many where the sender has slowed down, as it does when it hears nobody.
const SPEAKERS_MOST: f64 = 0.5;

/// What a probe and what came with it tell.
#[derive(Debug)]
pub(crate) struct Told<'a> {
    pub(crate) nodes: CcNodes<'a>,
    pub(crate) grtt: Duration,
    pub(crate) group_size: u32,
    /// The sender has become slower than it was.
    pub(crate) slower: bool,
}

/// Who has silenced us, and whether the sender knows of it.
#[derive(Debug, Default)]
pub(crate) struct Vouched {
    /// When, by whom, and by what rate.
    silenced: Option<(Time, NodeId, f64)>,
    strikes: u8,
    deaf: u8,
}

impl Vouched {
    /// A probe arrived.
    pub(crate) fn on_probe(&mut self, now: Time, told: &Told<'_>, rng: &mut Rng) {
        self.deaf = self.deaf.saturating_sub(1);
        let Some((since, node, rate)) = self.silenced else { return };
        let limits = |item: &CcNode| item.flags.0 & (CcFlags::CLR | CcFlags::PLR) != 0;
        let vouches = |item: CcNode| item.node == node || item.rate.to_bytes_per_second() <= rate;
        let mut limiting = told.nodes.iter().filter(limits).peekable();
        let nobody = limiting.peek().is_none();
        if limiting.any(vouches) {
            (self.silenced, self.strikes) = (None, 0);
        } else if now.since(since) >= told.grtt * THERE_AND_BACK {
            self.silenced = None;
            if nobody {
                let few = SPEAKERS / f64::from(told.group_size.max(1));
                let chance = if told.slower { SPEAKERS_MOST } else { few.min(SPEAKERS_MOST) };
                let speaks = rng.random_bool(chance);
                let probes = if told.slower { SPEAKS } else { 1 };
                self.deaf = if speaks { probes } else { 0 };
                return;
            }
            self.strikes += 1;
            if self.strikes >= STRIKES {
                (self.strikes, self.deaf) = (0, DEAF);
            }
        }
    }

    /// Whether nobody silences us now, nor what silenced us before.
    pub(crate) fn is_deaf(&self) -> bool {
        self.deaf > 0
    }

    /// A report of another receiver would silence us. Whether it does.
    pub(crate) fn silences(&mut self, now: Time, node: NodeId, rate: f64) -> bool {
        if self.deaf > 0 {
            return false;
        }
        self.silenced.get_or_insert((now, node, rate));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::at;
    use alloc::vec::Vec;
    use fanfare_wire::{QuantizedRate, QuantizedRtt};

    const GRTT: Duration = Duration::from_millis(10);
    const OTHER: NodeId = NodeId(7);

    /// What a probe lists, as it travels.
    fn listed(node: u32, flags: u8, rate: f64) -> Vec<u8> {
        let rate = QuantizedRate::from_bytes_per_second(rate).0.to_be_bytes();
        let rtt = QuantizedRtt(100).0;
        [&node.to_be_bytes()[..], &[flags, rtt], &rate].concat()
    }

    fn told(list: &[u8], group_size: u32, slower: bool) -> Told<'_> {
        Told { nodes: CcNodes::parse(list).unwrap(), grtt: GRTT, group_size, slower }
    }

    /// In how many of 1,000 rounds we are silenced, where probes list this.
    fn silenced(list: &[u8], slower: bool) -> usize {
        let (mut vouched, told) = (Vouched::default(), told(list, 100, slower));
        let mut rng = Rng::new(1);
        let mut round = |n: u64| {
            vouched.on_probe(at(100 * n), &told, &mut rng);
            vouched.silences(at(100 * n + 30), OTHER, 1e4)
        };
        (0..1000).filter(|n| round(*n)).count()
    }

    #[test]
    fn a_report_that_the_sender_follows_silences_us_always() {
        assert_eq!(silenced(&listed(OTHER.0, CcFlags::PLR, 1e4), false), 1000);
        assert_eq!(
            silenced(&listed(9, CcFlags::CLR, 9e3), false),
            1000,
            "or of one that is slower still"
        );
    }

    #[test]
    fn reports_that_the_sender_disregards_silence_us_in_a_fifth_of_all_rounds() {
        let count = silenced(&listed(9, CcFlags::CLR, 1e6), false);
        assert!((180..=240).contains(&count), "{count}");
    }

    #[test]
    fn where_nobody_limits_a_few_of_a_group_are_not_silenced() {
        for list in [listed(OTHER.0, CcFlags::RTT, 1e4), Vec::new()] {
            let spoke = 1000 - silenced(&list, false);
            assert!((25..=55).contains(&spoke), "four of a hundred: {spoke}");
            let spoke = 1000 - silenced(&list, true);
            assert!((650..=770).contains(&spoke), "it slows down: {spoke}");
        }
    }

    #[test]
    fn probes_that_were_under_way_already_say_nothing() {
        let (mut vouched, none) = (Vouched::default(), told(&[], 1, false));
        let list = listed(OTHER.0, CcFlags::PLR, 1e4);
        let (named, mut rng) = (told(&list, 1, false), Rng::new(1));
        for n in 0..100 {
            vouched.on_probe(at(100 * n), &none, &mut rng);
            assert!(vouched.silences(at(100 * n), OTHER, 1e4));
            vouched.on_probe(at(100 * n + 19), &none, &mut rng);
            vouched.on_probe(at(100 * n + 25), &named, &mut rng);
        }
    }
}
