//! A page of a hundred files in a browser, from its start until it has drawn all of them.

use std::{fs, process::Stdio, time::Instant};

use serde::Serialize;

use super::way::{Ends, PAGES, SOCKS, Way};
use crate::{error::LabError, process::Process};

const SERVER: &str = include_str!("../../../peers/page_server.py");
const BROWSER: &str = "chromium";

/// One load of the page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Loaded {
    /// Seconds, with the browser's own start and end.
    pub seconds: f64,
    /// What was drawn, as a PNG.
    #[serde(skip)]
    pub picture: Vec<u8>,
}

/// Serves the page on the far host.
pub(super) fn serve(ends: &Ends<'_>) -> Result<Process, LabError> {
    let mut server = ends.far.command("python3");
    let control = ends.way.kernel().unwrap_or("cubic");
    server.args(["-c", SERVER, &PAGES.to_string(), control]);
    Process::start(server, Stdio::null(), Stdio::null())
        .map_err(|error| LabError::system("python3", &error))
}

/// Loads it with a new profile.
pub(super) fn load(ends: &Ends<'_>) -> Result<Loaded, String> {
    let told = |error: std::io::Error| format!("{BROWSER}: {error}");
    let (home, picture) = (ends.own.join("browser"), ends.own.join("page.png"));
    let mut browser = ends.near.command(BROWSER);
    browser.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]);
    browser.args(["--no-first-run", "--disable-background-networking", "--window-size=600,400"]);
    browser.arg(format!("--user-data-dir={}", home.display()));
    browser.arg(format!("--screenshot={}", picture.display()));
    if !matches!(ends.way, Way::Tcp(_)) {
        browser.arg(format!("--proxy-server=socks5://{SOCKS}"));
    }
    browser.arg(format!("http://{}:{PAGES}/", ends.far.address())).env("HOME", &home);
    browser.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let begun = Instant::now();
    let status = browser.status().map_err(told)?;
    let (seconds, picture) = (begun.elapsed().as_secs_f64(), fs::read(picture).map_err(told)?);
    let loaded = Loaded { seconds, picture };
    status.success().then_some(loaded).ok_or_else(|| format!("{BROWSER}: {status}"))
}

/// What it needs.
pub(super) const NEEDS: [&str; 2] = ["/usr/bin/chromium", "/usr/bin/python3"];
