//! A real Prometheus reads a page, and its alert rules and the dashboard's questions are tried on what it has
//! read. Needs Debian's package `prometheus`; elsewhere it says that it was not run.

#![allow(clippy::print_stderr, clippy::print_stdout)]

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use fanfare_monitor::{Access, Board, Server};
use serde_json::{Value, json};

/// A busy machine takes its time.
const PATIENCE: Duration = Duration::from_secs(60);

fn packaging(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../packaging").join(file)
}

fn is_installed(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
    let is = found.is_ok_and(|found| found.status.success());
    if !is {
        eprintln!("not run: {program} is not installed");
    }
    is
}

/// Everything that can be wrong at one time.
fn troubled() -> Value {
    let path = json!({
        "from": "10.0.0.1", "to": "10.0.0.2", "rtt": 0.2, "rtt_base": 0.02,
        "classes": {"norm": 1000}, "lost_after": 3,
    });
    json!({
        "version": "1", "kind": "group", "phase": "running",
        "total_bytes": 10, "done_bytes": 5, "pace_bps": 1000,
        "sending": {"rate_bps": 1000, "limit": "loss", "heard": 1, "complete": 0},
        "receivers": {"9": {"label": "lab-9", "loss": 0.5, "bytes": 5}},
        "alerts": {"silent:7": {"cause": "silent"}}, "alerts_raised": {"silent": 1},
        "nodes": {
            "7": {"label": "gone", "state": "silent", "age": 60, "processor": 0.5},
            "8": {"label": "weak", "state": "up", "loss": 0.6, "battery": 0.1, "age": 1},
        },
        "up": 1, "silent": 1, "sent_bps": 5,
        "monitor": {"bytes_sent": 5, "allowed_bps": 4000},
        "sensors": {
            "north": {"silent": true, "packets": {"seen": 9, "bytes": 900, "dropped": 2, "paths": [path]}},
        },
        "links": {"north/eth0": {"used": 0.99, "capacity_bps": 100}},
        "advice": {"north/eth0": {"ceiling_bps": 85}}, "adapt": "advise", "advice_given": 1,
    })
}

struct Prometheus {
    child: Child,
    folder: PathBuf,
    port: u16,
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Prometheus {
    fn start(page: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("fanfare-prometheus-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        // The same rules, without the time that they wait.
        let rules = fs::read_to_string(packaging("prometheus/fanfare.rules.yml")).unwrap();
        let prompt: Vec<&str> =
            rules.lines().filter(|line| !line.trim_start().starts_with("for:")).collect();
        fs::write(folder.join("fanfare.rules.yml"), prompt.join("\n")).unwrap();
        let config = fs::read_to_string(packaging("prometheus/prometheus.yml")).unwrap();
        let config = config.replace("127.0.0.1:7979", page).replace(": 5s", ": 500ms");
        assert!(config.contains(page));
        fs::write(folder.join("prometheus.yml"), config).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new("prometheus");
        command.arg(format!("--config.file={}", folder.join("prometheus.yml").display()));
        command.arg(format!("--storage.tsdb.path={}", folder.join("data").display()));
        command.arg(format!("--web.listen-address=127.0.0.1:{port}"));
        let log = fs::File::create(folder.join("log")).unwrap();
        let child = command.stdout(Stdio::null()).stderr(log).spawn().unwrap();
        Self { child, folder, port }
    }

    fn ask(&self, path: &str) -> Option<Value> {
        let mut connection = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        connection.set_read_timeout(Some(PATIENCE)).ok()?;
        write!(connection, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").ok()?;
        let mut answer = String::new();
        connection.read_to_string(&mut answer).ok()?;
        serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()
    }

    /// Asks until what comes suits, or `PATIENCE` is over; what came last.
    fn until<T>(&self, path: &str, suits: impl Fn(&Value) -> Option<T>) -> Result<T, String> {
        let begun = Instant::now();
        let mut last = None;
        while begun.elapsed() < PATIENCE {
            last = self.ask(path);
            if let Some(found) = last.as_ref().and_then(&suits) {
                return Ok(found);
            }
            thread::sleep(Duration::from_millis(200));
        }
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        let end: Vec<&str> = log.lines().rev().take(5).collect();
        Err(format!("{last:?}\n{}", end.join("\n")))
    }
}

fn query(text: &str) -> String {
    let escaped: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
    format!("/api/v1/query?query={escaped}")
}

#[test]
fn a_real_prometheus_fires_the_alerts_and_answers_what_the_dashboard_asks() {
    if !is_installed("prometheus") || !is_installed("promtool") {
        return;
    }
    let rules = packaging("prometheus/fanfare.rules.yml");
    let checked = Command::new("promtool").args(["check", "rules"]).arg(&rules).output().unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    let board = Arc::new(Board::new(troubled()));
    let any = "127.0.0.1:0".parse().unwrap();
    let server = Server::start(any, Access::local(), Arc::clone(&board)).unwrap();
    let prometheus = Prometheus::start(&server.address().to_string());
    let expected = [
        "FanfareTrouble",
        "FanfareLossyReceiver",
        "FanfareNodeDown",
        "FanfareNodeLossy",
        "FanfareBatteryLow",
        "FanfareLinkFull",
        "FanfareRoundTripGrown",
        "FanfareSensorSilent",
    ];
    let firing = |answer: &Value| {
        let alerts = answer["data"]["alerts"].as_array()?;
        let names = alerts.iter().filter(|alert| alert["state"] == "firing");
        let names: Vec<&str> =
            names.filter_map(|alert| alert["labels"]["alertname"].as_str()).collect();
        expected.iter().all(|name| names.contains(name)).then_some(names.len())
    };
    let found = prometheus.until("/api/v1/alerts", firing);
    assert!(found.is_ok(), "{}", found.unwrap_err());
    // Two that need a counter to grow.
    let mut worse = troubled();
    worse["sensors"]["north"]["packets"]["dropped"] = json!(500);
    board.publish(worse);
    let grown = |answer: &Value| {
        let alerts = answer["data"]["alerts"].as_array()?;
        let is = |alert: &&Value| alert["labels"]["alertname"] == "FanfareSensorMisses";
        alerts.iter().find(is).map(|_| ())
    };
    let found = prometheus.until("/api/v1/alerts", grown);
    assert!(found.is_ok(), "{}", found.unwrap_err());
    let dashboard: Value =
        serde_json::from_slice(&fs::read(packaging("grafana/fanfare.json")).unwrap()).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    assert!(panels.len() >= 12);
    for target in panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap()) {
        let text = target["expr"].as_str().unwrap();
        let has_values = |answer: &Value| {
            let values = answer["data"]["result"].as_array()?;
            (answer["status"] == "success" && !values.is_empty()).then_some(())
        };
        let found = prometheus.until(&query(text), has_values);
        assert!(found.is_ok(), "{text}: {}", found.unwrap_err());
    }
    // What is well again stops firing, and a page that has gone is told by its absence.
    board.publish(json!({"version": "1", "kind": "group", "alerts": {}}));
    let quiet = |answer: &Value| {
        let alerts = answer["data"]["alerts"].as_array()?;
        let names: Vec<&str> =
            alerts.iter().filter_map(|alert| alert["labels"]["alertname"].as_str()).collect();
        (!names.contains(&"FanfareNodeDown")).then_some(())
    };
    let found = prometheus.until("/api/v1/alerts", quiet);
    assert!(found.is_ok(), "{}", found.unwrap_err());
}
