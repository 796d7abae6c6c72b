//! Any k symbols of a block give the block back; anything less, or malformed, is an error.

use fanfare_fec::{Code, CodeError, Field, Kernel, Matrix, RecoverError};
use proptest::prelude::*;

/// A block that was encoded, and then lost symbols.
#[derive(Debug, Clone)]
struct Case {
    field: Field,
    matrix: Matrix,
    kernel: Kernel,
    k: usize,
    parity: usize,
    /// Source symbols, each of its own length.
    source: Vec<Vec<u8>>,
    length: usize,
    /// A random order of all symbols: the first ones are lost.
    order: Vec<usize>,
    lost: usize,
}

fn cases() -> impl Strategy<Value = Case> {
    let field = prop_oneof![Just(Field::Gf8), Just(Field::Gf16)];
    let matrix = prop_oneof![Just(Matrix::Nrl), Just(Matrix::Rfc5510)];
    let kernel = prop::sample::select(Kernel::available());
    // Lengths around several tiles of the widest kernel (256 bytes).
    let sizes = (1usize..=70, 1usize..=40, 1usize..=800);
    (field, matrix, kernel, sizes)
        .prop_flat_map(|(field, matrix, kernel, (k, parity, length))| {
            let length = length.next_multiple_of(field.element_size());
            let symbol = prop::collection::vec(any::<u8>(), length);
            let symbol = (symbol, 0..=4 * length).prop_map(move |(mut bytes, cut)| {
                bytes.truncate(cut.max(1));
                bytes
            });
            let block = prop::collection::vec(symbol, 1..=k);
            (Just((field, matrix, kernel, k, parity, length)), block)
        })
        .prop_flat_map(|(code, source)| {
            let order: Vec<usize> = (0..source.len() + code.4).collect();
            let order = Just(order).prop_shuffle();
            (Just(code), Just(source), order, 0..=code.4)
        })
        .prop_map(|((field, matrix, kernel, k, parity, length), source, order, lost)| Case {
            field,
            matrix,
            kernel,
            k,
            parity,
            source,
            length,
            order,
            lost,
        })
}

impl Case {
    fn code(&self) -> Code {
        let code = Code::new(self.field, self.matrix, self.k, self.parity).unwrap();
        code.with_kernel(self.kernel).unwrap()
    }

    fn encode(&self) -> Vec<Vec<u8>> {
        let source: Vec<&[u8]> = self.source.iter().map(Vec::as_slice).collect();
        let mut parity = vec![vec![0xee; self.length]; self.parity];
        let mut out: Vec<&mut [u8]> = parity.iter_mut().map(Vec::as_mut_slice).collect();
        // In two calls, as a sender that is asked for more parity does.
        let (first, second) = out.split_at_mut(self.lost);
        self.code().encode(&source, 0, first);
        self.code().encode(&source, self.lost, second);
        parity
    }
}

proptest! {
    #[test]
    fn any_k_of_n_symbols_give_the_block_back(case in cases()) {
        let parity = case.encode();
        let block = case.source.len();
        let (lost, kept) = case.order.split_at(case.lost);
        let mut recovered: Vec<(usize, Vec<u8>)> = lost
            .iter()
            .filter(|&&index| index < block)
            .map(|&index| (index, vec![0xdd; case.length]))
            .collect();
        let source: Vec<(usize, &[u8])> = kept
            .iter()
            .filter(|&&index| index < block)
            .map(|&index| (index, case.source[index].as_slice()))
            .collect();
        let parity: Vec<(usize, &[u8])> = kept
            .iter()
            .filter(|&&index| index >= block)
            .map(|&index| (index - block, parity[index - block].as_slice()))
            .collect();
        let mut missing: Vec<(usize, &mut [u8])> =
            recovered.iter_mut().map(|(index, bytes)| (*index, bytes.as_mut_slice())).collect();
        prop_assert_eq!(case.code().recover(block, &source, &parity, &mut missing), Ok(()));
        for (index, bytes) in recovered {
            let mut original = case.source[index].clone();
            original.resize(case.length, 0);
            prop_assert_eq!(bytes, original);
        }
    }

    #[test]
    fn every_kernel_gives_the_bytes_of_the_portable_one(case in cases()) {
        let portable = Case { kernel: Kernel::Portable, ..case.clone() };
        prop_assert_eq!(case.encode(), portable.encode());
    }

    #[test]
    fn recover_never_panics_on_any_numbers_and_lengths(
        field in prop_oneof![Just(Field::Gf8), Just(Field::Gf16)],
        block in 0usize..12,
        source in prop::collection::vec((0usize..12, 0usize..5), 0..10),
        parity in prop::collection::vec((0usize..6, 0usize..5), 0..6),
        missing in prop::collection::vec((0usize..12, 0usize..5), 0..6),
    ) {
        let code = Code::new(field, Matrix::Nrl, 10, 5).unwrap();
        let bytes = [7; 8];
        let at_hand = |list: &[(usize, usize)]| -> Vec<(usize, &[u8])> {
            list.iter().map(|&(number, length)| (number, &bytes[..length])).collect()
        };
        let mut buffers = vec![[0x55; 8]; missing.len()];
        let mut outputs: Vec<(usize, &mut [u8])> = missing
            .iter()
            .zip(&mut buffers)
            .map(|(&(number, length), buffer)| (number, &mut buffer[..length]))
            .collect();
        let result = code.recover(block, &at_hand(&source), &at_hand(&parity), &mut outputs);
        if result.is_err() {
            prop_assert!(buffers.iter().flatten().all(|&byte| byte == 0x55));
        }
    }
}

#[test]
fn a_block_of_thousands_of_symbols_comes_back() {
    let (k, lost, length) = (5000, 300, 16);
    let code = Code::new(Field::Gf16, Matrix::Nrl, k, 1000).unwrap();
    let byte = |i: usize| (i * 7 + (i >> 8) * 31 + 3) as u8;
    let block: Vec<u8> = (0..k * length).map(byte).collect();
    let source: Vec<&[u8]> = block.chunks(length).collect();
    let mut parity = vec![vec![0; length]; lost];
    let mut out: Vec<&mut [u8]> = parity.iter_mut().map(Vec::as_mut_slice).collect();
    code.encode(&source, 700, &mut out);

    let kept: Vec<(usize, &[u8])> = source.iter().copied().enumerate().skip(lost).collect();
    let parity: Vec<(usize, &[u8])> =
        parity.iter().enumerate().map(|(i, bytes)| (700 + i, bytes.as_slice())).collect();
    let mut recovered = vec![vec![0; length]; lost];
    let mut missing: Vec<(usize, &mut [u8])> =
        recovered.iter_mut().map(Vec::as_mut_slice).enumerate().collect();
    code.recover(k, &kept, &parity, &mut missing).unwrap();
    assert_eq!(recovered.concat(), block[..lost * length]);
}

#[test]
fn a_kernel_that_the_machine_lacks_is_refused() {
    let lacking = if cfg!(target_arch = "aarch64") { Kernel::Avx2 } else { Kernel::Neon };
    assert!(code().with_kernel(lacking).is_none());
    assert!(Kernel::available().contains(&code().kernel()));
}

fn code() -> Code {
    Code::new(Field::Gf8, Matrix::Nrl, 4, 2).unwrap()
}

#[test]
fn a_code_needs_source_symbols_and_room_in_its_field() {
    let new = |field, source, parity| Code::new(field, Matrix::Nrl, source, parity).map(|_| ());
    let too_many = |symbols, limit| Err(CodeError::TooMany { symbols, limit });
    assert_eq!(new(Field::Gf8, 0, 4), Err(CodeError::NoSource));
    assert_eq!(new(Field::Gf8, 200, 55), Ok(()));
    assert_eq!(new(Field::Gf8, 200, 56), too_many(256, 255));
    assert_eq!(new(Field::Gf16, 65000, 535), Ok(()));
    assert_eq!(new(Field::Gf16, 65000, 536), too_many(65536, 65535));
    assert_eq!(new(Field::Gf16, usize::MAX, 2), too_many(usize::MAX, 65535));
}

#[test]
fn recover_says_how_many_symbols_are_short() {
    let (symbol, mut out) = ([0; 4], [[0; 4]; 2]);
    let [a, b] = &mut out;
    let result =
        code().recover(4, &[(0, &symbol), (3, &symbol)], &[(1, &symbol)], &mut [(1, a), (2, b)]);
    assert_eq!(result, Err(RecoverError::TooFew { need: 2, have: 1 }));
}

#[test]
fn recover_names_the_symbol_that_is_out_of_range_double_or_unlisted() {
    let symbol = [0; 4];
    let recover = |block, source: &[usize], parity: &[usize], missing: usize| {
        let at_hand = |list: &[usize]| -> Vec<(usize, &[u8])> {
            list.iter().map(|&number| (number, &symbol[..])).collect()
        };
        code().recover(block, &at_hand(source), &at_hand(parity), &mut [(missing, &mut [0; 4])])
    };
    assert_eq!(recover(3, &[0, 1], &[0], 2), Ok(()));
    assert_eq!(recover(3, &[0, 1], &[0], 3), Err(RecoverError::Symbol(3)));
    assert_eq!(recover(3, &[0, 1], &[2], 2), Err(RecoverError::Symbol(2)));
    assert_eq!(recover(3, &[0, 1], &[1, 1], 2), Err(RecoverError::Symbol(1)));
    assert_eq!(recover(3, &[0, 0], &[0], 2), Err(RecoverError::Symbol(0)));
    assert_eq!(recover(4, &[0, 1], &[0], 3), Err(RecoverError::Symbol(2)));
    assert_eq!(recover(5, &[0, 1, 2, 3], &[0], 4), Err(RecoverError::Symbol(4)));
}

#[test]
fn recover_says_which_length_does_not_suit() {
    let long = [0; 6];
    let result = code().recover(2, &[(0, &long)], &[(0, &long[..4])], &mut [(1, &mut [0; 4])]);
    assert_eq!(result, Err(RecoverError::Length { expected: 4, found: 6 }));
    let words = Code::new(Field::Gf16, Matrix::Nrl, 2, 1).unwrap();
    let result = words.recover(2, &[(0, &long)], &[(0, &long)], &mut [(1, &mut [0; 5])]);
    assert_eq!(result, Err(RecoverError::Length { expected: 6, found: 5 }));
}
