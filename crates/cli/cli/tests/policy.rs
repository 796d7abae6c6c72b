//! What the policy of a receiver of files, and of a member of a group, lets in.

use crate::support::{Stage, assert_same, entries};

fn policy(stage: &Stage, text: &str) -> String {
    format!("--policy={}", stage.text("policy.toml", text).display())
}

fn path(stage: &Stage, name: &str) -> String {
    stage.path(name).display().to_string()
}

#[test]
fn a_file_comes_as_far_as_the_rule_of_its_sender_goes_and_a_larger_one_is_refused() {
    let stage = Stage::new();
    let rule = "[[rule]]\nwho = ['127.0.0.0/8']\nsend = true\nmax_size = '100k'\n";
    let receiver = stage.recv("in", &[&policy(&stage, rule)]);
    stage.file("small", 50_000);
    stage.file("large", 200_000);
    stage.send(&[path(&stage, "small").as_str(), "--expect=in"]).expect(0);
    let refused = stage.send(&[path(&stage, "large").as_str(), "--expect=in"]);
    assert_ne!(refused.code, Some(0));
    assert!(refused.all("receipt").is_empty(), "no receipt for what was refused");
    receiver.interrupt();
    receiver.end();
    assert_same(&stage.path("small"), &stage.path("in/small"));
    assert!(!entries(&stage.path("in")).iter().any(|name| name.contains("large")));
}

#[test]
fn of_who_may_not_send_nothing_is_kept() {
    let stage = Stage::new();
    let rule = "[[rule]]\nwho = ['10.9.0.0/16']\nsend = true\n";
    let receiver = stage.recv("in", &[&policy(&stage, rule)]);
    stage.file("f", 50_000);
    // It is asked to acknowledge for a minute, as it may have lost everything.
    let mut sender = stage.start("send", &[path(&stage, "f").as_str(), "--expect=in"]);
    sender.wait_for_progress("sent_bytes", 50_000);
    sender.wait_for("progress");
    sender.interrupt();
    assert!(sender.end().all("receipt").is_empty());
    receiver.interrupt();
    receiver.end();
    assert!(!stage.path("in/f").exists());
}

#[test]
fn messages_come_on_the_topics_and_in_the_sizes_that_the_rule_of_their_sender_allows() {
    let stage = Stage::new();
    let rule = "[[rule]]\nwho = ['127.0.0.0/8']\npublish = ['weather/#']\nmax_message = '10k'\n";
    let mut member = stage.sub(&["#", &policy(&stage, rule)]);
    let publish = |topic: &str, what: &str| {
        stage.start("pub", &[topic, what, "--one-way"]).end().expect(0);
    };
    publish("weather/rain", "--message=first");
    publish("orders/now", "--message=not for this one");
    publish("weather/map", &stage.file("map", 50_000).display().to_string());
    publish("weather/rain", "--message=second");
    let told = [0; 2].map(|_| member.wait_for("message"));
    assert_eq!(
        told.map(|message| message["text"].as_str().unwrap().to_owned()),
        ["first", "second"]
    );
}

#[test]
fn of_who_fits_no_rule_no_message_comes() {
    let stage = Stage::new();
    let rule = |who: &str| format!("[[rule]]\nwho = ['{who}']\npublish = ['#']\n");
    let other = stage.sub(&["#", &policy(&stage, &rule("10.9.0.0/16"))]);
    let mut ours = stage.sub(&["#", &policy(&stage, &rule("127.0.0.0/8"))]);
    stage.start("pub", &["a", "--message=x", "--one-way"]).end().expect(0);
    assert_eq!(ours.wait_for("message")["text"], "x");
    other.interrupt();
    assert!(other.end().all("message").is_empty());
}
