//! `udp-sender` and `udp-receiver` of udpcast.

use std::{ffi::OsString, net::IpAddr};

use crate::Failure;

use super::{
    chain::TransferSide,
    line::{self, ChainOf, Options, Shim, Word, all, number, quoted, refused, unknown},
};

const GROUP: &str = "239.255.42.1";
/// Theirs.
const PORT: u64 = 9000;
/// Time that a receiver may be silent that was there at the start, unless --retries-until-drop says
/// otherwise: what `fanfare send --expect` has.
const SILENCE: u64 = 30;
/// udpcast asks a silent receiver about once a second, and so drops it after about as many seconds as
/// retries (20120424: 50 retries 41 s, 200 retries 195 s). A few retries would drop one whose disk is
/// busy.
const SILENCE_MIN: u64 = 5;
const SILENCE_MAX: u64 = 600;

/// Long options of both, as udpcast 20120424 has them, and the name by which they are known here.
const BOTH: [(&str, &str); 16] = [
    ("file", "--file"),
    ("pipe", "--pipe"),
    ("port", "--portbase"),
    ("portbase", "--portbase"),
    ("interface", "--interface"),
    ("ttl", "--ttl"),
    // The old name.
    ("mcast-all-address", "--mcast-rdv-address"),
    ("mcast-rdv-address", "--mcast-rdv-address"),
    ("log", "--log"),
    ("no-progress", "--no-progress"),
    ("license", "--license"),
    ("nokbd", "--nokbd"),
    ("stat-period", "--stat-period"),
    ("statistics-period", "--stat-period"),
    ("print-uncompressed-position", "--print-uncompressed-position"),
    ("start-timeout", "--start-timeout"),
];
const SENDER: [(&str, &str); 38] = [
    ("half-duplex", "--half-duplex"),
    ("full-duplex", "--full-duplex"),
    ("blocksize", "--blocksize"),
    ("mcast-address", "--mcast-data-address"),
    ("mcast-data-address", "--mcast-data-address"),
    ("max-bitrate", "--max-bitrate"),
    ("pointopoint", "--pointopoint"),
    ("point-to-point", "--pointopoint"),
    ("nopointopoint", "--nopointopoint"),
    ("nopoint-to-point", "--nopointopoint"),
    ("async", "--async"),
    ("autorate", "--autorate"),
    ("autostart", "--autostart"),
    ("min-slice-size", "--slice-size"),
    ("max-slice-size", "--slice-size"),
    ("default-slice-size", "--slice-size"),
    ("slice-size", "--slice-size"),
    ("fec", "--fec"),
    ("print-seed", "--print-seed"),
    ("rexmit-hello-interval", "--rexmit-hello-interval"),
    ("rehello-offset", "--rehello-offset"),
    ("broadcast", "--broadcast"),
    ("sendbuf", "--sendbuf"),
    ("min-clients", "--min-receivers"),
    ("min-receivers", "--min-receivers"),
    ("max-wait", "--max-wait"),
    ("min-wait", "--min-wait"),
    ("retries-until-drop", "--retries-until-drop"),
    ("daemon-mode", "--daemon-mode"),
    ("pid-file", "--pid-file"),
    ("kill", "--kill"),
    ("bw-period", "--bw-period"),
    ("rate-governor", "--rate-governor"),
    ("streaming", "--streaming"),
    // Those of this link.
    ("mcast-addr", "--mcast-data-address"),
    ("mcast-data-addr", "--mcast-data-address"),
    ("mcast-all-addr", "--mcast-rdv-address"),
    ("mcast-rdv-addr", "--mcast-rdv-address"),
];
const RECEIVER: [(&str, &str); 9] = [
    ("sync", "--sync"),
    ("nosync", "--nosync"),
    ("rcvbuf", "--rcvbuf"),
    ("exit-wait", "--exit-wait"),
    ("receive-timeout", "--receive-timeout"),
    ("passive", "--passive"),
    ("ignore-lost-data", "--ignore-lost-data"),
    ("streaming", "--streaming"),
    ("bw-period", "--bw-period"),
];

/// Letters, as getopt has them there, and the same names.
const BOTH_LETTERS: [(char, &str); 11] = [
    ('f', "--file"),
    ('p', "--pipe"),
    ('P', "--portbase"),
    ('i', "--interface"),
    ('t', "--ttl"),
    ('M', "--mcast-rdv-address"),
    ('l', "--log"),
    ('k', "--nokbd"),
    ('L', "--license"),
    ('x', "--print-uncompressed-position"),
    ('z', "--stat-period"),
];
const SENDER_LETTERS: [(char, &str); 21] = [
    ('b', "--blocksize"),
    ('c', "--full-duplex"),
    ('m', "--mcast-data-address"),
    ('r', "--max-bitrate"),
    ('1', "--nopointopoint"),
    ('2', "--pointopoint"),
    ('a', "--async"),
    ('A', "--autostart"),
    ('B', "--broadcast"),
    ('s', "--slice-size"),
    ('S', "--slice-size"),
    ('F', "--fec"),
    ('H', "--rexmit-hello-interval"),
    ('C', "--min-receivers"),
    ('W', "--max-wait"),
    ('w', "--min-wait"),
    ('T', "--start-timeout"),
    ('R', "--retries-until-drop"),
    ('g', "--rate-governor"),
    ('Y', "--rehello-offset"),
    ('Z', "--streaming"),
];
const RECEIVER_LETTERS: [(char, &str); 7] = [
    ('b', "--rcvbuf"),
    ('s', "--start-timeout"),
    ('w', "--exit-wait"),
    ('d', "--passive"),
    ('n', "--nosync"),
    ('y', "--sync"),
    ('Z', "--streaming"),
];

/// The name by which an option is known here: any beginning of a long one will do that fits no other.
fn known(
    program: &str,
    option: &str,
    long: &[(&str, &'static str)],
    letters: &[(char, &'static str)],
) -> Result<&'static str, Failure> {
    let Some(text) = option.strip_prefix("--") else {
        let letter = option.chars().nth(1);
        let all = BOTH_LETTERS.iter().chain(letters);
        let found = all.into_iter().find(|(own, _)| Some(*own) == letter);
        return found.map(|(_, name)| *name).ok_or_else(|| unknown(program, option));
    };
    let all = BOTH.iter().chain(long);
    if let Some((_, name)) = all.clone().find(|(own, _)| *own == text) {
        return Ok(name);
    }
    let mut found = all.filter(|(own, _)| own.starts_with(text)).map(|(_, name)| *name);
    match found.next() {
        Some(first) if found.all(|name| name == first) => Ok(first),
        Some(_) => {
            let text = format!("{option} (of {program}): several options begin so. Write it out");
            Err(Failure::usage("shim.ambiguous", text))
        }
        None => Err(unknown(program, option)),
    }
}

/// What both have.
#[derive(Default)]
struct Both {
    file: Option<String>,
    pipe: Option<String>,
    group: Option<String>,
    port: Option<u64>,
    log: Option<String>,
    more: Vec<String>,
}

impl Both {
    /// Whether it is one of these.
    fn take(&mut self, option: &str, options: &mut Options<'_>) -> Result<bool, Failure> {
        match option {
            "--file" => self.file = Some(options.value(option)?),
            "--pipe" => self.pipe = Some(options.value(option)?),
            "--portbase" => self.port = Some(number(option, &options.value(option)?)?),
            "--mcast-rdv-address" => self.group = Some(options.value(option)?),
            "--interface" => {
                self.more.extend(["--interface".to_owned(), options.value(option)?]);
            }
            "--ttl" => self.more.extend(["--ttl".to_owned(), options.value(option)?]),
            // What is shown, and how often.
            "--stat-period" | "--print-uncompressed-position" | "--bw-period" => {
                drop(options.value(option)?);
            }
            "--log" => self.log = Some(options.value(option)?),
            // What asks for nothing that would be otherwise here.
            "--nokbd" | "--no-progress" | "--streaming" => {}
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Address at which they meet. With a single host's address they meet in the default group. FOG's
    /// receivers look for their sender at that address, and the sender's own line does not have it.
    fn group(&self) -> [String; 2] {
        let is_host = |text: &&str| text.parse::<IpAddr>().is_ok_and(|ip| !ip.is_multicast());
        let group = self.group.as_deref().filter(|text| !is_host(text));
        line::group(group.unwrap_or(GROUP), self.port.unwrap_or(PORT))
    }

    /// The program and its words in a shell; what it says goes to the log, if there is one.
    fn own(&self) -> String {
        let log = self.log.as_ref().map(|log| format!(" 2>> {}", quoted(log)));
        format!("\"$0\" \"$@\"{}", log.unwrap_or_default())
    }

    /// The shell's part where there is no pipe.
    fn logged(&self) -> Option<String> {
        self.log.as_ref().map(|_| format!("exec {}", self.own()))
    }

    fn chain(&self, role: TransferSide) -> Option<ChainOf> {
        let [_, group] = self.group();
        Some(ChainOf { role, group, file: self.file.clone() })
    }
}

/// Start of a sender.
#[derive(Default)]
struct StartOptions {
    receivers: u64,
    max_wait: Option<u64>,
    min_wait: Option<u64>,
    timeout: Option<u64>,
    retries: Option<u64>,
    /// Nobody answers.
    one_way: bool,
}

impl StartOptions {
    /// The first receiver is waited for without limit; --max-wait and --min-wait count from then on.
    fn words(&self) -> Vec<String> {
        if self.one_way {
            return vec!["--one-way".to_owned()];
        }
        let limit =
            |time: Option<u64>| time.map_or("forever".to_owned(), |time| format!("{time}s"));
        let silence = self.retries.map_or(SILENCE, |n| n.clamp(SILENCE_MIN, SILENCE_MAX));
        let mut words = Vec::new();
        if self.receivers > 0 {
            words.extend(["--expect".to_owned(), self.receivers.to_string()]);
        }
        words.extend(["--wait".to_owned(), format!("{silence}s")]);
        words.extend(["--first-wait".to_owned(), limit(self.timeout.filter(|time| *time > 0))]);
        words.extend(["--start-wait".to_owned(), limit(self.max_wait.filter(|time| *time > 0))]);
        if let Some(time) = self.min_wait {
            words.extend(["--gather".to_owned(), format!("{time}s")]);
        }
        words
    }
}

/// `udp-sender`: a stream.
pub(super) fn sender(words: &[OsString]) -> Result<Shim, Failure> {
    const NAME: &str = "udp-sender";
    let (mut both, mut options, mut start) =
        (Both::default(), Options::new(words), StartOptions::default());
    while let Some(word) = options.next() {
        let Word::Option(given) = word else { return Err(unknown(NAME, "a plain word")) };
        let option = known(NAME, &given, &SENDER, &SENDER_LETTERS)?;
        let mut seconds = || number(option, &options.value(option)?);
        match option {
            "--min-receivers" => start.receivers = seconds()?,
            "--max-wait" => start.max_wait = Some(seconds()?),
            "--min-wait" => start.min_wait = Some(seconds()?),
            "--start-timeout" => start.timeout = Some(seconds()?),
            "--retries-until-drop" => start.retries = Some(seconds()?),
            "--max-bitrate" => {
                let rate = options.value(option)?;
                both.more.extend(["--rate".to_owned(), bitrate(option, &rate)?]);
            }
            // Data goes to the group in which receivers wait; slices and the pace of questions are
            // this protocol's own.
            "--mcast-data-address"
            | "--slice-size"
            | "--rexmit-hello-interval"
            | "--sendbuf"
            | "--rehello-offset" => drop(options.value(option)?),
            "--full-duplex" | "--half-duplex" | "--pointopoint" | "--nopointopoint"
            | "--autorate" | "--print-seed" => {}
            // Hosts of the link that hear nothing of the group are found by broadcast.
            "--broadcast" => {}
            "--async" => start.one_way = true,
            "--blocksize" => {
                let bytes = number(option, &options.value(option)?)?;
                both.more.extend(["--segment".to_owned(), bytes.to_string()]);
            }
            "--fec" => {
                let parity = parity(option, &options.value(option)?)?;
                both.more.extend(["--parity".to_owned(), parity.to_string()]);
            }
            "--autostart" => return Err(refused(NAME, &given, "Use fanfare send --one-way")),
            "--rate-governor" => return Err(refused(NAME, &given, "Use fanfare send --rate")),
            _ if both.take(option, &mut options)? => {}
            _ => return Err(unknown(NAME, &given)),
        }
    }
    let around = both.pipe.as_ref().map(|pipe| {
        let from = both.file.as_ref().map(|file| format!(" < {}", quoted(file)));
        let from = from.unwrap_or_default();
        let command = format!("{{ {pipe}\n}}{from} 3>&- 4>&-; echo \"$?\" >&4");
        let own = format!("{} 3>&- 4>&-", both.own());
        both_ends(
            &format!("{{ {command}; }} | {own}"),
            "[ \"$2\" = 0 ] && exit \"$1\"; exit \"$2\"",
        )
    });
    let piped = around.is_some();
    let file = both.file.clone().filter(|_| !piped).unwrap_or_else(|| "-".to_owned());
    let chain = both.chain(TransferSide::Sender);
    let around = around.or_else(|| both.logged());
    let head = ["send".to_owned(), file, "--as-stream".to_owned()];
    let words = all(head.into_iter().chain(both.group()).chain(start.words()).chain(both.more));
    Ok(Shim { words, around, chain })
}

/// `udp-receiver`: the same stream, into a file or to standard output.
pub(super) fn receiver(words: &[OsString]) -> Result<Shim, Failure> {
    const NAME: &str = "udp-receiver";
    let (mut both, mut options) = (Both::default(), Options::new(words));
    while let Some(word) = options.next() {
        let Word::Option(given) = word else { return Err(unknown(NAME, "a plain word")) };
        let option = known(NAME, &given, &RECEIVER, &RECEIVER_LETTERS)?;
        let mut seconds = || number(option, &options.value(option)?);
        match option {
            // Everything is synced once, at the end, and nothing is lost.
            "--nosync" | "--sync" | "--ignore-lost-data" => {}
            "--rcvbuf" | "--exit-wait" => drop(options.value(option)?),
            "--start-timeout" => match seconds()? {
                0 => {}
                time => both.more.extend(["--start-timeout".to_owned(), format!("{time}s")]),
            },
            "--receive-timeout" => match seconds()? {
                0 => {}
                time => both.more.extend(["--silence".to_owned(), format!("{time}s")]),
            },
            "--passive" => both.more.push("--silent".to_owned()),
            _ if both.take(option, &mut options)? => {}
            _ => return Err(unknown(NAME, &given)),
        }
    }
    let (file, group, chain) =
        (both.file.clone(), both.group(), both.chain(TransferSide::Receiver));
    let around = both.pipe.as_ref().map(|pipe| {
        let to = file.as_ref().map(|file| format!(" > {}", quoted(file)));
        let own = format!("{} 3>&- 4>&-; echo \"$?\" >&4", both.own());
        let command = format!("{{ {pipe}\n}}{} 3>&- 4>&-", to.unwrap_or_default());
        both_ends(
            &format!("{{ {own}; }} | {command}"),
            "[ \"$1\" = 0 ] && exit \"$2\"; exit \"$1\"",
        )
    });
    let head = match file.filter(|_| around.is_none()) {
        Some(file) => vec!["recv".to_owned(), "--to".to_owned(), file],
        None => vec!["recv".to_owned(), "--stdout".to_owned()],
    };
    let around = around.or_else(|| both.logged());
    let words = all(head.into_iter().chain(group).chain(both.more));
    Ok(Shim { words, around, chain })
}

/// Symbols of a block here, and the most of parity.
const BLOCK: u64 = 128;
const PARITY_MAX: u64 = 127;

/// `8x4/128`, eight stripes of 128 blocks with four more each, is as many more symbols of ours.
fn parity(option: &str, text: &str) -> Result<u64, Failure> {
    let wrong = || {
        let text = format!("{option} ({text}): not INTERLEAVExREDUNDANCY/STRIPESIZE. Give one");
        Failure::usage("shim.invalid", text)
    };
    let (most, size) = text.split_once('/').unwrap_or((text, "128"));
    let (_, more) = most.split_once('x').ok_or_else(wrong)?;
    match (more.parse::<u64>(), size.parse::<u64>()) {
        (Ok(more), Ok(size)) if size > 0 => {
            Ok(more.saturating_mul(BLOCK).div_ceil(size).min(PARITY_MAX))
        }
        _ => Err(wrong()),
    }
}

/// Runs a pipeline whose first command writes its exit code to 4. Afterwards the codes of both its
/// commands are `$1` and `$2`: the shell keeps only the last one's.
fn both_ends(pipeline: &str, conclusion: &str) -> String {
    format!(
        "exec 3>&1; codes=$({{ {pipeline}; echo \"$?\" >&4; }} 4>&1 >&3 3>&-); set -- $codes; {conclusion}"
    )
}

/// `90m` is 90 Mbit/s there, and so is `90Mbps`: only the first letter counts.
fn bitrate(option: &str, text: &str) -> Result<String, Failure> {
    let (digits, unit) = match text.char_indices().find(|(_, c)| !c.is_ascii_digit()) {
        Some((at, _)) => text.split_at(at),
        None => (text, ""),
    };
    let unit = match unit.chars().next().map(|c| c.to_ascii_lowercase()) {
        None => "",
        Some('k') => "k",
        Some('m') => "M",
        Some('g') => "G",
        Some(_) => "?",
    };
    if digits.is_empty() || unit == "?" {
        let text = format!("{option} ({text}): not a rate. Give one such as 90m");
        return Err(Failure::usage("shim.invalid", text));
    }
    Ok(format!("{digits}{unit}"))
}
