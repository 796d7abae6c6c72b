//! A receiver that cannot follow: its socket's buffer really runs over.

use crate::support::{Stage, assert_same};

#[test]
fn a_receiver_whose_buffer_runs_over_slows_the_sender_and_is_not_taken_for_a_lossy_path() {
    let stage = Stage::new();
    let file = stage.file("out/data.bin", 8_000_000);
    // Some 30 ms at the rate; the other has seconds of buffer, and a path that loses.
    let mut behind = stage.recv("behind", &["--once", "--test-receive-buffer", "65536"]);
    let lossy = stage.recv("lossy", &["--once", "--test-drop", "0.02"]);
    let args =
        [file.to_str().unwrap(), "--expect", "behind,lossy", "--rate", "20M", "--cc", "fixed"];
    let mut sending = stage.start("send", &args);
    behind.wait_for_progress("bytes", 500_000);
    let stopped = behind.stopped();
    let sent = sending.wait_for("progress")["sent_bytes"].as_u64().unwrap();
    sending.wait_for_progress("sent_bytes", sent + 1_000_000);
    drop(stopped);
    let braked = loop {
        let progress = sending.wait_for("progress");
        if progress["rate_reason"] == "overrun" {
            break progress;
        }
    };
    assert_eq!(braked["rate_limited_by"], "behind");
    let limiting = &braked["limiting"];
    assert_eq!((&limiting["code"], &limiting["receiver"]), (&"overrun".into(), &"behind".into()));
    assert!(limiting["text"].as_str().unwrap().starts_with("behind is behind"), "{limiting}");
    // A cut leaves 0.7, of which a tenth of the rate comes back in a second.
    assert!(braked["rate_bps"].as_u64().unwrap() < 17_000_000, "{braked}");
    let sent = sending.end().expect(0);
    assert_eq!(sent.result()["complete"], 2);
    let (behind, lossy) = (behind.end().expect(0), lossy.end().expect(0));
    for name in ["behind", "lossy"] {
        assert_same(&file, &stage.path(name).join("data.bin"));
    }
    assert!(behind.result()["overruns"].as_u64().unwrap() > 0);
    let warnings = behind.all("warning");
    assert!(warnings.len() == 1 && warnings[0]["code"] == "receive.overrun", "{warnings:?}");
    // What a path loses is no overrun.
    assert!(lossy.result().get("overruns").is_none() && lossy.all("warning").is_empty());
    let loss = |name: &str| {
        let outcomes = sent.result()["outcomes"].as_array().unwrap().iter();
        outcomes.clone().find(|outcome| outcome["name"] == name).unwrap()["loss"].as_f64().unwrap()
    };
    assert!(loss("lossy") > 0.005, "{}", sent.result());
}
