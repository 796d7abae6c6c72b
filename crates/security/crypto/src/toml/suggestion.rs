//! Suggestions for unknown words: the nearest word that would be right.

/// The word of `known` that is nearest to `word`, unless it is a different word altogether.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A third of the letters may differ.
    let limit = 1 + word.chars().count() / 3;
    let distances = known.into_iter().map(|other| (distance(word, other), other));
    distances.filter(|(far, _)| *far <= limit).min().map(|(_, other)| other)
}

/// `. Did you mean x?`, or the known words when none is near.
#[must_use]
pub fn suggest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(word, known.iter().copied()) {
        Some(near) => format!("Did you mean {near}?"),
        None if known.is_empty() => String::from("None is known"),
        None => format!("Known are: {}", known.join(", ")),
    }
}

/// Letters to insert, delete or replace (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_understood_and_another_word_is_not() {
        let known = ["rate", "delay", "jitter", "duplicate"];
        assert_eq!(nearest("raet", known), Some("rate"));
        assert_eq!(nearest("dely", known), Some("delay"));
        assert_eq!(nearest("bandwidth", known), None);
        assert_eq!(suggest("x", ["alpha"]), "Known are: alpha");
        assert_eq!([distance("", "abc"), distance("kitten", "sitting")], [3, 3]);
    }
}
