//! Play of a page's commands: a list of what is done where, in words.
//!
//! ```text
//! hosts s r1-r3 gpu=10.0.3.7 on eth0 radio0
//! disk r1-r3 /dev/sdX: 8M          a block device of this length
//! make s: head -c 9 /dev/zero >f   what the page takes for granted
//! run s: fanfare send f            ends with 0, or with what `run s gives 3` says
//! start r1-r3: fanfare recv in     in the background; `end` waits until all have ended with 0
//! with r1-r3: fanfare recv .       the same, of what the page does not say
//! stay r1: fanfare recv in         goes on until `stop`, or until the end of the play
//! until s: test -e in/f            tried again until it ends with 0
//! instead 7-otter: sed -n 's/^code: //p' said1    what the page has as an example is this one here,
//!                                  told by a shell that sees what each command has said, in order
//! end
//! stop
//! parse why it is not run: CMD     only its options are looked at
//! skip why it is not run: CMD      a program of somebody else
//! ```
//!
//! Everything behind `run`, `start`, `stay`, `parse` and `skip` is a command of the page, word by word.

use super::typed::one_line;

/// A line of a play.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PlayLine {
    Hosts { hosts: Vec<PlayHost>, interfaces: Vec<String> },
    Disk { hosts: Vec<String>, device: String, length: String },
    Make { hosts: Vec<String>, command: String },
    Run { hosts: Vec<String>, command: String, code: i32 },
    Start { hosts: Vec<String>, command: String },
    With { hosts: Vec<String>, command: String },
    Stay { hosts: Vec<String>, command: String },
    Until { hosts: Vec<String>, command: String },
    Instead { example: String, command: String },
    End,
    Stop,
    Parse { command: String },
    Skip { command: String },
}

/// A host of a play, and its address if that is not the next one of 10.0.3.0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlayHost {
    pub(super) name: String,
    pub(super) address: Option<String>,
}

impl PlayLine {
    /// The command of the page that is played here.
    pub(super) fn typed(&self) -> Option<&str> {
        match self {
            Self::Run { command, .. }
            | Self::Start { command, .. }
            | Self::Stay { command, .. }
            | Self::Parse { command }
            | Self::Skip { command } => Some(command),
            _ => None,
        }
    }

    /// True if its command is carried out.
    pub(super) fn is_run(&self) -> bool {
        !matches!(self, Self::Parse { .. } | Self::Skip { .. })
    }
}

/// Reads a play.
pub(super) fn read(text: &str) -> Result<Vec<PlayLine>, String> {
    let lines = text.lines().enumerate().filter(|(_, line)| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#')
    });
    lines
        .map(|(at, line)| {
            line_of(line.trim())
                .ok_or_else(|| format!("line {}: '{line}' is no line of a play", at + 1))
        })
        .collect()
}

fn line_of(line: &str) -> Option<PlayLine> {
    let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
    if verb == "hosts" {
        let (hosts, interfaces) = rest.split_once(" on ")?;
        let hosts = hosts.split(' ').flat_map(with_address).collect();
        let interfaces = interfaces.split(' ').map(str::to_owned).collect();
        return Some(PlayLine::Hosts { hosts, interfaces });
    }
    if verb == "end" || verb == "stop" {
        return Some(if verb == "end" { PlayLine::End } else { PlayLine::Stop });
    }
    let (about, command) = rest.split_once(": ")?;
    let command = one_line(command);
    if verb == "parse" || verb == "skip" {
        // A reason has more than one word.
        about.split_once(' ')?;
        let is_parsed = verb == "parse";
        return Some(if is_parsed {
            PlayLine::Parse { command }
        } else {
            PlayLine::Skip { command }
        });
    }
    if verb == "instead" {
        return Some(PlayLine::Instead { example: about.to_owned(), command });
    }
    if verb == "disk" {
        let (hosts, device) = about.split_once(' ')?;
        return Some(PlayLine::Disk {
            hosts: names(hosts),
            device: device.to_owned(),
            length: command,
        });
    }
    let (about, code) = match about.split_once(" gives ") {
        Some((hosts, code)) if verb == "run" => (hosts, code.parse().ok()?),
        _ => (about, 0),
    };
    let hosts = about.split(' ').flat_map(names).collect();
    Some(match verb {
        "make" => PlayLine::Make { hosts, command },
        "run" => PlayLine::Run { hosts, command, code },
        "start" => PlayLine::Start { hosts, command },
        "with" => PlayLine::With { hosts, command },
        "stay" => PlayLine::Stay { hosts, command },
        "until" => PlayLine::Until { hosts, command },
        _ => return None,
    })
}

fn with_address(word: &str) -> Vec<PlayHost> {
    match word.split_once('=') {
        Some((name, address)) => {
            vec![PlayHost { name: name.to_owned(), address: Some(address.to_owned()) }]
        }
        None => names(word).into_iter().map(|name| PlayHost { name, address: None }).collect(),
    }
}

/// `r1-r3` stands for three hosts.
fn names(word: &str) -> Vec<String> {
    let Some((first, last)) = word.split_once('-') else { return vec![word.to_owned()] };
    let stem = first.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let number = |name: &str| name.strip_prefix(stem).and_then(|digits| digits.parse::<u16>().ok());
    match (number(first), number(last)) {
        (Some(from), Some(to)) => (from..=to).map(|n| format!("{stem}{n}")).collect(),
        _ => vec![word.to_owned()],
    }
}

#[test]
fn a_play_is_read_and_a_command_without_a_reason_to_leave_it_out_is_none() {
    let text = "hosts s r1-r2 gpu=10.0.3.7 on eth0\n\n# so\nrun s gives 3: fanfare  send a\nend\n\
                parse needs a server: fanfare x\n";
    let play = read(text).unwrap();
    let host = |name: &str, address: Option<&str>| PlayHost {
        name: name.into(),
        address: address.map(str::to_owned),
    };
    let hosts =
        vec![host("s", None), host("r1", None), host("r2", None), host("gpu", Some("10.0.3.7"))];
    assert_eq!(play[0], PlayLine::Hosts { hosts, interfaces: vec!["eth0".into()] });
    let command = "fanfare send a".to_owned();
    assert_eq!(play[1], PlayLine::Run { hosts: vec!["s".into()], command, code: 3 });
    assert_eq!(play[2], PlayLine::End);
    assert_eq!(play[3].typed(), Some("fanfare x"));
    assert!(read("skip: ls\n").is_err() && read("skip it: ls\n").is_err());
    assert_eq!(names("host-7"), ["host-7"]);
}
