//! `fanfare link` from outside.

use crate::road::Road;

#[test]
fn a_message_is_sent_and_acknowledged_and_a_wrong_key_at_either_end_gets_exit_4() {
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
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("it does not accept this key"), "{said}");
    for (peer, code, told) in [
        (
            format!("base=10.88.0.2:7001,{near}"),
            4,
            "it has another key than the one that was given",
        ),
        (format!("base=10.88.0.2:7009,{far}"), 6, "did not answer within 3 s"),
    ] {
        let words = ["link", "send", &peer, "here I am", "--identity", "near", "--wait", "3s"];
        let output = road.on("near", crate::PROGRAM).args(words).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(told), "{said}");
    }
}

#[test]
fn a_message_goes_with_the_first_packet_by_a_ticket_and_arrives_without_one_too() {
    use std::os::unix::fs::PermissionsExt as _;
    let Some(road) = Road::make() else { return };
    let (near, far) = (road.key("near"), road.key("far"));
    let (accept, peer) = (format!("ship={near}"), format!("base=10.88.0.2:7001,{far}"));
    let words = ["link", "listen", "--listen", "0.0.0.0:7001", "--accept", &accept];
    let listen = || road.start("far", &[&words[..], &["--socket", "s"]].concat());
    let send = |text: &str| {
        let words = ["link", "send", &peer, text, "--early", "--identity", "near"];
        road.on("near", crate::PROGRAM).args(words).output().unwrap()
    };
    let taken = || {
        let words = [crate::PROGRAM, "link", "status", "--socket", "s", "--json"];
        let said = String::from_utf8_lossy(&road.output("far", &words).stdout).into_owned();
        let line = said.lines().find(|line| line.contains("links")).unwrap_or_default().to_owned();
        let status: serde_json::Value = serde_json::from_str(&line).unwrap();
        ["taken", "refused"].map(|how| status["early"][how].as_u64().unwrap())
    };
    let mut listener = listen();
    let arrives = |listener: &mut crate::road::Running, text: &str, early: [u64; 2]| {
        let output = send(text);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{text}: {said}");
        assert_eq!(listener.wait_for("message")["text"], text);
        assert_eq!(taken(), early, "{text}");
    };
    arrives(&mut listener, "without a ticket", [0, 0]);
    arrives(&mut listener, "with the first packet", [1, 0]);
    arrives(&mut listener, "and again", [2, 0]);
    let tickets = road.directory.join("near.tickets");
    let mode = std::fs::metadata(&tickets).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // The other end is started anew, and knows no ticket.
    listener.kill();
    let mut listener = listen();
    arrives(&mut listener, "to another process", [0, 1]);
    arrives(&mut listener, "which has made a new one", [1, 1]);
    // What others may read is not used.
    std::fs::set_permissions(&tickets, std::fs::Permissions::from_mode(0o644)).unwrap();
    let output = send("exposed");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("near.tickets") && said.contains("644"), "{said}");
}
