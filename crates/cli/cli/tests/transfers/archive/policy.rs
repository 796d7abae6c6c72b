//! Links that lead out of their directory, and links that stand in the way.

use std::{fs, os::unix::fs::symlink};

use super::pass;
use crate::support::{Stage, entries};

/// A tree with a file, and links to `outside/f` and `outside/d`, which have something in them.
fn with_links_out() -> Stage {
    let stage = Stage::new();
    stage.file("out/t/f", 10);
    stage.file("outside/f", 20);
    stage.file("outside/d/g", 30);
    symlink("../d", stage.path("outside/d/circle")).unwrap();
    symlink(stage.path("outside/f"), stage.path("out/t/absolute")).unwrap();
    symlink("../../outside/d", stage.path("out/t/above")).unwrap();
    stage
}

#[test]
fn a_link_that_leads_out_stops_a_send_before_anything_is_sent() {
    let stage = with_links_out();
    let refused = stage.send(&[stage.path("out/t")]).expect(2);
    let why = refused.error();
    assert!(
        why.contains("/above'") && why.contains("outside/d") && why.contains("--links"),
        "{why}"
    );
    assert!(refused.all("start").is_empty());
}

#[test]
fn links_that_lead_out_are_left_out_and_named_where_that_is_asked_for() {
    let stage = with_links_out();
    let (sent, received) = pass(&stage, &["--links=skip"], &[]);
    let sent = sent.expect(0);
    let warning = sent.all("warning")[0]["message"].as_str().unwrap();
    assert!(warning.starts_with("2 ") && warning.contains("/above'"), "{warning}");
    received.expect(0);
    assert_eq!(entries(&stage.path("in/t")), ["f"]);
}

#[test]
fn what_links_that_lead_out_point_to_is_sent_where_that_is_asked_for() {
    let stage = with_links_out();
    let (sent, received) = pass(&stage, &["--links=follow", "--delete"], &["--allow-delete"]);
    sent.expect(0);
    received.expect(0);
    assert_eq!(entries(&stage.path("in/t")), ["above", "absolute", "f"]);
    assert_eq!(fs::metadata(stage.path("in/t/absolute")).unwrap().len(), 20);
    assert!(!fs::symlink_metadata(stage.path("in/t/absolute")).unwrap().is_symlink());
    // Once around the circle, and no further.
    assert_eq!(fs::metadata(stage.path("in/t/above/g")).unwrap().len(), 30);
}

#[test]
fn a_receiver_refuses_links_that_lead_out_unless_it_is_told_otherwise() {
    let stage = with_links_out();
    let (sent, received) = pass(&stage, &["--links=keep"], &[]);
    let sent = sent.expect(3);
    assert_eq!(sent.all("reported")[0]["reason"], "link-refused");
    let failed = received.expect(3);
    let names: Vec<_> = failed.all("failed").iter().map(|line| line["name"].clone()).collect();
    assert_eq!(names, ["t/above", "t/absolute"]);
    assert_eq!(entries(&stage.path("in/t")), ["f"]);
    let (sent, received) = pass(&stage, &["--links=keep"], &["--outside-links"]);
    sent.expect(0);
    received.expect(0);
    assert_eq!(fs::read_link(stage.path("in/t/absolute")).unwrap(), stage.path("outside/f"));
}

#[test]
fn links_and_owners_that_a_receiver_refuses_both_end_the_transfer() {
    let stage = with_links_out();
    let (sent, received) = pass(&stage, &["--archive"], &[]);
    sent.expect(3);
    received.expect(3);
    assert_eq!(entries(&stage.path("in/t")), ["f"]);
}

#[test]
fn a_planted_link_in_the_place_of_a_directory_leads_nowhere() {
    let stage = Stage::new();
    stage.file("out/t/d/f", 10);
    symlink("f", stage.path("out/t/d/link")).unwrap();
    fs::hard_link(stage.path("out/t/d/f"), stage.path("out/t/d/g")).unwrap();
    fs::create_dir_all(stage.path("elsewhere")).unwrap();
    fs::create_dir_all(stage.path("in/t")).unwrap();
    symlink(stage.path("elsewhere"), stage.path("in/t/d")).unwrap();
    let (sent, received) = pass(&stage, &[], &[]);
    assert!(sent.expect(3).all("reported").iter().any(|line| line["reason"] == "in-the-way"));
    received.expect(3);
    assert_eq!(entries(&stage.path("elsewhere")), Vec::<String>::new());
}

#[test]
fn a_directory_stays_where_a_link_should_be_and_the_sender_is_told() {
    let stage = Stage::new();
    stage.file("out/t/f", 10);
    symlink("f", stage.path("out/t/x")).unwrap();
    stage.file("in/t/x/mine", 5);
    let (sent, received) = pass(&stage, &[], &[]);
    assert_eq!(sent.expect(3).all("reported")[0]["reason"], "in-the-way");
    received.expect(3);
    assert_eq!(entries(&stage.path("in/t/x")), ["mine"]);
}

#[test]
fn a_link_in_the_place_of_a_file_follows_the_rule_for_existing_files() {
    for (option, expected, names) in [
        (&[][..], 0, &["f", "x"][..]),
        (&["--keep"], 3, &["f", "x", "x.1"]),
        (&["--refuse"], 3, &["f", "x"]),
    ] {
        let stage = Stage::new();
        stage.file("out/t/f", 10);
        symlink("f", stage.path("out/t/x")).unwrap();
        stage.file("in/t/x", 5);
        let (sent, received) = pass(&stage, &[], option);
        sent.expect(expected);
        drop(received);
        assert_eq!(entries(&stage.path("in/t")), names);
        let is_link = fs::symlink_metadata(stage.path("in/t/x")).unwrap().is_symlink();
        assert_eq!(is_link, option.is_empty());
    }
}

#[test]
fn a_dry_run_says_what_becomes_of_links_that_lead_out() {
    let stage = with_links_out();
    let tree = stage.path("out/t");
    fs::hard_link(tree.join("f"), tree.join("g")).unwrap();
    let refused = stage.send(&[tree.to_str().unwrap(), "--dry-run"]).expect(2);
    assert!(refused.error().contains("--links"), "{}", refused.error());
    let told = stage.send(&[tree.to_str().unwrap(), "--dry-run", "--links=follow"]).expect(0);
    let result = told.result();
    assert_eq!((&result["files"], &result["would_send"]), (&3.into(), &60.into()));
}

#[test]
fn another_file_that_keeps_its_name_gets_no_second_one() {
    let stage = Stage::new();
    stage.file("out/t/f", 10);
    fs::hard_link(stage.path("out/t/f"), stage.path("out/t/g")).unwrap();
    stage.file("in/t/f", 5);
    let (sent, received) = pass(&stage, &[], &["--keep"]);
    let reasons: Vec<_> =
        sent.expect(3).all("reported").iter().map(|line| line["reason"].clone()).collect();
    assert!(reasons.contains(&"kept-beside".into()) && reasons.contains(&"conflict".into()));
    received.expect(3);
    assert_eq!(entries(&stage.path("in/t")), ["f", "f.1"]);
}
