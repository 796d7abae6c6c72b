//! Renditions: the same pictures at several rates.

use serde::{Deserialize, Serialize};

/// Most renditions of a stream: each is encoded by itself.
pub const RENDITIONS_MAX: usize = 8;
/// Rates that x264 makes pictures of, bit/s.
const RATES: core::ops::RangeInclusive<u64> = 32_000..=50_000_000;

/// A rendition as it is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rendition {
    /// As it is called in topics and paths: its rate as it was written.
    pub name: String,
    /// Pictures and sound together, bit/s.
    pub rate: u64,
    /// Lines of a picture.
    pub height: u32,
}

impl Rendition {
    /// What of its rate is for sound: an eighth, between what speech needs and what music does.
    #[must_use]
    pub fn sound(&self) -> u64 {
        (self.rate / 8).clamp(12_000, 128_000)
    }
    /// What is left for pictures; the frames of files take a little, too.
    #[must_use]
    pub fn pictures(&self, with_sound: bool) -> u64 {
        let sound = if with_sound { self.sound() } else { 0 };
        (self.rate - sound) * 95 / 100
    }
}

/// Pictures of this many lines look right at a rate: a common ladder of x264 at 25 pictures a second.
fn height(rate: u64) -> u32 {
    match rate {
        0..100_000 => 144,
        100_000..300_000 => 240,
        300_000..900_000 => 360,
        900_000..2_500_000 => 576,
        2_500_000..5_000_000 => 720,
        _ => 1080,
    }
}

/// Why renditions are none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LadderError {
    /// None, or too many.
    Count(usize),
    /// Not a rate.
    Rate(String),
    /// The same twice.
    Twice(String),
}

impl core::fmt::Display for LadderError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Count(count) => write!(f, "renditions ({count}): give 1 to {RENDITIONS_MAX}"),
            Self::Rate(text) => {
                write!(f, "rendition ({text}): not a rate from 32k to 50M. Write 400k")
            }
            Self::Twice(text) => write!(f, "rendition ({text}): is there twice. Leave one out"),
        }
    }
}

/// Reads "64k,200k,1500k", lowest first whatever the order.
///
/// # Errors
/// What is wrong with it.
pub fn parse(text: &str) -> Result<Vec<Rendition>, LadderError> {
    let mut ladder = text.split(',').map(|word| one(word.trim())).collect::<Result<Vec<_>, _>>()?;
    if !(1..=RENDITIONS_MAX).contains(&ladder.len()) {
        return Err(LadderError::Count(ladder.len()));
    }
    ladder.sort_by_key(|rendition| rendition.rate);
    match ladder.windows(2).find(|two| two[0].rate == two[1].rate) {
        Some(two) => Err(LadderError::Twice(two[1].name.clone())),
        None => Ok(ladder),
    }
}

fn one(word: &str) -> Result<Rendition, LadderError> {
    let wrong = || LadderError::Rate(word.to_owned());
    let (digits, unit) = match word.strip_suffix('k') {
        Some(digits) => (digits, 1000),
        None => word.strip_suffix('M').map_or((word, 1), |digits| (digits, 1_000_000)),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    let rate = number.checked_mul(unit).filter(|rate| RATES.contains(rate)).ok_or_else(wrong)?;
    Ok(Rendition { name: word.to_owned(), rate, height: height(rate) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ladder_is_read_lowest_first_and_has_more_lines_at_more_rate() {
        let ladder = parse("1500k, 64k,400k").unwrap();
        let seen: Vec<_> = ladder.iter().map(|r| (&*r.name, r.rate, r.height)).collect();
        assert_eq!(seen, [("64k", 64_000, 144), ("400k", 400_000, 360), ("1500k", 1_500_000, 576)]);
        assert!(ladder.iter().all(|r| r.sound() + r.pictures(true) < r.rate));
    }

    #[test]
    fn what_is_no_ladder_is_told() {
        assert_eq!(parse("fast"), Err(LadderError::Rate("fast".to_owned())));
        assert_eq!(parse("1k"), Err(LadderError::Rate("1k".to_owned())));
        assert_eq!(parse("2M,2000k"), Err(LadderError::Twice("2000k".to_owned())));
        assert_eq!(parse(&["64k"; 9].join(",")), Err(LadderError::Count(9)));
        assert!(parse("").is_err());
    }
}
