//! Numbers as people write them.

/// Digits with at most one point: no sign, no exponent, no separators, no words.
pub(super) fn decimal(text: &str) -> Option<f64> {
    let plain = text.chars().all(|c| c.is_ascii_digit() || c == '.')
        && text.starts_with(|c: char| c.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}
