//! `udp-sender` and `udp-receiver` of udpcast.

use std::{ffi::OsString, time::Duration};

use fanfare_command::Failure;

use super::line::{self, Options, Shim, Word, all, number, quoted, refused, unknown};

const GROUP: &str = "239.255.42.1";
/// Theirs.
const PORT: u64 = 9000;

/// What both have.
#[derive(Default)]
struct Both {
    file: Option<String>,
    pipe: Option<String>,
    group: Option<String>,
    port: Option<u64>,
    more: Vec<String>,
}

impl Both {
    /// Whether it is one of these.
    fn take(&mut self, option: &str, options: &mut Options<'_>) -> Result<bool, Failure> {
        match option {
            "-f" | "--file" => self.file = Some(options.value(option)?),
            "-p" | "--pipe" => self.pipe = Some(options.value(option)?),
            "-P" | "--portbase" => self.port = Some(number(option, &options.value(option)?)?),
            "--mcast-rdv-address" => self.group = Some(options.value(option)?),
            "-i" | "--interface" => {
                self.more.extend(["--interface".to_owned(), options.value(option)?]);
            }
            "-t" | "--ttl" => self.more.extend(["--ttl".to_owned(), options.value(option)?]),
            // What asks for nothing that would be otherwise here.
            "--nokbd" | "--full-duplex" | "--half-duplex" | "-c" | "--pointopoint"
            | "--nopointopoint" => {}
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn group(&self) -> [String; 2] {
        line::group(self.group.as_deref().unwrap_or(GROUP), self.port.unwrap_or(PORT))
    }
}

/// `udp-sender`: a stream.
pub(super) fn sender(words: &[OsString]) -> Result<Shim, Failure> {
    const NAME: &str = "udp-sender";
    let (mut both, mut options, mut pause) = (Both::default(), Options::new(words), Duration::ZERO);
    let mut expect = Vec::new();
    while let Some(word) = options.next() {
        let Word::Option(option) = word else { return Err(unknown(NAME, "a plain word")) };
        match option.as_str() {
            // Data goes to the group in which receivers wait.
            "-m" | "--mcast-data-address" | "--mcast-addr" => drop(options.value(&option)?),
            "--min-receivers" | "--min-clients" => {
                let count = number(&option, &options.value(&option)?)?;
                expect.extend(["--expect".to_owned(), count.max(1).to_string()]);
            }
            "--max-wait" => {
                let seconds = number(&option, &options.value(&option)?)?;
                expect.extend(["--wait".to_owned(), format!("{seconds}s")]);
            }
            "--min-wait" => {
                pause = Duration::from_secs(number(&option, &options.value(&option)?)?);
            }
            "-b" | "--blocksize" => {
                return Err(refused(NAME, &option, "Use fanfare send --segment"));
            }
            "--max-bitrate" => {
                let rate = options.value(&option)?;
                both.more.extend(["--rate".to_owned(), bitrate(&option, &rate)?]);
            }
            "--autostart" | "--async" => {
                return Err(refused(NAME, &option, "Use fanfare send --one-way"));
            }
            "--broadcast" => return Err(refused(NAME, &option, "Use fanfare send --to HOSTS")),
            "--fec" => return Err(refused(NAME, &option, "Use fanfare send --fec and --parity")),
            "--log" | "--bw-period" => {
                return Err(refused(NAME, &option, "Use fanfare send --json"));
            }
            _ if both.take(&option, &mut options)? => {}
            _ => return Err(unknown(NAME, &option)),
        }
    }
    let around = both.pipe.as_ref().map(|pipe| {
        let from = both.file.as_ref().map(|file| format!(" < {}", quoted(file)));
        format!("{{ {pipe}\n}}{} | exec \"$0\" \"$@\"", from.unwrap_or_default())
    });
    let piped = around.is_some();
    let file = both.file.clone().filter(|_| !piped).unwrap_or_else(|| "-".to_owned());
    let head = ["send".to_owned(), file, "--as-stream".to_owned()];
    let words = all(head.into_iter().chain(both.group()).chain(expect).chain(both.more));
    Ok(Shim { words, around, pause })
}

/// `udp-receiver`: the same stream, into a file or to standard output.
pub(super) fn receiver(words: &[OsString]) -> Result<Shim, Failure> {
    const NAME: &str = "udp-receiver";
    let (mut both, mut options) = (Both::default(), Options::new(words));
    while let Some(word) = options.next() {
        let Word::Option(option) = word else { return Err(unknown(NAME, "a plain word")) };
        match option.as_str() {
            // Everything is synced once, at the end.
            "--nosync" | "--sync" => {}
            "--start-timeout" => {
                let seconds = number(&option, &options.value(&option)?)?;
                both.more.extend(["--timeout".to_owned(), format!("{seconds}s")]);
            }
            "--receive-timeout" => {
                return Err(refused(NAME, &option, "Use fanfare recv --timeout"));
            }
            "--log" | "--bw-period" => {
                return Err(refused(NAME, &option, "Use fanfare recv --json"));
            }
            _ if both.take(&option, &mut options)? => {}
            _ => return Err(unknown(NAME, &option)),
        }
    }
    let (file, group) = (both.file.clone(), both.group());
    let around = both.pipe.as_ref().map(|pipe| {
        let to = file.as_ref().map(|file| format!(" > {}", quoted(file)));
        format!("\"$0\" \"$@\" | {{ {pipe}\n}}{}", to.unwrap_or_default())
    });
    let head = match file.filter(|_| around.is_none()) {
        Some(file) => vec!["recv".to_owned(), "--to".to_owned(), file],
        None => vec!["recv".to_owned(), "--stdout".to_owned()],
    };
    let words = all(head.into_iter().chain(group).chain(both.more));
    Ok(Shim { words, around, pause: Duration::ZERO })
}

/// `90m` is 90 Mbit/s there.
fn bitrate(option: &str, text: &str) -> Result<String, Failure> {
    let (digits, unit) = match text.char_indices().find(|(_, c)| !c.is_ascii_digit()) {
        Some((at, _)) => text.split_at(at),
        None => (text, ""),
    };
    let unit = match unit.to_lowercase().as_str() {
        "" => "",
        "k" => "k",
        "m" => "M",
        "g" => "G",
        _ => "?",
    };
    if digits.is_empty() || unit == "?" {
        let text = format!("{option} ({text}): not a rate. Give one such as 90m");
        return Err(Failure::usage("shim.invalid", text));
    }
    Ok(format!("{digits}{unit}"))
}
