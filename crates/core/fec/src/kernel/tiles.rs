//! The loops that all vector kernels share, as a macro over a module's own few operations.
//!
//! A macro, since a generic function cannot take its processor features from a parameter. The
//! module defines `Vector`, `WIDTH` (its bytes) and `VECTORS` (1, 2 or 4: how many of them make a
//! tile, such that the sums of four rows stay in registers), and, with the same features:
//! - `zero`, `xor`, `load`, `store`, `prefetch`;
//! - `multiplier8`, `split8` (what of a source serves all rows), `product8`;
//! - `multiplier16`, `unzip` and `zip` (words to low and high bytes, and back), `split8` again, and
//!   `product16`.
//!
//! GF(2^8): tile by tile of columns, all sources and all rows, so that the tile's sources stay in
//! the first-level cache and the sums of up to four rows in registers. The last tile overlaps the
//! one before, since sums are stored and not added to memory.
//! GF(2^16): source by source, added to the outputs, since the multipliers of all sources together
//! would not stay in the first-level cache.

macro_rules! tiles {
    ($features:literal) => {
        /// Rows of GF(2^8) that take one pass over a tile.
        const ROWS: usize = 4;
        /// Bytes of the widest tile.
        const TILE: usize = VECTORS * WIDTH;

        #[target_feature(enable = $features)]
        pub(super) fn sum8(
            coefficients: Coefficients<'_>,
            sources: &[&[u8]],
            out: &mut [&mut [u8]],
        ) {
            let length = out.first().map_or(0, |out| out.len());
            let mut at = 0;
            while at < length {
                let width = (length - at).div_ceil(WIDTH).next_power_of_two().min(VECTORS) * WIDTH;
                at = at.min(length.saturating_sub(width));
                for (group, out) in out.chunks_mut(ROWS).enumerate() {
                    let row = group * ROWS;
                    match width / WIDTH {
                        1 => rows::<1>(coefficients, row, sources, at, out),
                        2 => rows::<2>(coefficients, row, sources, at, out),
                        _ => rows::<VECTORS>(coefficients, row, sources, at, out),
                    }
                }
                at += width;
            }
        }

        #[target_feature(enable = $features)]
        fn rows<const V: usize>(
            coefficients: Coefficients<'_>,
            row: usize,
            sources: &[&[u8]],
            at: usize,
            out: &mut [&mut [u8]],
        ) {
            match out.len() {
                1 => tile::<1, V>(coefficients, row, sources, at, out),
                2 => tile::<2, V>(coefficients, row, sources, at, out),
                3 => tile::<3, V>(coefficients, row, sources, at, out),
                _ => tile::<ROWS, V>(coefficients, row, sources, at, out),
            }
        }

        #[target_feature(enable = $features)]
        fn tile<const R: usize, const V: usize>(
            coefficients: Coefficients<'_>,
            row: usize,
            sources: &[&[u8]],
            at: usize,
            out: &mut [&mut [u8]],
        ) {
            let mut sums = [[zero(); V]; R];
            for (source, coefficients) in sources.iter().zip(coefficients.columns(row)) {
                let short;
                let piece = match source.get(at..at + V * WIDTH) {
                    Some(piece) => piece,
                    None => {
                        short = padded(source, at);
                        &short[..]
                    }
                };
                if row == 0 {
                    // Sources are many, and a processor follows few streams by itself.
                    let next = source.as_ptr().wrapping_add(at + V * WIDTH);
                    (0..(V * WIDTH).div_ceil(64)).for_each(|l| prefetch(next.wrapping_add(64 * l)));
                }
                for v in 0..V {
                    // SAFETY: the piece has at least V * WIDTH bytes.
                    let x = split8(unsafe { load(piece.as_ptr().add(v * WIDTH)) });
                    for r in 0..R {
                        let product = product8(multiplier8(coefficients[r]), x);
                        sums[r][v] = xor(sums[r][v], product);
                    }
                }
            }
            for (out, sums) in out.iter_mut().zip(&sums) {
                let mut bytes = [0; TILE];
                for (v, sum) in sums.iter().enumerate() {
                    // SAFETY: v is below V and V * WIDTH at most TILE.
                    unsafe { store(bytes.as_mut_ptr().add(v * WIDTH), *sum) };
                }
                let end = out.len().min(at + V * WIDTH);
                out[at..end].copy_from_slice(&bytes[..end - at]);
            }
        }

        /// The bytes of `source` from `at` on, and zeros.
        #[cold]
        #[inline(never)]
        fn padded(source: &[u8], at: usize) -> [u8; TILE] {
            let mut bytes = [0; TILE];
            let rest = source.get(at..).unwrap_or_default();
            bytes[..rest.len()].copy_from_slice(rest);
            bytes
        }

        /// Adds `row[r] · source` to `out[r]`; at most [`super::ROWS16`] rows.
        #[target_feature(enable = $features)]
        pub(super) fn add16(row: &[u16], source: &[u8], out: &mut [&mut [u8]]) {
            const PIECE: usize = 2 * WIDTH;
            let mut multipliers = [multiplier16(0); super::ROWS16];
            for (multiplier, &coefficient) in multipliers.iter_mut().zip(row) {
                *multiplier = multiplier16(coefficient);
            }
            let (pieces, tail) = source.as_chunks::<PIECE>();
            for (i, piece) in pieces.iter().enumerate() {
                let x = unzip16(piece);
                for (out, multiplier) in out.iter_mut().zip(&multipliers) {
                    if let Some(out) = out[i * PIECE..].first_chunk_mut::<PIECE>() {
                        add_product16(multiplier, x, out);
                    }
                }
            }
            if tail.is_empty() {
                return;
            }
            // The last piece ends with the source and overlaps the one before, with zeros there.
            let end = source.len().next_multiple_of(2);
            let start = end.saturating_sub(PIECE);
            let mut piece = [0; PIECE];
            piece[source.len() - tail.len() - start..][..tail.len()].copy_from_slice(tail);
            let x = unzip16(&piece);
            for (out, multiplier) in out.iter_mut().zip(&multipliers) {
                match out[start..].first_chunk_mut::<PIECE>() {
                    Some(out) => add_product16(multiplier, x, out),
                    None => {
                        let mut sum = [0; PIECE];
                        add_product16(multiplier, x, &mut sum);
                        out[start..].iter_mut().zip(sum).for_each(|(byte, add)| *byte ^= add);
                    }
                }
            }
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn unzip16(piece: &[u8; 2 * WIDTH]) -> (Split8, Split8) {
            // SAFETY: the piece is of two vectors.
            let (a, b) = unsafe { (load(piece.as_ptr()), load(piece.as_ptr().add(WIDTH))) };
            let (low, high) = unzip(a, b);
            (split8(low), split8(high))
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn add_product16(
            multiplier: &Multiplier16,
            (low, high): (Split8, Split8),
            out: &mut [u8; 2 * WIDTH],
        ) {
            let (low, high) = product16(multiplier, low, high);
            let (a, b) = zip(low, high);
            let first = out.as_mut_ptr();
            // SAFETY: `out` is of two vectors.
            unsafe {
                let second = first.add(WIDTH);
                store(first, xor(load(first), a));
                store(second, xor(load(second), b));
            }
        }
    };
}

pub(super) use tiles;
