//! The lines of a document.

use serde_json::Value;

use super::{
    table::{Table, cut},
    units::{millis, rate, share, size, time},
};

/// Widest bar.
const BAR_MAX: usize = 60;

/// What a terminal of so many columns shows. What others wrote has no control characters in it.
#[must_use]
pub fn lines(document: &Value, width: usize) -> Vec<String> {
    let mut lines = match document["kind"].as_str() {
        Some("send" | "recv") => transfer(document, width),
        Some("group") => group(document, width),
        Some(other) => vec![format!("documents of kind '{other}' are not known here")],
        None => vec!["nothing has been told yet".to_owned()],
    };
    lines.iter_mut().for_each(|line| *line = cut(&printable(line), width));
    lines
}

fn transfer(document: &Value, width: usize) -> Vec<String> {
    let sends = document["kind"] == "send";
    let text = |field: &str| document[field].as_str().unwrap_or_default();
    let (what, on) = (if sends { "sending to" } else { "receiving from" }, text("interface"));
    let on = if on.is_empty() { String::new() } else { format!(" on {on}") };
    let mut lines = vec![format!("Fanfare: {what} {}{on}: {}", text("group"), phase(document))];
    lines.push(how_far(document, width));
    if let Some(limit) = document["sending"]["limit_text"].as_str() {
        lines.push(format!("what limits the rate: {limit}"));
    }
    alerts(document, &mut lines);
    if sends {
        receivers(document, width, &mut lines);
    } else {
        let count = document["file_count"].as_u64().unwrap_or(0);
        lines.extend([String::new(), format!("{count} files are in their place")]);
        let files = document["files"].as_array().into_iter().flatten().rev();
        lines.extend(files.filter_map(|file| Some(format!("  {}", file["path"].as_str()?))));
    }
    lines
}

fn group(document: &Value, width: usize) -> Vec<String> {
    let text = |field: &str| document[field].as_str().unwrap_or_default();
    let on = text("interface");
    let on = if on.is_empty() { String::new() } else { format!(" on {on}") };
    let count = |field: &str| document[field].as_u64().unwrap_or(0);
    let bits = |value: &Value| rate(value.as_f64().unwrap_or(0.0));
    let monitor = &document["monitor"];
    let mut lines = vec![
        format!(
            "Fanfare: watching {}{on}: {} up, {} silent",
            text("group"),
            count("up"),
            count("silent")
        ),
        format!(
            "sent by all {}, notes of this node {}, one every {}",
            bits(&document["sent_bps"]),
            bits(&monitor["bps"]),
            time(monitor["interval"].as_f64().unwrap_or(0.0))
        ),
    ];
    alerts(document, &mut lines);
    let mut rows: Vec<&Value> =
        document["nodes"].as_object().into_iter().flatten().map(|(_, row)| row).collect();
    let label = |row: &Value| row["label"].as_str().unwrap_or_default().to_owned();
    rows.sort_by_cached_key(|row| (!row["cause"].is_string(), label(row).len(), label(row)));
    let head =
        ["node", "processors", "memory", "sends", "hears", "loses", "heard by", "as of", "state"];
    let mut table = Table::new(&head, &[0, 8]);
    for row in rows {
        let number = |field: &str, shown: fn(f64) -> String| {
            row[field].as_f64().map_or_else(|| "-".to_owned(), shown)
        };
        let cause = row["cause"].as_str().map_or_else(String::new, |cause| format!(", {cause}"));
        table.add(vec![
            label(row),
            number("processor", share),
            number("memory", share),
            number("sent_bps", rate),
            number("received_bps", rate),
            number("loss", share),
            row["heard_by"].to_string(),
            number("age", time),
            format!("{}{cause}", row["state"].as_str().unwrap_or_default()),
        ]);
    }
    lines.push(String::new());
    lines.extend(table.lines(width));
    lines
}

fn phase(document: &Value) -> String {
    let result = &document["result"];
    match (result["ok"].as_bool(), result["exit"].as_u64()) {
        (Some(true), _) => "complete".to_owned(),
        (_, Some(exit)) => format!("ended with exit code {exit}"),
        _ => document["phase"].as_str().unwrap_or_default().to_owned(),
    }
}

fn how_far(document: &Value, width: usize) -> String {
    let number = |field: &str| document[field].as_f64();
    let (done, total) = (number("done_bytes").unwrap_or(0.0), number("total_bytes").unwrap_or(0.0));
    let part = if total > 0.0 { (done / total).min(1.0) } else { 0.0 };
    let room = (width / 3).min(BAR_MAX);
    let filled = (part * room as f64) as usize;
    let mut parts = vec![
        format!("[{}{}]", "#".repeat(filled), "-".repeat(room - filled)),
        format!("{} of {}", size(done), size(total)),
    ];
    let sending = &document["sending"];
    match (sending["rate_bps"].as_f64(), number("pace_bps")) {
        (Some(bits), _) | (None, Some(bits)) => parts.push(rate(bits)),
        (None, None) => {}
    }
    parts.extend(number("loss").map(|loss| format!("loss {}", share(loss))));
    parts.extend(number("left").map(|left| format!("{} left", time(left))));
    if let Some(complete) = sending["complete"].as_u64() {
        let heard = sending["heard"].as_u64().max(document["expected"].as_u64()).unwrap_or(0);
        parts.push(format!("{complete} of {heard} have everything"));
    }
    parts.join("  ")
}

fn alerts(document: &Value, lines: &mut Vec<String>) {
    let mut each: Vec<&Value> =
        document["alerts"].as_object().into_iter().flatten().map(|(_, alert)| alert).collect();
    each.sort_by_key(|alert| alert["severity"] != "critical");
    if each.is_empty() {
        return;
    }
    lines.push(String::new());
    for alert in each {
        let mark = if alert["severity"] == "critical" { "!!" } else { " !" };
        let text = |field: &str| alert[field].as_str().unwrap_or_default();
        lines.push(format!("{mark} {}. {}", text("text"), text("advice")));
    }
}

fn receivers(document: &Value, width: usize, lines: &mut Vec<String>) {
    let mut rows: Vec<&Value> =
        document["receivers"].as_object().into_iter().flatten().map(|(_, row)| row).collect();
    let label = |row: &Value| row["label"].as_str().unwrap_or_default().to_owned();
    // Trouble first, and those last that are done.
    let rank = |row: &Value| {
        let trouble = usize::from(row["cause"].is_string()) * 2;
        let late = usize::from(row["late"] == true);
        (row["state"] == "complete", 3 - trouble - late)
    };
    rows.sort_by_cached_key(|row| (rank(row), label(row).len(), label(row)));
    let total = document["total_bytes"].as_f64().unwrap_or(0.0).max(1.0);
    let head = ["receiver", "has", "rate", "loss", "round trip", "overruns", "state"];
    let mut table = Table::new(&head, &[0, 6]);
    for row in rows {
        let number = |field: &str| row[field].as_f64();
        let dash = || "-".to_owned();
        let has = match (row["state"] == "complete", number("bytes")) {
            (true, _) => "100 %".to_owned(),
            (false, bytes) => {
                bytes.map_or_else(dash, |b| format!("{:.0} %", (b / total * 100.0).floor()))
            }
        };
        let late = if row["late"] == true { ", late" } else { "" };
        let cause = row["cause"].as_str().map_or_else(String::new, |cause| format!(", {cause}"));
        table.add(vec![
            label(row),
            has,
            number("rate_bps").map_or_else(dash, rate),
            number("loss").map_or_else(dash, share),
            number("rtt").map_or_else(dash, millis),
            row["overruns"].to_string(),
            format!("{}{cause}{late}", row["state"].as_str().unwrap_or_default()),
        ]);
    }
    lines.push(String::new());
    lines.extend(table.lines(width));
}

fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document() -> Value {
        json!({
            "kind": "send", "phase": "sending", "group": "239.255.42.1:6003", "interface": "eth0",
            "done_bytes": 5_242_880, "total_bytes": 10_485_760, "left": 65, "expected": 3,
            "sending": {"rate_bps": 16_000_000, "complete": 1, "heard": 3, "limit_text": "lab-7 is behind"},
            "alerts": {
                "a": {"severity": "warning", "text": "the path loses", "advice": "Check it"},
                "b": {"severity": "critical", "text": "the disk is full", "advice": "Free it"},
            },
            "receivers": {
                "1": {"label": "lab-10", "state": "complete", "bytes": 1, "loss": 0.0, "overruns": 0, "late": false},
                "2": {"label": "lab-9", "state": "receiving", "bytes": 5_242_880, "rate_bps": 8000, "loss": 0.0, "rtt": 0.001, "overruns": 0, "late": false},
                "3": {"label": "l\u{1b}[2J", "state": "receiving", "loss": 0.08, "overruns": 4, "late": true, "cause": "slow-machine"},
            },
        })
    }

    #[test]
    fn a_sending_at_eighty_columns_names_trouble_first() {
        let shown = lines(&document(), 80).join("\n");
        let expected = "\
Fanfare: sending to 239.255.42.1:6003 on eth0: sending
[#############-------------]  5.00 MiB of 10.0 MiB  16.0 Mbit/s  1 min 5 s left…
what limits the rate: lab-7 is behind

!! the disk is full. Free it
 ! the path loses. Check it

receiver    has         rate   loss  round trip  overruns  state
l\u{fffd}[2J         -            -  8.0 %           -         4  receiving, slow-mach…
lab-9      50 %  8.00 kbit/s  0.0 %      1.0 ms         0  receiving
lab-10    100 %            -  0.0 %           -         0  complete";
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_group_is_shown_with_trouble_first() {
        let document = json!({
            "kind": "group", "group": "239.255.42.2:6004", "up": 2, "silent": 0, "sent_bps": 2000,
            "monitor": {"bps": 80, "interval": 5.2},
            "alerts": {"a": {"severity": "warning", "text": "b is busy", "advice": "Stop it"}},
            "nodes": {
                "1": {"label": "a", "state": "this node", "age": 0.0, "heard_by": 1, "memory": 0.5},
                "2": {"label": "b", "state": "up", "age": 3.0, "heard_by": 1, "processor": 0.99, "cause": "busy"},
            },
        });
        let expected = "\
Fanfare: watching 239.255.42.2:6004: 2 up, 0 silent
sent by all 2.00 kbit/s, notes of this node 80 bit/s, one every 5 s

 ! b is busy. Stop it

node  processors  memory  sends  hears  loses  heard by  as of  state
b         99.0 %       -      -      -      -         1    3 s  up, busy
a              -  50.0 %      -      -      -         1    0 s  this node";
        assert_eq!(lines(&document, 80).join("\n"), expected);
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for width in [0, 1, 20, 79, 200] {
            let shown = lines(&document(), width);
            assert!(shown.iter().all(|line| line.chars().count() <= width.max(1)), "{width}");
        }
    }

    #[test]
    fn nothing_and_strange_things_are_shown_as_such() {
        assert_eq!(lines(&Value::Null, 80), ["nothing has been told yet"]);
        assert_eq!(lines(&json!({"kind": "x"}), 80), ["documents of kind 'x' are not known here"]);
        let received =
            lines(&json!({"kind": "recv", "file_count": 2, "files": [{"path": "in/a"}]}), 80);
        assert!(received.contains(&"  in/a".to_owned()), "{received:?}");
    }
}
