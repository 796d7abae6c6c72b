//! A file over layers on loopback: who listens has it, and nobody is asked for anything.

use crate::support::{Stage, assert_same, entries};

/// Layers and time enough for a small file on a machine that is busy; nobody waits for the end.
const LAYERS: [&str; 6] = ["--layers", "2M,2M,4M,8M", "--cc", "era", "--for", "60s"];

#[test]
fn every_receiver_has_the_file_verified_and_leaves() {
    let stage = Stage::new();
    let file = stage.file("out/data.bin", 1_000_001);
    let receivers = [("a", &["--once"][..]), ("b", &["--once", "--silent"])]
        .map(|(name, options)| (stage.recv(name, options), name));
    let mut args = vec![file.clone().into_os_string()];
    args.extend(LAYERS.map(Into::into));
    let sender = stage.start("send", &args);
    for (receiver, name) in receivers {
        let received = receiver.end().expect(0);
        let files = received.all("file");
        assert_eq!((files.len(), &files[0]["verified"]), (1, &true.into()), "{name}");
        assert_same(&file, &stage.path(name).join("data.bin"));
        assert_eq!(entries(&stage.path(name)), ["data.bin"]);
        let levels = received.all("layers");
        assert_eq!(levels.last().map(|line| &line["level"]), Some(&0.into()), "{name}");
        assert!(levels.len() > 1, "{name}: {levels:?}");
    }
    // A second time it is here already.
    let again = stage.recv("a", &["--once"]).end().expect(0);
    assert_eq!(again.all("file")[0]["already"], true);
    sender.interrupt();
    let sent = sender.end().expect(130);
    assert!(sent.result()["wire_bytes"].as_u64().unwrap() > 1_000_001);
}

#[test]
fn what_cannot_go_over_layers_is_told_with_a_way_out() {
    let stage = Stage::new();
    let (file, empty) = (stage.file("a", 10), stage.file("empty", 0));
    let text = |args: &[&std::ffi::OsStr]| stage.send(args).expect(2).error();
    let layers = ["--layers".as_ref(), "auto".as_ref()];
    let many = [&[file.as_os_str(), empty.as_os_str()], &layers[..]].concat();
    assert!(
        text(&many).starts_with("error: layers (many files): one file at a time"),
        "{}",
        text(&many)
    );
    let nothing = [&[empty.as_os_str()], &layers[..]].concat();
    assert!(text(&nothing).starts_with("error: file (empty): it is empty"), "{}", text(&nothing));
}
