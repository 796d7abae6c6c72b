//! `${name}`: a variable of a scenario. Its `[variables]` give the default.

use fanfare_crypto::toml::{Mistakes, scalar, suggest};
use std::collections::{BTreeMap, BTreeSet};
use toml::de::{DeTable, DeValue};

/// Values by the names of variables.
pub type Values = BTreeMap<String, String>;

/// Values may name other variables: so deep, at most.
const DEPTH_MAX: usize = 8;

/// The text with a value in the place of each `${name}`: one of `given`, else one of `[variables]`.
/// Lines stay where they are.
pub(crate) fn fill(text: &str, given: &Values, mistakes: &Mistakes<'_>) -> String {
    let open = open(text);
    for name in given.keys().filter(|name| !open.contains(*name)) {
        let hint = suggest(name, open.iter().map(String::as_str));
        mistakes.note(0, format!("variable ({name}): is not in this file. {hint}"));
    }
    let mut values = defaults(text);
    values.extend(given.clone());
    resolve(&mut values);
    for (at, name) in names(text) {
        let why = match values.get(name) {
            None => "has no value. Give it one with --set, or in [variables]",
            Some(value) if !names(value).is_empty() => {
                "refers to itself, or to a variable without a value"
            }
            Some(_) => continue,
        };
        mistakes.note(at, format!("variable ({name}): {why}"));
    }
    replace(text, &values)
}

/// Every variable of a text.
pub(crate) fn open(text: &str) -> BTreeSet<String> {
    let used = names(text).into_iter().map(|(_, name)| name.to_owned());
    used.chain(defaults(text).into_keys()).collect()
}

/// Puts values into values that name other variables.
pub(crate) fn resolve(values: &mut Values) {
    for _ in 0..DEPTH_MAX {
        let known = values.clone();
        values.values_mut().for_each(|value| *value = replace(value, &known));
    }
}

/// Every `${name}` that has a value, replaced.
pub(crate) fn replace(text: &str, values: &Values) -> String {
    let (mut filled, mut done) = (String::with_capacity(text.len()), 0);
    for (at, name) in names(text) {
        if let Some(value) = values.get(name) {
            filled.push_str(&text[done..at]);
            // A line more would move what follows.
            filled.push_str(&value.replace(['\n', '\r'], " "));
            done = at + "${}".len() + name.len();
        }
    }
    filled + &text[done..]
}

/// Where each `${name}` begins, and the name.
pub(crate) fn names(text: &str) -> Vec<(usize, &str)> {
    let word = |at: usize| {
        let rest = &text[at + 2..];
        let name = &rest[..rest.find('}')?];
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        is_name.then_some((at, name))
    };
    text.match_indices("${").filter_map(|(at, _)| word(at)).collect()
}

/// What `[variables]` say. The rest of the text need not be TOML before it is filled in.
fn defaults(text: &str) -> Values {
    let (root, _) = DeTable::parse_recoverable(text);
    let section = root.get_ref().iter().find(|(name, _)| name.get_ref() == "variables");
    let table = section.and_then(|(_, value)| value.get_ref().as_table());
    let values = table
        .into_iter()
        .flat_map(|table| table.iter())
        .filter_map(|(name, value)| Some((name.get_ref().to_string(), plain(value.get_ref())?)));
    values.collect()
}

/// Text, numbers and flags as they stand in a file.
pub(crate) fn plain(value: &DeValue<'_>) -> Option<String> {
    scalar(value).map(str::to_owned).or_else(|| value.as_bool().map(|flag| flag.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[variables]\nflows = 2\nloss = \"1%\"\n[a]\nn = ${flows}\nq = ${queue}\n";

    fn filled(given: &[(&str, &str)]) -> (String, Vec<String>) {
        let mistakes = Mistakes::new(TEXT);
        let given = given.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        let text = fill(TEXT, &given, &mistakes);
        (text, mistakes.into_list().iter().map(ToString::to_string).collect())
    }

    #[test]
    fn what_is_given_goes_before_what_the_file_says() {
        let (text, mistakes) = filled(&[("queue", "{ n = ${flows}0 }"), ("flows", "5")]);
        assert!(text.ends_with("n = 5\nq = { n = 50 }\n"), "{text}");
        assert!(mistakes.is_empty(), "{mistakes:?}");
        let (text, _) = filled(&[("queue", "1")]);
        assert!(text.ends_with("n = 2\nq = 1\n"), "{text}");
    }

    #[test]
    fn what_has_no_value_and_what_nobody_asks_for_is_told() {
        let (_, mistakes) = filled(&[]);
        assert_eq!(
            mistakes,
            ["line 6: variable (queue): has no value. Give it one with --set, or in [variables]"]
        );
        let (_, mistakes) = filled(&[("queue", "${queue}")]);
        assert!(mistakes[0].contains("refers to itself"), "{mistakes:?}");
        let (_, mistakes) = filled(&[("queue", "1"), ("flow", "1")]);
        assert_eq!(mistakes, ["line 1: variable (flow): is not in this file. Did you mean flows?"]);
    }

    #[test]
    fn a_dollar_that_is_no_variable_stays() {
        let values = Values::from([(String::from("a"), String::from("1"))]);
        assert_eq!(replace("$a ${a} ${b} ${} ${ä $$", &values), "$a 1 ${b} ${} ${ä $$");
    }
}
