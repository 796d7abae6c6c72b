//! What is said of a command line that is refused.

use clap::Parser;

use fanfare_command::misuse;

use crate::command_line::Cli;

fn told(line: &str) -> String {
    let words = ["fanfare"].into_iter().chain(line.split(' '));
    let error = Cli::try_parse_from(words).unwrap_err();
    misuse(&error).to_string()
}

#[test]
fn each_mistake_is_one_line_with_what_is_wrong_why_and_what_to_do() {
    for (line, expected) in [
        ("sub a --priority 11", "priority (11): is not from 0 to 10. Give such a number"),
        ("sub a --priority x", "priority (x): is no number. Give one"),
        (
            "pub a b --tag 99999999999999999999",
            "tag (99999999999999999999): is too large a number. Give a smaller one",
        ),
        ("sub a --order foo", "order (foo): not known. Use one of: arrival, source, topic, latest"),
        ("sub a --order", "order (none): not known. Use one of: arrival, source, topic, latest"),
        ("sub a --count", "count (none): a value is missing. See --help"),
        ("sub", "arguments (<PATTERN>...): are missing. See fanfare sub --help"),
        ("pub a", "arguments (<FILE>): are missing. See fanfare pub --help"),
        ("pub a b --replace", "arguments (--tag <N>): are missing. See fanfare pub --help"),
        ("pub a b c", "argument (c): is one too many. See fanfare pub --help"),
        ("pub a b -m x", "FILE (beside message): the two exclude each other. Leave one out"),
        ("sub a --timeout 1s --timeout 2s", "timeout (twice): may be given once. Leave one out"),
        ("sub a --timeut 1s", "option (--timeut): is not known. Did you mean --timeout?"),
        ("sub a --xyzzy", "option (--xyzzy): is not known. See fanfare sub --help"),
        (
            "bridge udp --udp-ttl 300 --preset tak",
            "udp-ttl (300): is not from 0 to 255. Give such a number",
        ),
        ("nod", "command (nod): is not known. Did you mean node?"),
        ("node status --socket", "socket (none): a value is missing. See --help"),
    ] {
        assert_eq!(told(line), format!("error: {expected}"), "{line}");
    }
}
