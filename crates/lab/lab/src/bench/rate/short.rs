//! Numbers as options take them.

/// A number with the letter of its unit, as options take it.
pub(in crate::bench) fn short(value: u64) -> String {
    let units = [(1e9, "G"), (1e6, "M"), (1e3, "k")];
    let unit = units.into_iter().find(|(unit, _)| value as f64 >= *unit);
    let rounded = |value: f64| (value * 100.0).round() / 100.0;
    unit.map_or_else(
        || value.to_string(),
        |(unit, name)| format!("{}{name}", rounded(value as f64 / unit)),
    )
}
