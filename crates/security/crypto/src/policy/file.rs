//! The policy file: all its mistakes at once.

use crate::toml::{Mistake, Mistakes, scalar, shown, suggest};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::policy::{
    rule::{Policy, Rule},
    who::Subject,
};

const KEYS: [&str; 8] = [
    "who",
    "send",
    "publish",
    "max_size",
    "max_files",
    "max_total",
    "max_message",
    "max_per_minute",
];
/// Rules in a file. More is no policy that anybody reads.
const RULES_MAX: usize = 4096;

type Value<'a> = Spanned<DeValue<'a>>;

impl Policy {
    /// Reads a policy file.
    ///
    /// # Errors
    /// All that is wrong with it, each with its line.
    pub fn parse(text: &str) -> Result<Self, Vec<Mistake>> {
        let mistakes = Mistakes::new(text);
        let mut policy = Self::default();
        match DeTable::parse(text) {
            Err(error) => {
                let at = error.span().map_or(0, |span| span.start);
                mistakes.note(at, format!("{}. Correct the file", error.message()));
            }
            Ok(table) => policy.rules = rules(table.get_ref(), &mistakes),
        }
        let list = mistakes.into_list();
        if list.is_empty() { Ok(policy) } else { Err(list) }
    }
}

fn rules(table: &DeTable<'_>, mistakes: &Mistakes<'_>) -> Vec<Rule> {
    let mut rules = Vec::new();
    for (key, value) in table {
        let (name, at) = (key.get_ref().as_ref(), key.span().start);
        let Some(list) = value.get_ref().as_array().filter(|_| name == "rule") else {
            mistakes.note(at, format!("{name}: is not known here. Begin each rule with [[rule]]"));
            continue;
        };
        for entry in list {
            match entry.get_ref().as_table() {
                Some(fields) if rules.len() < RULES_MAX => {
                    rules.push(rule(fields, entry.span().start, mistakes));
                }
                Some(_) => {
                    let text = format!("rule: there are more than {RULES_MAX}. Put some together");
                    mistakes.note(entry.span().start, text);
                    return rules;
                }
                None => mistakes.note(entry.span().start, "rule: is no table. Use [[rule]]"),
            }
        }
    }
    rules
}

fn rule(fields: &DeTable<'_>, start: usize, mistakes: &Mistakes<'_>) -> Rule {
    let mut rule = Rule::default();
    for (key, value) in fields {
        let (name, at) = (key.get_ref().as_ref(), key.span().start);
        match name {
            "who" => rule.who = who(value, mistakes),
            "send" => rule.send = flag(name, value, mistakes),
            "publish" => {
                let words = list(name, value, mistakes);
                rule.publish = words.into_iter().map(|(_, word)| word.to_owned()).collect();
            }
            "max_size" => rule.max_size = number(name, value, mistakes),
            "max_files" => rule.max_files = number(name, value, mistakes),
            "max_total" => rule.max_total = number(name, value, mistakes),
            "max_message" => rule.max_message = number(name, value, mistakes),
            "max_per_minute" => rule.max_per_minute = number(name, value, mistakes),
            _ => {
                let hint = suggest(name, KEYS);
                mistakes.note(at, format!("{name}: is not known in a rule. {hint}"));
            }
        }
    }
    if rule.who.is_empty() {
        mistakes.note(start, "rule: says nobody. Add who = ['all'], say");
    }
    rule
}

fn who(value: &Value<'_>, mistakes: &Mistakes<'_>) -> Vec<Subject> {
    let mut subjects = Vec::new();
    for (at, word) in list("who", value, mistakes) {
        match word.parse() {
            Ok(subject) => subjects.push(subject),
            Err(why) => mistakes.note(at, format!("who ({word}): {why}")),
        }
    }
    subjects
}

fn list<'a>(name: &str, value: &'a Value<'_>, mistakes: &Mistakes<'_>) -> Vec<(usize, &'a str)> {
    let Some(values) = value.get_ref().as_array() else {
        let text = format!("{name} ({}): is no list. Use ['...']", shown(value.get_ref()));
        mistakes.note(value.span().start, text);
        return Vec::new();
    };
    let word = |value: &'a Value<'_>| match value.get_ref() {
        DeValue::String(text) => Some((value.span().start, text.as_ref())),
        other => {
            let text = format!("{name} ({}): is no text. Use quotes", shown(other));
            mistakes.note(value.span().start, text);
            None
        }
    };
    values.iter().filter_map(word).collect()
}

fn flag(name: &str, value: &Value<'_>, mistakes: &Mistakes<'_>) -> bool {
    value.get_ref().as_bool().unwrap_or_else(|| {
        let text = format!("{name} ({}): use true or false", shown(value.get_ref()));
        mistakes.note(value.span().start, text);
        false
    })
}

/// A number, or a text such as '2G': thousands, as everywhere in Fanfare.
fn number(name: &str, value: &Value<'_>, mistakes: &Mistakes<'_>) -> Option<u64> {
    let text = scalar(value.get_ref()).unwrap_or_default();
    let (digits, factor) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1_000),
        Some((at, 'M')) => (&text[..at], 1_000_000),
        Some((at, 'G')) => (&text[..at], 1_000_000_000),
        Some((at, 'T')) => (&text[..at], 1_000_000_000_000),
        _ => (text, 1),
    };
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    if number.is_none() {
        let shown = shown(value.get_ref());
        let text = format!("{name} ({shown}): is no number. Use 1000, or '2G'");
        mistakes.note(value.span().start, text);
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_who_may_do_what() {
        let text = "# who feeds us\n\
                    [[rule]]\n\
                    who = ['10.1.0.0/16', 'node:7']\n\
                    send = true\n\
                    max_size = '2G'\n\
                    max_files = 1000\n\
                    max_total = '1T'\n\
                    [[rule]]\n\
                    who = ['all']\n\
                    publish = ['weather/#']\n\
                    max_message = '64k'\n\
                    max_per_minute = 600\n";
        let policy = Policy::parse(text).unwrap();
        let [first, second] = &policy.rules[..] else { panic!("two rules") };
        assert_eq!(first.who.len(), 2);
        assert!(first.send && !second.send);
        let limits = (first.max_size, first.max_files, first.max_total);
        assert_eq!(limits, (Some(2_000_000_000), Some(1000), Some(1_000_000_000_000)));
        assert_eq!((second.max_message, second.max_per_minute), (Some(64_000), Some(600)));
        assert!(second.may_publish("weather/rain"));
    }

    #[test]
    fn all_mistakes_are_told_at_once_each_with_its_line() {
        let text = "rules = 1\n\
                    [[rule]]\n\
                    who = ['host-7']\n\
                    sent = true\n\
                    max_size = 'much'\n\
                    [[rule]]\n\
                    send = 'yes'\n";
        let mistakes = Policy::parse(text).unwrap_err();
        let lines: Vec<usize> = mistakes.iter().map(|mistake| mistake.line).collect();
        let all = mistakes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        for line in [1, 3, 4, 5, 6, 7] {
            assert!(lines.contains(&line), "line {line} in:\n{all}");
        }
        assert!(all.contains("send"), "{all}");
    }

    #[test]
    fn what_is_no_toml_is_told_with_its_line() {
        let mistakes = Policy::parse("[[rule]]\nwho = [\n").unwrap_err();
        assert_eq!(mistakes.len(), 1);
    }

    #[test]
    fn an_empty_file_allows_nothing() {
        assert_eq!(Policy::parse("").unwrap(), Policy::default());
    }
}
