//! How soon a late subscriber has what was published last.

use std::time::{Duration, Instant};

use crate::support::Stage;

/// It took 4 to 5 s before there were greetings, and takes 0.2 s where processors are not busy.
const SOON: Duration = Duration::from_millis(1500);

/// From its start to its first message, and what that was.
fn first(stage: &Stage) -> (Duration, String) {
    let begun = Instant::now();
    let late = stage.start("sub", &["t/#", "--count=1", "--timeout=20s"]).end().expect(0);
    (begun.elapsed(), late.all("message")[0]["text"].as_str().unwrap().to_owned())
}

#[test]
fn a_late_subscriber_has_the_last_value_at_once_while_its_publisher_is_there() {
    let stage = Stage::new();
    let mut publisher = stage.start("pub", &["t/x", "--message", "60.17", "--stay", "60s"]);
    publisher.wait_for("published");
    let (after, value) = first(&stage);
    assert_eq!(value, "60.17");
    assert!(after < SOON, "{after:?}");
}

#[test]
fn a_late_subscriber_has_the_last_value_at_once_from_others_when_its_publisher_is_gone() {
    let stage = Stage::new();
    let witness = stage.sub(&["#"]);
    stage.start("pub", &["t/x", "--message", "60.17"]).end().expect(0);
    let (after, value) = first(&stage);
    assert_eq!(value, "60.17");
    assert!(after < SOON, "{after:?}");
    drop(witness);
}
