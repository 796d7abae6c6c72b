//! The best that a changing network could carry: who could be reached, when, and with how many
//! transmissions. A contact is a pair of nodes between which at least half of all packets arrive.

use fanfare_proto::{Time, rng::Rng};

use super::{PathLoss, Reach};

/// A set of nodes.
pub(crate) type Nodes = u128;

/// Who hears whom, from when on.
#[derive(Debug, Clone)]
pub(crate) struct Contacts {
    moments: Vec<(Time, Vec<Nodes>)>,
    /// At each moment, of each pair: the share of packets that arrives.
    shares: Vec<Vec<f32>>,
    nodes: usize,
}

/// The nodes of a set.
fn each(set: Nodes) -> impl Iterator<Item = usize> {
    (0..Nodes::BITS as usize).filter(move |node| set >> node & 1 == 1)
}

impl Contacts {
    pub(crate) fn new(path_loss: &PathLoss, reach: &Reach) -> Self {
        let nodes = path_loss.nodes();
        let moments = path_loss.moments().iter().map(|moment| {
            let hears = |from: usize, to: usize| {
                to != from && path_loss.between(moment, from, to) <= reach.limit
            };
            let row = |from| (0..nodes).filter(|to| hears(from, *to)).map(|to| 1 << to).sum();
            (Time::ZERO + moment.at, (0..nodes).map(row).collect())
        });
        let shares = path_loss.moments().iter().map(|moment| {
            let pairs = (0..nodes * nodes).map(|pair| (pair / nodes, pair % nodes));
            let share = |(from, to)| match from == to {
                true => 0.0,
                false => 1.0 - reach.lost(path_loss.between(moment, from, to)),
            };
            pairs.map(share).collect()
        });
        Self { moments: moments.collect(), shares: shares.collect(), nodes }
    }

    /// From the moment that `at` is in up to `until`.
    fn since(&self, at: Time, until: Time) -> impl Iterator<Item = &(Time, Vec<Nodes>)> {
        let first = self.moments.partition_point(|(from, _)| *from <= at).saturating_sub(1);
        self.moments[first..].iter().take_while(move |(from, _)| *from <= until)
    }

    /// Whom a path leads to from `from`, at this time.
    pub(crate) fn connected(&self, at: Time, from: usize) -> Nodes {
        self.since(at, at).next().map_or(0, |(_, hears)| flood(hears, 1 << from))
    }

    /// Whom something could have reached that was at `from` at a time, carried by whoever had it, by
    /// `until`.
    pub(crate) fn reached(&self, (at, until): (Time, Time), from: usize) -> Nodes {
        let all = if self.nodes == 128 { Nodes::MAX } else { (1 << self.nodes) - 1 };
        let mut reached = 1 << from;
        for (_, hears) in self.since(at, until) {
            reached = flood(hears, reached);
            if reached == all {
                break;
            }
        }
        reached
    }

    /// How many transmissions it takes to bring something from `from` to each of `wanted` as soon as
    /// it can be there, when none is lost: at each moment who reaches most of those that lack it goes
    /// first, else who is on the shortest way to one of them.
    pub(crate) fn transmissions(
        &self,
        (at, until): (Time, Time),
        from: usize,
        wanted: Nodes,
    ) -> usize {
        let (mut have, mut count): (Nodes, usize) = (1 << from, 0);
        for (_, hears) in self.since(at, until) {
            let mut lack = flood(hears, have) & wanted & !have;
            while lack != 0 {
                let gain = |node: &usize| (hears[*node] & lack).count_ones();
                let best = each(have).max_by_key(gain).filter(|node| gain(node) > 0);
                let Some(node) = best.or_else(|| towards(hears, have, lack)) else { break };
                have |= hears[node];
                lack &= !have;
                count += 1;
            }
            if wanted & !have == 0 {
                break;
            }
        }
        count
    }
}

impl Contacts {
    /// The same where packets are lost as they are, and it is known at once who has what: at each
    /// moment who brings it to most goes first. Chance is `rng`'s.
    pub(crate) fn transmissions_with_losses(
        &self,
        (at, until): (Time, Time),
        from: usize,
        wanted: Nodes,
        rng: &mut Rng,
    ) -> usize {
        let (mut have, mut count): (Nodes, usize) = (1 << from, 0);
        let first = self.moments.partition_point(|(from, _)| *from <= at).saturating_sub(1);
        for ((_, hears), shares) in self.since(at, until).zip(&self.shares[first..]) {
            while flood(hears, have) & wanted & !have != 0 {
                let lack = flood(hears, have) & wanted & !have;
                let share = |node: usize, to: usize| shares[node * self.nodes + to];
                let gain = |node: &usize| each(lack).map(|to| share(*node, to)).sum::<f32>();
                let best = each(have).max_by(|a, b| gain(a).total_cmp(&gain(b)));
                let best = best.filter(|node| gain(node) > 0.0);
                let Some(node) = best.or_else(|| towards(hears, have, lack)) else { break };
                let arrives = |to: &usize| rng.unit() < f64::from(share(node, *to));
                have |= (0..self.nodes).filter(arrives).map(|to| 1 << to).sum::<Nodes>();
                count += 1;
            }
            if wanted & !have == 0 {
                break;
            }
        }
        count
    }
}

/// All that paths lead to from some nodes.
fn flood(hears: &[Nodes], from: Nodes) -> Nodes {
    let (mut reached, mut fresh) = (from, from);
    while fresh != 0 {
        let heard = each(fresh).fold(0, |set, node| set | hears[node]);
        fresh = heard & !reached;
        reached |= fresh;
    }
    reached
}

/// Who of `have` is first on a shortest way to one of `lack`.
fn towards(hears: &[Nodes], have: Nodes, lack: Nodes) -> Option<usize> {
    let distance = |node: usize| {
        let (mut reached, mut steps) = (hears[node], 1);
        while reached & lack == 0 {
            let wider = each(reached).fold(reached, |set, node| set | hears[node]);
            if wider == reached {
                return u32::MAX;
            }
            (reached, steps) = (wider, steps + 1);
        }
        steps
    };
    each(have).min_by_key(|node| distance(*node)).filter(|node| distance(*node) < u32::MAX)
}

#[cfg(test)]
mod tests {
    use fanfare_proto::Duration;

    use super::*;
    use crate::path_loss::{Mobility, parse};

    fn contacts(text: &str) -> Contacts {
        Contacts::new(
            &parse(text).unwrap(),
            &Reach { mobility: Mobility::Company, limit: 100.0, combined: false },
        )
    }
    fn at(s: u64) -> Time {
        Time::ZERO + Duration::from_secs(s)
    }

    #[test]
    fn what_is_carried_reaches_whom_no_path_leads_to() {
        // 1 hears 2; later 2 hears 3, and 1 nobody.
        let contacts = contacts(
            "0 nem:1 pathloss nem:2,90 nem:3,120\n\
             10 nem:2 pathloss nem:1,120 nem:3,90",
        );
        assert_eq!(contacts.connected(at(0), 0), 0b011);
        assert_eq!(contacts.reached((at(0), at(9)), 0), 0b011);
        assert_eq!(contacts.reached((at(0), at(10)), 0), 0b111);
        assert_eq!(contacts.reached((at(10), at(20)), 0), 0b001, "too late");
        assert_eq!(contacts.transmissions((at(0), at(20)), 0, 0b110), 2);
        assert_eq!(contacts.transmissions((at(0), at(5)), 0, 0b110), 1);
    }

    #[test]
    fn one_transmission_serves_all_that_hear_it_and_a_relay_those_beyond() {
        // 1 - 2 - 4 - 5 and 1 - 3.
        let contacts = contacts(
            "0 nem:1 pathloss nem:2,90 nem:3,90\n0 nem:2 pathloss nem:4,90\n\
             0 nem:4 pathloss nem:5,90",
        );
        let needed = |wanted| contacts.transmissions((at(0), at(0)), 0, wanted);
        assert_eq!(needed(0b00110), 1);
        assert_eq!(needed(0b11110), 3);
        assert_eq!(needed(0b10000), 3, "who passes it on need not want it");
        assert_eq!(needed(0b00000), 0);
    }

    #[test]
    fn where_half_of_all_packets_are_lost_each_takes_two_transmissions() {
        let of = |loss: u32| {
            let contacts = contacts(&format!("0 nem:1 pathloss nem:2,{loss}"));
            let mut rng = Rng::new(1);
            let mut sent = || contacts.transmissions_with_losses((at(0), at(0)), 0, 0b10, &mut rng);
            (0..1000).map(|_| sent()).sum::<usize>()
        };
        assert_eq!(of(90), 1000);
        assert!((1900..2100).contains(&of(100)), "{}", of(100));
    }
}
