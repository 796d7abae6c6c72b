//! The command from outside, as far as it needs neither root nor a peer.

use std::process::{Command, Output};

fn interop(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_interop")).args(words).output().unwrap()
}

fn names(words: &[&str]) -> Vec<String> {
    let listed = interop(&[&["matrix", "--list"], words].concat());
    assert!(listed.status.success(), "{listed:?}");
    String::from_utf8(listed.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn the_quick_matrix_is_a_part_of_the_matrix_in_which_each_implementation_sends() {
    let (all, quick) = (names(&[]), names(&["--quick"]));
    assert!(quick.len() < all.len(), "{} of {}", quick.len(), all.len());
    assert!(quick.iter().all(|name| all.contains(name)), "{quick:#?}");
    let senders: std::collections::BTreeSet<&str> =
        quick.iter().filter_map(|name| name.split_once('→')?.0.split(' ').next_back()).collect();
    assert_eq!(senders.len(), 2, "{senders:?}");
}

#[test]
fn a_verb_that_it_does_not_know_is_refused() {
    let refused = interop(&["fly"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("fly"));
}
