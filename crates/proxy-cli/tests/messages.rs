//! `fanfare link` from outside.

use crate::road::Road;

#[test]
fn a_message_is_sent_and_acknowledged_and_a_strange_key_gets_exit_6() {
    let Some(road) = Road::make() else { return };
    let (near, far) = (road.key("near"), road.key("far"));
    let accept = format!("ship={near}");
    let words = ["link", "listen", "--listen", "0.0.0.0:7001", "--accept", &accept];
    let mut listener = road.start("far", &words);
    let peer = format!("base=10.88.0.2:7001,{far}");
    let send = |key: &str, more: &[&str]| {
        let words = ["link", "send", &peer, "here I am", "--identity", key, "--wait", "5s"];
        road.on("near", crate::PROGRAM).args(words).args(more).output().unwrap()
    };
    for class in ["rs", "ru", "us", "uu"] {
        let output = send("near", &["--class", class, "--tag", "7"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{class}: {said}");
        let message = listener.wait_for("message");
        assert_eq!((&message["text"], &message["class"]), (&"here I am".into(), &class.into()));
        assert_eq!(message["tag"], 7);
    }
    road.key("stranger");
    let output = send("stranger", &[]);
    assert_eq!(output.status.code(), Some(6));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("whether it accepts this key"), "{said}");
}
