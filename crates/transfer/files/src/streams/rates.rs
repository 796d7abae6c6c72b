//! One rate for several streams: who may send how much of it.
//!
//! Streams with data have it among them by weight, none more than it asks for at most; one without keeps
//! a small part of its share, to begin with when data comes. What a stream may send rises only as
//! far as the others have come down: together they never have more than there is.

use std::collections::BTreeMap;

/// A stream without data keeps one part of so many of its share: ten of them, nine without data, leave
/// an eightieth of the rate unused.
const IDLE_PARTS: u64 = 64;

/// A rate, shared.
#[derive(Debug)]
pub(super) struct Rates {
    /// Bits per second of all together.
    total: u64,
    claims: BTreeMap<usize, Claim>,
}

#[derive(Debug)]
struct Claim {
    weight: u32,
    most: Option<u64>,
    /// It has data to send.
    active: bool,
    /// What it may send at present.
    in_force: u64,
}

impl Claim {
    fn at_most(&self, rate: u64) -> u64 {
        self.most.map_or(rate, |most| rate.min(most))
    }
}

/// What a stream may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Granted {
    /// As soon as the others have come down.
    pub(super) share: u64,
    /// At present.
    pub(super) now: u64,
}

impl Rates {
    pub(super) fn new(total: u64) -> Self {
        Self { total, claims: BTreeMap::new() }
    }

    /// One more, without data yet.
    pub(super) fn join(&mut self, id: usize, weight: u32, most: Option<u64>) {
        self.claims.insert(id, Claim { weight, most, active: false, in_force: 0 });
    }

    pub(super) fn leave(&mut self, id: usize) {
        self.claims.remove(&id);
    }

    /// It has data to send, or no more.
    pub(super) fn set_active(&mut self, id: usize, active: bool) {
        if let Some(claim) = self.claims.get_mut(&id) {
            claim.active = active;
        }
    }

    /// It wants no more than this.
    pub(super) fn set_most(&mut self, id: usize, most: u64) {
        if let Some(claim) = self.claims.get_mut(&id) {
            claim.most = Some(most);
        }
    }

    /// What it has when all have data.
    pub(super) fn fair(&self, id: usize) -> u64 {
        let weights = self.claims.values().map(|claim| u64::from(claim.weight)).sum();
        let fair = |claim: &Claim| claim.at_most(part(self.total, claim.weight, weights));
        self.claims.get(&id).map_or(0, fair)
    }

    /// It goes by its share from now on, as far as the others leave room.
    pub(super) fn settle(&mut self, id: usize) -> Granted {
        let share = self.shares().get(&id).copied().unwrap_or(0);
        let others =
            |(other, claim): (&usize, &Claim)| if *other == id { 0 } else { claim.in_force };
        let free = self.total.saturating_sub(self.claims.iter().map(others).sum());
        let now = share.min(free);
        if let Some(claim) = self.claims.get_mut(&id) {
            claim.in_force = now;
        }
        Granted { share, now }
    }

    /// Those that are to settle: they have to come down, or may rise.
    pub(super) fn unsettled(&self) -> Vec<usize> {
        let used: u64 = self.claims.values().map(|claim| claim.in_force).sum();
        let shares = self.shares();
        let is_unsettled = |(id, claim): (&usize, &Claim)| {
            let share = shares.get(id).copied().unwrap_or(0);
            let moves = claim.in_force > share || (claim.in_force < share && used < self.total);
            moves.then_some(*id)
        };
        self.claims.iter().filter_map(is_unsettled).collect()
    }

    /// By weight among those with data; what one does not want goes to the others.
    fn shares(&self) -> BTreeMap<usize, u64> {
        let (mut shares, mut open, mut left) = (BTreeMap::new(), Vec::new(), self.total);
        for (id, claim) in &self.claims {
            if claim.active {
                open.push((*id, claim));
            } else {
                let kept = self.fair(*id) / IDLE_PARTS;
                left -= kept;
                shares.insert(*id, kept);
            }
        }
        loop {
            let weights = open.iter().map(|(_, claim)| u64::from(claim.weight)).sum();
            let of = |claim: &Claim| part(left, claim.weight, weights);
            let modest = open.iter().position(|(_, claim)| claim.at_most(of(claim)) < of(claim));
            let Some(at) = modest else {
                shares.extend(open.iter().map(|(id, claim)| (*id, of(claim))));
                return shares;
            };
            let (id, claim) = open.remove(at);
            let most = claim.at_most(left);
            left -= most;
            shares.insert(id, most);
        }
    }
}

/// `weight` parts of `weights`, rounded down.
pub(super) fn part(of: u64, weight: u32, weights: u64) -> u64 {
    let part = u128::from(of) * u128::from(weight) / u128::from(weights.max(1));
    u64::try_from(part).unwrap_or(of)
}

#[cfg(test)]
mod tests {
    use fanfare_proto::rng::Rng;

    use super::*;

    /// Rates of so many streams of one weight, all with data and settled.
    fn busy(total: u64, weights: &[u32]) -> Rates {
        let mut rates = Rates::new(total);
        for (id, weight) in weights.iter().enumerate() {
            rates.join(id, *weight, None);
            rates.set_active(id, true);
        }
        settle_all(&mut rates);
        rates
    }

    /// As the drivers do, each when it is called.
    fn settle_all(rates: &mut Rates) {
        for _ in 0..1000 {
            let Some(id) = rates.unsettled().first().copied() else { return };
            rates.settle(id);
            assert!(rates.claims.values().map(|claim| claim.in_force).sum::<u64>() <= rates.total);
        }
        panic!("they never come to rest: {rates:?}");
    }

    fn in_force(rates: &Rates) -> Vec<u64> {
        rates.claims.values().map(|claim| claim.in_force).collect()
    }

    #[test]
    fn streams_with_data_have_the_rate_by_weight() {
        assert_eq!(in_force(&busy(1000, &[1; 10])), [100; 10]);
        assert_eq!(in_force(&busy(1000, &[1, 3, 6])), [100, 300, 600]);
    }

    #[test]
    fn who_ends_leaves_its_share_to_the_others() {
        let mut rates = busy(1000, &[1, 1, 2]);
        rates.leave(2);
        assert_eq!(rates.unsettled(), [0, 1]);
        settle_all(&mut rates);
        assert_eq!(in_force(&rates), [500, 500]);
    }

    #[test]
    fn who_has_no_data_keeps_a_64th_of_its_share_and_has_all_of_it_when_data_comes() {
        let mut rates = busy(6400, &[1, 1]);
        rates.set_active(1, false);
        settle_all(&mut rates);
        assert_eq!(in_force(&rates), [6350, 50]);
        rates.set_active(1, true);
        let granted = rates.settle(1);
        assert_eq!(granted, Granted { share: 3200, now: 50 }, "nothing before the other yields");
        assert_eq!(rates.unsettled(), [0]);
        settle_all(&mut rates);
        assert_eq!(in_force(&rates), [3200, 3200]);
    }

    #[test]
    fn what_one_does_not_want_the_others_have() {
        let mut rates = busy(1000, &[1, 1, 2]);
        rates.set_most(0, 100);
        settle_all(&mut rates);
        assert_eq!(in_force(&rates), [100, 300, 600]);
        rates.set_most(1, 50);
        rates.set_most(2, 400);
        settle_all(&mut rates);
        assert_eq!(in_force(&rates), [100, 50, 400], "more than all want stays unused");
    }

    #[test]
    fn whoever_comes_goes_starts_and_stops_in_whatever_order_they_never_have_more_than_there_is() {
        for seed in 0..50 {
            let mut rng = Rng::new(seed);
            let mut draw = |below: u64| rng.next_u64() % below;
            let mut rates = Rates::new(1_000_000_007);
            for id in 0..200 {
                match draw(5) {
                    0 => rates.join(id, 1 + draw(9) as u32, (draw(2) == 0).then(|| draw(1 << 30))),
                    1 => rates.leave(draw(200) as usize),
                    2 => rates.set_most(draw(200) as usize, draw(1 << 30)),
                    _ => {}
                }
                rates.set_active(draw(200) as usize, draw(2) == 0);
                let one = draw(200) as usize;
                if rates.claims.contains_key(&one) {
                    rates.settle(one);
                }
                assert!(in_force(&rates).iter().sum::<u64>() <= rates.total, "seed {seed}");
            }
            settle_all(&mut rates);
            assert!(rates.claims.keys().copied().all(|id| {
                let granted = rates.shares()[&id];
                rates.claims[&id].in_force == granted
            }));
        }
    }
}
