use super::*;

/// The examples of the reference: what the programs print.
const LINES: &str = include_str!("../../../../../docs/reference/json-events.md");

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn told(kind: Kind, lines: &[&str]) -> Transfer {
    let mut transfer = Transfer::new(kind);
    for (second, line) in lines.iter().enumerate() {
        transfer.on_line(seconds(second as u64), serde_json::from_str(line).unwrap());
    }
    transfer
}

#[test]
fn every_line_that_programs_print_can_be_told_at_any_time() {
    let lines: Vec<&str> = LINES.lines().filter(|line| line.starts_with("{\"event\"")).collect();
    assert!(lines.len() > 50, "{}", lines.len());
    for kind in [Kind::Send, Kind::Receive] {
        let document = told(kind, &lines).document(seconds(100));
        assert!(!document.to_string().contains("null"), "{document}");
    }
}

#[test]
fn a_sending_is_shown_from_its_start_to_its_end() {
    let mut transfer = told(
        Kind::Send,
        &[
            r#"{"event":"start","group":"239.255.42.1:6003","node_id":1,"interface":"eth0","objects":1,"bytes":1000000}"#,
            r#"{"event":"waiting","receivers":1,"expected":2,"missing":["b"]}"#,
            r#"{"event":"receiver","id":7,"name":"a","state":"ready","source":"10.0.0.7:6003","free":5000}"#,
        ],
    );
    let document = transfer.document(seconds(3));
    assert_eq!(document["phase"], "waiting");
    assert_eq!(document["alerts"]["missing:b"]["text"], "b is expected and has not answered");
    assert_eq!(document["receivers"]["7"]["cause"], "disk-short");
    for line in [
        r#"{"event":"sending","receivers":2}"#,
        r#"{"event":"progress","sent_bytes":0,"total_bytes":1000000,"rate_bps":800000,"repair_bytes":0,"wire_bytes":10,"complete":0,"receivers":2,"limiting":{"code":"overrun","receiver":"a","id":7,"text":"a is behind"},"lossiest":null,"lossiest_loss":null,"rate_reason":"overrun","rate_limited_by":"a"}"#,
        r#"{"event":"receivers","total_bytes":1000000,"receivers":[{"id":7,"name":"a","state":"receiving","bytes":10000,"rate_bps":8000,"loss":0.02,"rtt":0.001,"overruns":2},{"id":8,"name":"b","state":"receiving","bytes":200000,"rate_bps":8000,"loss":0.0}]}"#,
        r#"{"event":"reported","id":8,"name":"b","file":"x","reason":"disk-full"}"#,
    ] {
        transfer.on_line(seconds(4), serde_json::from_str(line).unwrap());
    }
    let document = transfer.document(seconds(5));
    assert_eq!(document["sending"]["limit_text"], "a is behind");
    assert_eq!(document["receivers"]["7"]["cause"], "slow-machine");
    assert_eq!(document["receivers"]["7"]["late"], true);
    assert_eq!(document["receivers"]["8"]["cause"], "disk-full");
    assert_eq!(document["receivers"]["8"]["late"], false);
    assert_eq!(document["alerts"]["disk-full:8"]["severity"], "critical");
    let end = r#"{"event":"result","ok":false,"exit":3,"receivers":2,"complete":1,"outcomes":[{"id":7,"name":"a","outcome":"complete","loss":0.0,"nacks":3,"seconds":7.1}],"missing":[],"bytes":1,"wire_bytes":1,"repair_bytes":0,"seconds":7.25,"goodput_bps":9,"limiting":null,"rate_reason":null,"rate_limited_by":null}"#;
    transfer.on_line(seconds(6), serde_json::from_str(end).unwrap());
    let document = transfer.document(seconds(20));
    assert_eq!((&document["phase"], &document["result"]["exit"]), (&json!("ended"), &json!(3)));
    assert_eq!(document["receivers"]["7"]["state"], "complete");
    assert_eq!(document["receivers"]["7"].get("cause"), None, "that is over");
    assert_eq!(document["receivers"]["8"]["cause"], "disk-full", "that is not");
}

#[test]
fn the_pace_is_what_has_been_sent_of_late() {
    let line =
        |bytes: u64| json!({"event": "progress", "sent_bytes": bytes, "total_bytes": 10_000_000});
    let mut transfer = Transfer::new(Kind::Send);
    (0..=10).for_each(|second| transfer.on_line(seconds(second), line(second * 125_000)));
    let document = transfer.document(seconds(10));
    assert_eq!((&document["pace_bps"], &document["left"]), (&json!(1_000_000), &json!(70)));
    assert_eq!(transfer.point(seconds(10))[2], 1e6);
}

#[test]
fn a_receiver_shows_what_it_has_found_about_itself() {
    let mut transfer = told(
        Kind::Receive,
        &[
            r#"{"event":"start","group":"239.255.42.1:6003","node_id":1,"interface":"eth0","dir":"inbox"}"#,
            r#"{"event":"progress","bytes":512,"total_bytes":1024,"loss":0.03}"#,
            r#"{"event":"warning","code":"receive.overrun","message":"x"}"#,
            r#"{"event":"failed","id":2,"sender":1,"name":"big.iso","reason":"disk-full"}"#,
        ],
    );
    let document = transfer.document(seconds(4));
    let alerts = document["alerts"].as_object().unwrap();
    let causes: Vec<&str> = alerts.keys().map(String::as_str).collect();
    assert_eq!(causes, ["disk-full:", "lossy-path:", "slow-machine:"]);
    assert_eq!(document["phase"], "receiving");
}
