//! `fanfare --help` is what people see first: one screen with all commands by area.

use crate::help::{COLUMNS, LIST_LINES, help, listed};

#[test]
fn help_of_the_program_fits_one_screen_and_none_of_its_commands_wants_another_program() {
    for option in ["-h", "--help"] {
        let text = help(&[], option);
        let lines = text.lines().count();
        assert!((24..=LIST_LINES).contains(&lines), "{option}: {lines} lines\n{text}");
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{option}: {text}");
        assert!(!text.contains("needs"), "{option}: {text}");
    }
}

#[test]
fn what_most_people_need_comes_first() {
    let first: Vec<String> = listed().into_iter().take(6).collect();
    assert_eq!(first, ["send", "recv", "pipe", "doctor", "monitor", "demo"]);
}
