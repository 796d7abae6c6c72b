//! `fanfare video` with real players: what goes in at one end comes out at the other.
//!
//! They need ffmpeg, which `cargo xtask packages` installs. Programs meet on the loopback interface, in
//! a group and at ports of this process.

#![allow(clippy::print_stderr, clippy::print_stdout)]

mod browser;
mod node;

use browser::Browser;
use node::{Node, fetch, have};
use std::{
    fs,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

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
    // More than was there at the beginning: the last of it is waited for.
    for (list, seconds, least) in [("index.m3u8", "2", 25), ("manifest.mpd", "9", 200)] {
        let played = Command::new("ffmpeg")
            .args(["-v", "error", "-i", &address(&second, list)])
            .args(["-map", "0:v:0", "-map", "0:a:0", "-t", seconds, "-f", "framemd5", "-"])
            .output()
            .unwrap();
        let frames = String::from_utf8_lossy(&played.stdout);
        let of = |stream: &str| frames.lines().filter(|line| line.starts_with(stream)).count();
        let (pictures, sounds) = (of("0,"), of("1,"));
        let said = String::from_utf8_lossy(&played.stderr);
        assert!(pictures >= least && sounds >= least, "{list}: {pictures}, {sounds}: {said}");
        assert!(!said.contains("non monotonically"), "{list}: {said}");
    }
    drop(sender);
}

/// So long it must play without a stall.
const PLAYED: Duration = Duration::from_secs(6);
/// Positions of the film, stalls, and what colours a picture has: of bars many, of a black one few.
const SEEN: &str = "(() => {
    const film = document.getElementById('film'), canvas = document.createElement('canvas');
    canvas.width = 64; canvas.height = 36;
    const area = canvas.getContext('2d');
    area.drawImage(film, 0, 0, 64, 36);
    const colours = new Set(), bytes = area.getImageData(0, 0, 64, 36).data;
    for (let n = 0; n < bytes.length; n += 4) colours.add(bytes[n] >> 5 << 6 | bytes[n + 1] >> 5 << 3 | bytes[n + 2] >> 5);
    return [film.currentTime, Number(document.body.dataset.stalls), colours.size, film.readyState];
})()";

#[test]
fn a_browser_plays_six_seconds_of_a_viewers_node_through_hls_js_without_a_stall() {
    have("ffmpeg");
    let sender = Node::send(4, &["test", "--name", "gate", "--renditions", "64k,200k"]);
    let viewer = Node::serve(4, &[]);
    viewer.wait_for_segment("", 2, PATIENCE);
    let Some(mut browser) = Browser::open(&format!("http://{}/", viewer.address())) else {
        eprintln!("skipped: Chromium is not installed (apt install chromium)");
        return;
    };
    let mut seen = || -> [f64; 4] {
        let value = browser.evaluate(SEEN);
        [0, 1, 2, 3].map(|place| value[place].as_f64().unwrap_or_default())
    };
    assert!(node::until(PATIENCE, || seen()[0] > 0.0), "{:?}", seen());
    // As fast as it was filmed. A machine that is busy at the beginning has more than one try.
    let (mut begun, mut first) = (Instant::now(), seen());
    let plays = node::until(PATIENCE, || {
        let now = seen();
        if now[1] != first[1] || begun.elapsed() > PLAYED.mul_f64(1.25) {
            (begun, first) = (Instant::now(), now);
        }
        now[0] >= first[0] + PLAYED.as_secs_f64()
    });
    let [_, stalls, colours, _] = seen();
    assert!(plays && colours >= 12.0, "{stalls} stalls, {colours} colours");
    let picture = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser.png");
    assert!(browser.screenshot(&picture) > 20_000, "{}", picture.display());
    drop(sender);
}

/// True if an ffmpeg of this sender runs: it writes into a folder with the sender's number.
fn encodes(sender: u32) -> bool {
    let folder = format!("/fanfare-video-{sender}/");
    let lines = fs::read_dir("/proc").unwrap().flatten();
    let lines = lines.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.into_iter().any(|line| String::from_utf8_lossy(&line).contains(&folder))
}

#[test]
fn a_killed_sender_takes_its_ffmpeg_with_it() {
    have("ffmpeg");
    let mut sender = Node::send(5, &["test", "--name", "gate", "--renditions", "64k"]);
    let viewer = Node::serve(5, &[]);
    viewer.wait_for_segment("64k", 1, PATIENCE);
    let number = sender.id();
    assert!(encodes(number));
    sender.kill();
    assert!(node::until(Duration::from_secs(10), || !encodes(number)));
    let folder = std::env::temp_dir().join(format!("fanfare-video-{number}"));
    fs::remove_dir_all(folder).unwrap();
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
        let mut command = Command::new(env!("CARGO_BIN_EXE_fanfare"));
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
        (
            &["test", "--renditions", "9M", "--rate", "10M"],
            2,
            "rendition (9M): is above what --rate",
        ),
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
