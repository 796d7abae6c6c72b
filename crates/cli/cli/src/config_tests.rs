//! What a file may set is what the commands take.

use fanfare_command::config::{Live, find, key_of, options_of};

use crate::{command_line::GRAMMAR, receive::ReceivePlan, send::SendPlan};

#[test]
fn every_option_but_those_that_name_a_file_of_options_can_be_set_in_a_file_with_hyphens_or_underscores()
 {
    for table in GRAMMAR.tables() {
        let command = (table.command)();
        let names_a_file = |arg: &clap::Arg| arg.get_id() == "config" || arg.get_id() == "streams";
        let all: Vec<_> = command.get_arguments().filter(|arg| !names_a_file(arg)).collect();
        assert!(all.len() > 20, "{table:?}");
        for arg in all {
            let key = key_of(arg);
            for word in [key.replace('_', "-"), key.replace('-', "_")] {
                let found = find(&command, &word).map(clap::Arg::get_id);
                assert_eq!(found, Some(arg.get_id()), "{word}");
            }
        }
        assert!(find(&command, "config").or(find(&command, "streams")).is_none());
    }
}

#[test]
fn what_can_change_while_a_command_runs_is_an_option_of_it() {
    for (table, keys) in [(GRAMMAR.send, SendPlan::KEYS), (GRAMMAR.recv, ReceivePlan::KEYS)] {
        let known: Vec<String> = options_of(&(table.command)()).map(key_of).collect();
        assert!(keys.iter().all(|key| known.contains(&(*key).to_owned())), "{keys:?}");
    }
}

#[test]
fn the_document_names_everything_that_can_change_while_a_command_runs() {
    let document = include_str!("../../../../docs/reference/configuration.md");
    for (row, keys) in [("| `send` |", SendPlan::KEYS), ("| `recv` |", ReceivePlan::KEYS)] {
        let line = document.lines().find(|line| line.starts_with(row)).unwrap();
        assert!(keys.iter().all(|key| line.contains(&format!("`{key}`"))), "{line}");
    }
}
