//! Programs that were beside `fanfare` and are commands of it now: a link under their name does the same.

use std::ffi::{OsStr, OsString};

/// Each program, and its commands; the first is meant where none is named.
const PROGRAMS: [(&str, &[&str]); 5] = [
    ("fanfare-group", &["group"]),
    ("fanfare-proxy", &["proxy", "link"]),
    ("fanfare-relay", &["relay"]),
    ("fanfare-sensor", &["sensor"]),
    ("fanfare-video", &["video"]),
];
/// Options that each of them had beside its commands.
const COMMON: [&str; 5] = ["completions", "man", "help", "--version", "-V"];

/// The words with the command of that program; the same ones where it is named, or it is none of them.
pub(super) fn translate(name: &str, mut words: Vec<OsString>) -> Vec<OsString> {
    let Some((_, commands)) = PROGRAMS.iter().find(|(program, _)| *program == name) else {
        return words;
    };
    words[0] = "fanfare".into();
    let first = words.get(1).map(OsString::as_os_str).and_then(OsStr::to_str);
    let is_named = first.is_some_and(|word| commands.contains(&word) || COMMON.contains(&word));
    if !is_named {
        words.insert(1, commands[0].into());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_former_program_is_a_command_with_or_without_its_name() {
        for (line, expected) in [
            ("fanfare-relay relay --open", "fanfare relay --open"),
            ("fanfare-relay --open", "fanfare relay --open"),
            ("fanfare-relay", "fanfare relay"),
            ("fanfare-proxy link status", "fanfare link status"),
            ("fanfare-proxy server", "fanfare proxy server"),
            ("fanfare-group create fleet", "fanfare group create fleet"),
            ("fanfare-video --version", "fanfare --version"),
            ("fanfare-sensor man", "fanfare man"),
            ("fanfare send x", "fanfare send x"),
            ("other relay", "other relay"),
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let name = line.split(' ').next().unwrap();
            let expected: Vec<OsString> = expected.split(' ').map(OsString::from).collect();
            assert_eq!(translate(name, words), expected, "{line}");
        }
    }
}
