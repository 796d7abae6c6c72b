//! Chromium, told what to do by its DevTools protocol over two pipes: JSON, each message with a zero
//! byte at its end.

use std::{
    fs::{self, File, OpenOptions},
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use data_encoding::BASE64;
use serde_json::{Value, json};

/// Where Debian has it, and what others call it.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// As a test runs it: no window, no sandbox (which root cannot have), nothing from elsewhere.
const FLAGS: &str = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
    --disable-background-networking --disable-component-update --disable-sync \
    --autoplay-policy=no-user-gesture-required --window-size=1000,800 --remote-debugging-pipe";

/// A running browser with one page; it ends when it is dropped.
pub(crate) struct Browser {
    child: Child,
    folder: PathBuf,
    commands: File,
    answers: BufReader<File>,
    session: String,
    count: u64,
}

impl Browser {
    /// Opens a page; `None` where there is no Chromium.
    pub(crate) fn open(address: &str) -> Option<Self> {
        let has = |name: &&str| Command::new(name).arg("--version").output().is_ok();
        let program = NAMES.into_iter().find(has)?;
        let folder = std::env::temp_dir().join(format!("fanfare-browser-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let pipes = ["commands", "answers"].map(|name| folder.join(name));
        let made = Command::new("mkfifo").args(&pipes).status().unwrap();
        assert!(made.success());
        let child = Command::new("sh")
            .arg("-c")
            .arg(format!("exec {program} {FLAGS} --user-data-dir=\"$0/user\" 3<\"$1\" 4>\"$2\""))
            .arg(&folder)
            .args(&pipes)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let commands = OpenOptions::new().write(true).open(&pipes[0]).unwrap();
        let answers = BufReader::new(File::open(&pipes[1]).unwrap());
        let session = String::new();
        let mut browser = Self { child, folder, commands, answers, session, count: 0 };
        let page = browser.call("Target.createTarget", json!({ "url": address }));
        let page = json!({ "targetId": page["targetId"], "flatten": true });
        let attached = browser.call("Target.attachToTarget", page);
        browser.session = attached["sessionId"].as_str().unwrap().to_owned();
        Some(browser)
    }

    /// Tells it something, and gives its answer. What it says by itself is passed over.
    fn call(&mut self, method: &str, params: Value) -> Value {
        self.count += 1;
        let mut message = json!({ "id": self.count, "method": method, "params": params });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        let text = format!("{message}\0");
        self.commands.write_all(text.as_bytes()).unwrap();
        loop {
            let mut line = Vec::new();
            self.answers.read_until(0, &mut line).unwrap();
            assert_eq!(line.pop(), Some(0), "the browser has ended");
            let mut answer: Value = serde_json::from_slice(&line).unwrap();
            if answer["id"] == json!(self.count) {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].take();
            }
        }
    }

    /// What an expression in the page is.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let params = json!({ "expression": expression, "returnByValue": true });
        self.call("Runtime.evaluate", params)["result"]["value"].take()
    }

    /// A picture of the page, as PNG.
    pub(crate) fn screenshot(&mut self, to: &Path) -> usize {
        let shot = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        let bytes = BASE64.decode(shot["data"].as_str().unwrap().as_bytes()).unwrap();
        assert!(bytes.starts_with(b"\x89PNG"));
        fs::write(to, &bytes).unwrap();
        bytes.len()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Gone already is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
