//! What a repairer sends of a block: parity of its slice, named symbols, or a sum.

use crate::{
    frames::slice,
    repair::demand::{Demand, Piece},
};
use alloc::vec::Vec;
use fanfare_proto::{HeldBlock, NodeId, ObjectKey, RunSet, SUM_SYMBOLS_MAX};

/// What to send of a block: parity of our own slice when the block is whole (source symbols, when all
/// of it is wanted), else sums of what is here, what was requested by name, or parity that its origin
/// or another sent.
pub(crate) fn choose(
    node: NodeId,
    (key, block): (ObjectKey, u32),
    demand: &mut Demand,
    held: &HeldBlock,
) -> Option<Piece> {
    if let Some(sum) = sum(node, (key, block), demand, held) {
        return Some(sum);
    }
    let rotated = |demand: &Demand, named: bool| {
        let fits = |s: &u16| !demand.was_heard(*s) && (!named || demand.is_named(*s));
        let fit: Vec<u16> = held.sources.iter().copied().filter(fits).collect();
        // Who lacks least has all soonest, and parity of it then serves the rest.
        let least = if held.is_whole() { Vec::new() } else { demand.for_who_lacks_least(&fit) };
        let fit = if least.is_empty() { fit } else { least };
        // Runs in order, from a place of our own.
        let start = slice::offset(node, key, block, usize::from(held.len)) as u16;
        fit.iter().copied().find(|s| *s >= start).or_else(|| fit.first().copied())
    };
    if !held.is_whole() {
        // Nobody may hold what is requested; parity in its place makes another whole, which serves all.
        let kept = held.kept.iter().map(|number| held.len + number);
        let kept = kept.filter(|symbol| !demand.was_heard(*symbol));
        return rotated(demand, true).or_else(|| kept.min()).map(Piece::Symbol);
    }
    let parity = |demand: &Demand| {
        let numbers = slice::numbers(node, key, block, held.parity);
        numbers.map(|number| held.len + number).find(|symbol| !demand.was_heard(*symbol))
    };
    if demand.is_for_all(held.len)
        && let Some(symbol) = rotated(demand, false)
    {
        return Some(Piece::Symbol(symbol));
    }
    let fresh = parity(demand).or_else(|| rotated(demand, true));
    let fresh = fresh.or_else(|| rotated(demand, false));
    if fresh.is_none() {
        demand.forget_heard();
        return parity(demand).or_else(|| rotated(demand, false)).map(Piece::Symbol);
    }
    fresh.map(Piece::Symbol)
}

/// Of a part of a block, all of it in one sum.
fn sum(
    node: NodeId,
    (key, block): (ObjectKey, u32),
    demand: &Demand,
    held: &HeldBlock,
) -> Option<Piece> {
    let parity = held.kept.iter().map(|number| held.len.saturating_add(*number));
    let all: Vec<u16> = held.sources.iter().copied().chain(parity).collect();
    let fits = all.iter().all(|symbol| *symbol < SUM_SYMBOLS_MAX);
    if held.is_whole() || all.len() < 2 || !fits || !demand.wants_sum(&held.sources) {
        return None;
    }
    let mut of = RunSet::default();
    all.iter().for_each(|symbol| of.insert(u64::from(*symbol), u64::from(*symbol) + 1));
    let before = demand.summed();
    Some(Piece::Sum { seed: slice::seed(node, key, block).wrapping_add(before), before, of })
}
