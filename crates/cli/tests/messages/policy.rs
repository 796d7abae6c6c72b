//! What a member's policy lets in.

use crate::support::Stage;

fn policy(stage: &Stage, text: &str) -> String {
    format!("--policy={}", stage.text("policy.toml", text).display())
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
