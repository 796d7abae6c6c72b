//! How fast RaptorQ encodes and decodes a block, and how many symbols it needs beyond the block's own.
//!
//! `cargo bench -p fanfare-fec --features fountain --bench fountain`: one line per measure. The rate
//! of decoding beside that of a link says which share of a core a receiver there needs.

#![allow(clippy::print_stderr, clippy::print_stdout)]

use fanfare_fec::fountain::{BlockDecoder, BlockEncoder, Shape};
use std::time::{Duration, Instant};

/// Of a packet on Ethernet: 1500 bytes less the headers.
const SYMBOL: u16 = 1440;
/// The fastest receiver of the laboratory's layered scenario, in Mbit/s.
const LINK: f64 = 32.0;
/// Runs for the reception overhead.
const RUNS: u32 = 200;

fn mbps(bytes: usize, took: Duration) -> f64 {
    bytes as f64 * 8.0 / took.as_secs_f64() / 1e6
}

fn content(bytes: usize) -> Vec<u8> {
    (0..bytes as u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

/// Symbols that arrive: source symbols but for each `lost`th, repair symbols in their place.
fn arrived(shape: &Shape, encoder: &BlockEncoder, bytes: &[u8], lost: u32) -> Vec<(u32, Vec<u8>)> {
    let all = shape.symbols(0);
    let kept = (0..all).filter(|id| id % lost != lost - 1);
    let source = |id: u32| {
        let start = id as usize * usize::from(SYMBOL);
        (id, bytes[start..start + usize::from(SYMBOL)].to_vec())
    };
    let mut symbols: Vec<(u32, Vec<u8>)> = kept.map(source).collect();
    // Two more than are needed: the time of a failed attempt is not what is measured here.
    let missing = all - symbols.len() as u32 + 2;
    symbols.extend((all..all + missing).map(|id| (id, encoder.repair(id))));
    symbols
}

fn main() {
    let size = 8192 * usize::from(SYMBOL);
    let bytes = content(size);
    let shape = Shape::new(size as u64, SYMBOL).expect("a block");
    let start = Instant::now();
    drop(std::hint::black_box(BlockEncoder::new(&shape, 0, bytes.clone())));
    println!("prepare the first block: {:.0} Mbit/s", mbps(size, start.elapsed()));
    let start = Instant::now();
    let encoder = BlockEncoder::new(&shape, 0, bytes.clone());
    println!("prepare another block: {:.0} Mbit/s", mbps(size, start.elapsed()));
    let start = Instant::now();
    (0..2000).for_each(|n| drop(std::hint::black_box(encoder.repair(shape.symbols(0) + n))));
    println!("repair symbols: {:.0} Mbit/s", mbps(2000 * usize::from(SYMBOL), start.elapsed()));
    for lost in [100, 5, 2] {
        let symbols = arrived(&shape, &encoder, &bytes, lost);
        let start = Instant::now();
        let decoded = BlockDecoder::new(&shape, 0).decode(symbols);
        let rate = mbps(size, start.elapsed());
        assert!(decoded.as_ref() == Some(&bytes), "decodes to what was encoded");
        let share = 100 / lost;
        println!("decode with {share} % lost: {rate:.0} Mbit/s, {:.1} of the link", rate / LINK);
    }
    overhead();
}

/// Symbols needed beyond a block's own, of a block of a thousand.
fn overhead() {
    let bytes = content(1000 * 64);
    let shape = Shape::new(bytes.len() as u64, 64).expect("a block");
    let encoder = BlockEncoder::new(&shape, 0, bytes);
    let needed = |run: u32| {
        let mut decoder = BlockDecoder::new(&shape, 0);
        let mut ids = (0..).map(|n| 5000 * run + 2 * n + 1000);
        let first: Vec<_> = ids.by_ref().take(999).map(|id| (id, encoder.repair(id))).collect();
        assert!(decoder.decode(first).is_none(), "fewer than it has are not enough");
        let more = ids.position(|id| decoder.decode([(id, encoder.repair(id))]).is_some());
        more.unwrap_or_default()
    };
    let mut extra: Vec<usize> = (0..RUNS).map(needed).collect();
    extra.sort_unstable();
    let (median, most) = (extra[extra.len() / 2], extra[extra.len() - 1]);
    println!("symbols beyond 1000: median {median}, most {most} of {RUNS} runs");
}
