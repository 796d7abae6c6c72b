//! What any receiver must do with a byte besides receiving it. It gives the highest possible rate
//! where the processors are the limit.

use crate::payload;
use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::Path,
    time::Instant,
};

/// Written and hashed at once: what a second-level cache holds.
const PIECE: usize = 256 << 10;
/// A tenth of a second's worth.
const BYTES: usize = 256 << 20;

/// Seconds that writing a byte to a new file in `directory` takes, and hashing it with BLAKE3 while it
/// is in the cache.
pub(super) fn measure(directory: &Path) -> io::Result<f64> {
    payload::touch_memory(directory, BYTES as u64)?;
    let path = directory.join("work");
    let (mut file, piece) = (File::create(&path)?, vec![0x5a; PIECE]);
    let begun = Instant::now();
    for _ in 0..BYTES / PIECE {
        blake3::hash(&piece);
        file.write_all(&piece)?;
    }
    let seconds = begun.elapsed().as_secs_f64();
    fs::remove_file(path)?;
    Ok(seconds / BYTES as f64)
}

/// Bits per second of a file to each of so many `receivers`, when raw UDP comes at `raw` and a byte then
/// takes its `seconds` of one of so many `processors`.
pub(super) fn bound(raw: f64, seconds: f64, receivers: usize, processors: usize) -> f64 {
    let share = (receivers as f64 / processors as f64).max(1.0);
    1.0 / (1.0 / raw + seconds / 8.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receivers_that_share_processors_wait_for_each_other() {
        let seconds = 8e-10;
        assert!((bound(1e10, seconds, 1, 2) - 5e9).abs() < 1.0);
        assert!((bound(1e10, seconds, 10, 2) - 1e10 / 6.0).abs() < 1.0);
    }

    #[test]
    fn writing_and_hashing_takes_time() {
        let seconds = measure(&std::env::temp_dir()).unwrap();
        assert!(seconds > 0.0);
    }
}
