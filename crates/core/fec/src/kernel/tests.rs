//! Compares every kernel with a computation by logarithms, one byte (or word) at a time.

use proptest::prelude::*;

use super::{Active, Coefficients, Kernel};
use crate::field::{Gf8, Gf16, Logarithms};

const GUARD: u8 = 0xa7;

/// Sources and outputs at odd places in larger buffers.
#[derive(Debug, Clone)]
struct Case {
    length: usize,
    rows: usize,
    /// Offset in its buffer, and the bytes.
    sources: Vec<(usize, Vec<u8>)>,
    coefficients: Vec<u16>,
    out_offset: usize,
}

fn cases() -> impl Strategy<Value = Case> {
    (0usize..700, 0usize..11, 0usize..9)
        .prop_flat_map(|(length, rows, count)| {
            let full = prop::collection::vec(any::<u8>(), length);
            let short = prop::collection::vec(any::<u8>(), 0..=length);
            let source = (0usize..70, prop_oneof![3 => full, 1 => short]);
            let sources = prop::collection::vec(source, count);
            let element = prop_oneof![Just(0), Just(1), any::<u16>()];
            let coefficients = prop::collection::vec(element, rows * count);
            (Just((length, rows)), sources, coefficients, 0usize..70)
        })
        .prop_map(|((length, rows), sources, coefficients, out_offset)| Case {
            length,
            rows,
            sources,
            coefficients,
            out_offset,
        })
}

fn times<F: Logarithms>(a: u16, b: u16) -> u16 {
    if a == 0 || b == 0 { 0 } else { F::exp(F::log(a) + F::log(b)) }
}

impl Case {
    fn coefficient(&self, row: usize, column: usize) -> u16 {
        self.coefficients[column * self.rows + row]
    }

    /// What `sum` writes, after a look at the bytes around the outputs.
    fn run(&self, length: usize, sum: impl FnOnce(&[&[u8]], &mut [&mut [u8]])) -> Vec<Vec<u8>> {
        let around = |&(offset, ref bytes): &(usize, Vec<u8>)| {
            [vec![GUARD; offset], bytes.clone(), vec![GUARD; 9]].concat()
        };
        let sources: Vec<Vec<u8>> = self.sources.iter().map(around).collect();
        let sources: Vec<&[u8]> = sources
            .iter()
            .zip(&self.sources)
            .map(|(buffer, (offset, bytes))| &buffer[*offset..][..bytes.len()])
            .collect();
        let mut buffers = vec![vec![GUARD; self.out_offset + length + 9]; self.rows];
        let out =
            |buffer| -> &mut [u8] { &mut Vec::as_mut_slice(buffer)[self.out_offset..][..length] };
        sum(&sources, &mut buffers.iter_mut().map(out).collect::<Vec<_>>());
        for buffer in &buffers {
            let (before, rest) = buffer.split_at(self.out_offset);
            assert!(before.iter().chain(&rest[length..]).all(|&byte| byte == GUARD));
        }
        buffers.iter().map(|buffer| buffer[self.out_offset..][..length].to_vec()).collect()
    }

    fn expected8(&self) -> Vec<Vec<u8>> {
        let byte = |row, at: usize| {
            let products = self.sources.iter().enumerate().map(|(column, (_, source))| {
                let coefficient = self.coefficient(row, column) & 0xff;
                times::<Gf8>(coefficient, source.get(at).copied().unwrap_or(0).into())
            });
            products.fold(0, |sum, product| sum ^ product) as u8
        };
        (0..self.rows).map(|row| (0..self.length).map(|at| byte(row, at)).collect()).collect()
    }

    fn expected16(&self, length: usize) -> Vec<Vec<u8>> {
        let word = |row, at: usize| {
            let products = self.sources.iter().enumerate().map(|(column, (_, source))| {
                let byte = |at: usize| source.get(at).copied().unwrap_or(0);
                let word = u16::from_le_bytes([byte(at), byte(at + 1)]);
                times::<Gf16>(self.coefficient(row, column), word)
            });
            products.fold(0, |sum, product| sum ^ product).to_le_bytes()
        };
        let row = |row| (0..length).step_by(2).flat_map(|at| word(row, at)).collect();
        (0..self.rows).map(row).collect()
    }
}

proptest! {
    #[test]
    fn every_kernel_multiplies_bytes_as_logarithms_do(case in cases()) {
        let bytes: Vec<u8> = case.coefficients.iter().map(|&c| c as u8).collect();
        let coefficients = Coefficients::new(&bytes, case.rows, 0);
        for kernel in Kernel::available() {
            let kernel = Active::new(kernel).unwrap();
            let out = case.run(case.length, |sources, out| kernel.sum8(coefficients, sources, out));
            prop_assert_eq!(&out, &case.expected8(), "{:?}", kernel);
        }
    }

    #[test]
    fn every_kernel_multiplies_words_as_logarithms_do(case in cases()) {
        let length = case.length.next_multiple_of(2);
        for kernel in Kernel::available() {
            let kernel = Active::new(kernel).unwrap();
            let coefficient = |row, column| case.coefficient(row, column);
            let out = case.run(length, |sources, out| kernel.sum16(coefficient, sources, out));
            prop_assert_eq!(&out, &case.expected16(length), "{:?}", kernel);
        }
    }
}

#[test]
fn every_constant_of_gf8_multiplies_every_byte() {
    let bytes: Vec<u8> = (0..=255).collect();
    for kernel in Kernel::available() {
        for constant in 0..=255 {
            let mut out = [0; 256];
            let coefficients = [constant];
            let coefficients = Coefficients::new(&coefficients, 1, 0);
            Active::new(kernel).unwrap().sum8(coefficients, &[&bytes], &mut [&mut out]);
            let expected = (0..256).map(|byte| times::<Gf8>(constant.into(), byte) as u8);
            assert!(out.iter().copied().eq(expected), "{kernel:?} {constant}");
        }
    }
}
