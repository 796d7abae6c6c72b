//! `fanfare video` with real players: what goes in at one end comes out at the other.
//!
//! They need ffmpeg, which `cargo xtask packages` installs. Programs meet on the loopback interface, in
//! a group and at ports of this process.

mod node;

use node::{Node, fetch, have};
use std::{fs, process::Command, time::Duration};

/// What a viewer waits at most: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn two_viewers_have_the_same_bytes_and_ffmpeg_plays_them_as_hls_and_as_dash() {
    have("ffmpeg");
    let sender = Node::send(1, &["test", "--name", "gate", "--renditions", "64k,200k"]);
    let [first, second] = [Node::serve(1, &[]), Node::serve(1, &["--rendition", "64k"])];
    let number = second.wait_for_segment("64k", 4, PATIENCE);
    first.wait_for_segment("", 4, PATIENCE);
    // The first viewer began with the lowest, too: at least one segment is the same.
    let address = |node: &Node, path: &str| format!("http://{}/gate/{path}", node.address());
    let mut same = 0;
    for n in number.saturating_sub(8)..=number {
        let path = format!("64k/{n}.m4s");
        let both = [&first, &second].map(|node| fetch(&address(node, &path)));
        if let [Some(one), Some(other)] = both {
            assert!(one == other && one.len() > 1000, "{n}");
            same += 1;
        }
    }
    assert!(same >= 1);
    for list in ["index.m3u8", "manifest.mpd"] {
        let played = Command::new("ffmpeg")
            .args(["-v", "error", "-xerror", "-i", &address(&second, list)])
            .args(["-map", "0:v:0", "-t", "2", "-f", "framemd5", "-"])
            .output()
            .unwrap();
        let frames = String::from_utf8_lossy(&played.stdout);
        let pictures = frames.lines().filter(|line| line.starts_with("0,")).count();
        let said = String::from_utf8_lossy(&played.stderr);
        assert!(pictures >= 25, "{list}: {pictures} pictures: {said}");
    }
    drop(sender);
}

#[test]
fn who_comes_when_the_source_has_gone_gets_the_beginning_from_a_neighbour() {
    have("ffmpeg");
    let sender = Node::send(2, &["test", "--name", "gate", "--renditions", "64k"]);
    let neighbour = Node::serve(2, &[]);
    neighbour.wait_for_segment("64k", 5, PATIENCE);
    drop(sender);
    let late = Node::serve(2, &[]);
    late.wait_for("\"event\":\"stream\"", PATIENCE);
    let list = format!("http://{}/gate/all.m3u8", late.address());
    let wanted = fetch(&format!("http://{}/gate/all.m3u8", neighbour.address())).unwrap();
    let wanted = String::from_utf8(wanted).unwrap().matches(".m4s").count();
    let has_all = || {
        let got = fetch(&list).and_then(|list| String::from_utf8(list).ok()).unwrap_or_default();
        got.matches(".m4s").count() >= wanted.min(4)
    };
    assert!(node::until(PATIENCE, has_all), "{:?}", fetch(&list));
}

#[test]
fn a_source_that_ends_is_told_to_players_and_the_sender_ends_well() {
    have("ffmpeg");
    let film = std::env::temp_dir().join(format!("fanfare-film-{}.mp4", std::process::id()));
    let made = Command::new("ffmpeg")
        .args([
            "-v",
            "error",
            "-y",
            "-f",
            "lavfi",
            "-i",
            "testsrc2=size=160x120:rate=25",
            "-t",
            "4",
        ])
        .args(["-c:v", "libx264", "-pix_fmt", "yuv420p"])
        .arg(&film)
        .status()
        .unwrap();
    assert!(made.success());
    let viewer = Node::serve(3, &[]);
    let film_name = film.to_str().unwrap();
    // It has no sound.
    let mut sender =
        Node::send(3, &[film_name, "--name", "film", "--renditions", "64k", "--stay", "3s"]);
    assert_eq!(sender.ends(PATIENCE), Some(0));
    let list = format!("http://{}/film/all.m3u8", viewer.address());
    let ended = || {
        let text = fetch(&list).and_then(|list| String::from_utf8(list).ok()).unwrap_or_default();
        text.contains("#EXT-X-ENDLIST") && text.matches(".m4s").count() >= 3
    };
    assert!(node::until(PATIENCE, ended), "{:?}", fetch(&list).map(String::from_utf8));
    fs::remove_file(film).unwrap();
}

#[test]
fn bad_input_is_one_line_and_an_exit_code() {
    let refused = |args: &[&str], path: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fanfare-video"));
        command.args(["video", "send"]).args(args).args(["--interface", "lo"]);
        if let Some(path) = path {
            command.env("PATH", path);
        }
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        assert_eq!(said.lines().count(), 1, "{said}");
        (output.status.code(), said)
    };
    for (args, exit, said) in [
        (&["test", "--renditions", "fast"][..], 2, "rendition (fast): not a rate"),
        (&["test", "--renditions", "9M"], 2, "rendition (9M): is above what --rate"),
        (&["test", "--name", "a/b"], 2, "name (a/b): letters"),
        (&["test", "--segment", "1ms"], 2, "segment (1ms): not from"),
        (&["/nowhere/film.mp4"], 1, "source (/nowhere/film.mp4): cannot be read"),
    ] {
        let (code, text) = refused(args, None);
        assert!(code == Some(exit) && text.contains(said), "{args:?}: {code:?} {text}");
    }
    let (code, text) = refused(&["test"], Some("/nowhere"));
    assert!(code == Some(5) && text.contains("program (ffmpeg): cannot be started"), "{text}");
}

#[test]
fn chromium_plays_it_through_hls_js() {
    have("ffmpeg");
    if Command::new("chromium").arg("--version").output().is_err() {
        eprintln!("chromium is not installed: this is not tested");
        return;
    }
    let _sender = Node::send(4, &["test", "--name", "gate", "--renditions", "64k,400k"]);
    let viewer = Node::serve(4, &[]);
    viewer.wait_for_segment("", 3, PATIENCE);
    let shot = std::env::temp_dir().join(format!("fanfare-page-{}.png", std::process::id()));
    let flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--timeout=15000"];
    let run = |what: &str| {
        let output = Command::new("chromium")
            .args(flags)
            .args(["--autoplay-policy=no-user-gesture-required", what])
            .arg(format!("http://{}/", viewer.address()))
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let dom = run("--dump-dom");
    assert!(dom.contains("Playing gate."), "{dom}");
    assert!(dom.contains("data-stalls=\"0\""), "{dom}");
    run(&format!("--screenshot={}", shot.display()));
    assert!(fs::metadata(&shot).unwrap().len() > 10_000);
}
