//! Combined broadcast: every node that has received a packet sends it again at the same moment, so
//! that their power adds up, until the packet is everywhere. The radio does that below the network
//! layer, in slots. What a node sends once reaches all nodes to which hops lead.
//!
//! The model is that of an evaluation of group communication (PSCBT: partially synchronised
//! combined broadcast).

use super::{Moment, NOTHING, PathLoss};

/// Path loss of a packet that arrives.
const NEAR: f32 = 0.0;

/// Who is reached by whom when `path_loss` is that of each hop, and packets are received up to `limit` dB.
pub(super) fn reached(path_loss: &PathLoss, limit: f32) -> PathLoss {
    let nodes = path_loss.nodes();
    let moments = path_loss.moments().iter().map(|moment| {
        // Once for all floods: at 96 nodes it would be nearly all of a simulation's time.
        let powers: Vec<f32> = moment.losses.iter().map(|loss| 10_f32.powf(-loss / 10.0)).collect();
        let row = |from| flood((&powers, nodes), from, limit);
        Moment { at: moment.at, losses: (0..nodes).flat_map(row).collect() }
    });
    PathLoss { nodes, moments: moments.collect() }
}

/// For each node whether it is reached from one of them; `powers` is what arrives from each at each.
fn flood((powers, nodes): (&[f32], usize), from: usize, limit: f32) -> Vec<f32> {
    let mut losses = vec![NOTHING; nodes];
    losses[from] = NEAR;
    let mut sending = vec![from];
    while !sending.is_empty() {
        let power =
            |to: usize| -> f32 { sending.iter().map(|from| powers[from * nodes + to]).sum() };
        let hear = |to: &usize| losses[*to] > NEAR && -10.0 * power(*to).log10() <= limit;
        let next: Vec<usize> = (0..losses.len()).filter(hear).collect();
        next.iter().for_each(|node| losses[*node] = NEAR);
        sending = next;
    }
    losses
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    /// Four nodes in a row: each hears its neighbours at 130 dB, the last one each of the first three at
    /// what is given.
    fn row(last: f32) -> PathLoss {
        let loss = |from: usize, to: usize| match (from.min(to), from.max(to)) {
            (_, 3) => last,
            (a, b) if b - a == 1 => 130.0,
            _ => NOTHING,
        };
        let losses = (0..16).map(|pair| loss(pair / 4, pair % 4)).collect();
        PathLoss { nodes: 4, moments: vec![Moment { at: Duration::ZERO, losses }] }
    }

    fn from_first(path_loss: &PathLoss, limit: f32) -> Vec<bool> {
        let reached = reached(path_loss, limit);
        (0..4).map(|to| reached.between(&reached.moments()[0], 0, to) == NEAR).collect()
    }

    #[test]
    fn what_one_sends_reaches_all_to_whom_hops_lead() {
        assert_eq!(from_first(&row(NOTHING), 139.0), [true, true, true, false]);
        assert_eq!(from_first(&row(NOTHING), 129.0), [true, false, false, false]);
    }

    #[test]
    fn the_power_of_those_who_send_together_adds_up() {
        // The second node reaches the first and the third at once, who then send together: 3 dB more.
        let from_second = |last: f32| {
            let reached = reached(&row(last), 139.0);
            reached.between(&reached.moments()[0], 1, 3) == NEAR
        };
        assert!(from_second(141.9) && !from_second(142.1));
        assert!(!from_first(&row(141.9), 139.0)[3], "one after another they do not");
    }
}
