//! Source data encoded and recovered per second, beside memcpy of the same bytes and ISA-L.
//!
//! `cargo bench -p fanfare-fec`; docs/explanation/fec.md explains the columns. All contenders of a row take
//! turns in short slices, so that a busy machine slows them alike; medians of the slices.

#![allow(clippy::print_stderr, clippy::print_stdout)]

#[path = "throughput/isal.rs"]
mod isal;

use std::hint::black_box;
use std::time::{Duration, Instant};

use fanfare_fec::{Code, Field, Kernel, Matrix};
use isal::{Codec, IsaL};

const SYMBOL: usize = 1400;
const SLICES: usize = 15;
const SLICE: Duration = Duration::from_millis(8);
/// Blocks gone round in turn: one stays in the caches, the many do not.
const WARM: usize = 1;
const COLD_BYTES: usize = 96 << 20;

/// What is measured, of how many source symbols.
#[derive(Clone, Copy)]
struct Job {
    field: Field,
    k: usize,
    parity: usize,
    /// Source symbols lost; `None` to encode.
    lost: Option<usize>,
}

/// Source blocks with their parity, and room for the output.
struct Data {
    blocks: Vec<Block>,
    out: Vec<Vec<u8>>,
    copy: Vec<u8>,
    next: usize,
}

struct Block {
    source: Vec<u8>,
    parity: Vec<Vec<u8>>,
}

impl Block {
    fn symbols(&self) -> Vec<&[u8]> {
        self.source.chunks(SYMBOL).collect()
    }
}

impl Data {
    fn new(code: &Code, count: usize) -> Self {
        let (k, parity) = (code.source(), code.parity());
        let mut blocks = Vec::with_capacity(count);
        let mut state = 1u64;
        for _ in 0..count {
            let source = (0..k * SYMBOL).map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8
            });
            let mut block =
                Block { source: source.collect(), parity: vec![vec![0; SYMBOL]; parity] };
            let mut out = std::mem::take(&mut block.parity);
            code.encode(&block.symbols(), 0, &mut slices(&mut out));
            block.parity = out;
            blocks.push(block);
        }
        let out = vec![vec![0; SYMBOL]; parity];
        Self { blocks, out, copy: vec![0; k * SYMBOL], next: 0 }
    }

    fn turn(&mut self) -> usize {
        self.next = (self.next + 1) % self.blocks.len();
        self.next
    }
}

fn slices(out: &mut [Vec<u8>]) -> Vec<&mut [u8]> {
    out.iter_mut().map(Vec::as_mut_slice).collect()
}

/// One block's work by our code.
fn ours(code: &Code, job: Job, data: &mut Data) {
    let turn = data.turn();
    let block = &data.blocks[turn];
    let source = block.symbols();
    let Some(lost) = job.lost else {
        code.encode(&source, 0, &mut slices(&mut data.out));
        return;
    };
    let is_lost = |number: usize| number.is_multiple_of(2) && number / 2 < lost;
    let kept: Vec<(usize, &[u8])> =
        source.iter().copied().enumerate().filter(|&(number, _)| !is_lost(number)).collect();
    let parity: Vec<(usize, &[u8])> =
        block.parity.iter().map(Vec::as_slice).enumerate().take(lost).collect();
    let mut missing: Vec<(usize, &mut [u8])> = data
        .out
        .iter_mut()
        .enumerate()
        .take(lost)
        .map(|(i, out)| (2 * i, out.as_mut_slice()))
        .collect();
    code.recover(job.k, &kept, &parity, &mut missing).expect("enough symbols");
}

/// The same by ISA-L.
fn theirs(isal: &mut Codec<'_>, data: &mut Data) {
    let turn = data.turn();
    let block = &data.blocks[turn];
    isal.run(&block.source, &block.parity, &mut data.out);
}

/// Both do the same work: the bytes are equal.
fn check(code: &Code, job: Job, isal: &mut Codec<'_>, data: &mut Data) {
    data.next = 0;
    ours(code, job, data);
    let expected = data.out.clone();
    data.out.iter_mut().for_each(|out| out.fill(0));
    data.next = 0;
    theirs(isal, data);
    let rows = job.lost.unwrap_or(job.parity);
    assert!(data.out[..rows] == expected[..rows], "ISA-L computes something else");
}

fn copy(data: &mut Data) {
    let turn = data.turn();
    data.copy.copy_from_slice(black_box(&data.blocks[turn].source));
    black_box(&mut data.copy);
}

/// Source bytes per second of one slice.
fn slice(job: Job, mut work: impl FnMut()) -> f64 {
    let (start, mut blocks) = (Instant::now(), 0);
    while start.elapsed() < SLICE {
        (0..4).for_each(|_| work());
        blocks += 4;
    }
    (blocks * job.k * SYMBOL) as f64 / start.elapsed().as_secs_f64()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Megabytes of source per second of memcpy, ISA-L, then each kernel.
fn measure(job: Job, kernels: &[Kernel], isal: Option<&IsaL>, cold: bool) -> Vec<f64> {
    let code = Code::new(job.field, Matrix::Nrl, job.k, job.parity).expect("a code");
    let codes: Vec<Code> =
        kernels.iter().filter_map(|&kernel| code.clone().with_kernel(kernel)).collect();
    let mut data = Data::new(&code, if cold { COLD_BYTES / (job.k * SYMBOL) } else { WARM });
    let mut isal = isal.filter(|_| job.field == Field::Gf8).map(|isal| isal.codec(&code, job.lost));
    if let Some(isal) = &mut isal {
        check(&code, job, isal, &mut data);
    }
    let mut results = vec![Vec::new(); 2 + codes.len()];
    for _ in 0..SLICES {
        results[0].push(slice(job, || copy(&mut data)));
        if let Some(isal) = &mut isal {
            results[1].push(slice(job, || theirs(isal, &mut data)));
        }
        for (code, results) in codes.iter().zip(&mut results[2..]) {
            results.push(slice(job, || ours(code, job, &mut data)));
        }
    }
    results.into_iter().map(|values| median(values) / 1e6).collect()
}

fn print(name: &str, results: &[f64]) {
    let (memcpy, isal, best) = (results[0], results[1], results[2]);
    print!("{name:<24}{memcpy:>9.0}{isal:>9.0}");
    results[2..].iter().for_each(|kernel| print!("{kernel:>12.0}"));
    println!("{:>13.2}{:>12.2}", best / memcpy, best / isal);
}

fn main() {
    let isal = IsaL::load();
    let mut kernels = Kernel::available();
    kernels.reverse();
    println!("MB/s of source data, {SYMBOL}-byte symbols, median of {SLICES} interleaved slices");
    println!("ISA-L: {}", if isal.is_some() { "libisal.so.2" } else { "not installed" });
    print!("\n{:<24}{:>9}{:>9}", "", "memcpy", "ISA-L");
    kernels.iter().for_each(|kernel| print!("{:>12}", format!("{kernel:?}")));
    println!("{:>13}{:>12}", "best/memcpy", "best/ISA-L");
    let gf8 = |k, parity, lost| Job { field: Field::Gf8, k, parity, lost };
    let gf16 = |k, parity, lost| Job { field: Field::Gf16, k, parity, lost };
    let jobs = [
        gf8(64, 4, None),
        gf8(64, 16, None),
        gf8(64, 32, None),
        gf8(128, 64, None),
        gf8(64, 4, Some(4)),
        gf8(64, 16, Some(16)),
        gf8(64, 32, Some(32)),
        gf16(200, 60, None),
        gf16(200, 60, Some(20)),
    ];
    for cold in [false, true] {
        println!("{}", if cold { "out of cache" } else { "in cache" });
        for job in jobs {
            let Job { field, k, parity, lost } = job;
            let what = lost.map_or("encode".into(), |lost| format!("recover {lost} of"));
            let name = format!("  {what} {k}+{parity} {field:?}");
            print(&name, &measure(job, &kernels, isal.as_ref(), cold));
        }
    }
}
