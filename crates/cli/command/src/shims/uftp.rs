//! `uftp` and `uftpd` of UFTP.

use std::{ffi::OsString, net::IpAddr, path::Path};

use crate::Failure;

use super::line::{
    self, Options, Shim, Word, all, number, only_one, quoted, refused, text_file, unknown,
};

/// Theirs.
const GROUP: &str = "230.4.4.1";
const PORT: u64 = 1044;
/// Where `uftpd` puts files by default.
const DIR: &str = "/tmp";

/// What both have.
#[derive(Default)]
struct Both {
    group: Option<String>,
    port: Option<u64>,
    log: Option<String>,
    more: Vec<String>,
}

impl Both {
    /// Whether it is one of these.
    fn take(&mut self, option: &str, options: &mut Options<'_>) -> Result<bool, Failure> {
        match option {
            "-M" => self.group = Some(only_one(option, options.value(option)?, "group")?),
            "-p" => self.port = Some(number(option, &options.value(option)?)?),
            "-L" => self.log = Some(options.value(option)?),
            "-I" => {
                let name = only_one(option, options.value(option)?, "interface")?;
                self.more.extend(["--interface".to_owned(), name]);
            }
            "-U" => self.more.extend(["--node-id".to_owned(), options.value(option)?]),
            "-Q" => {
                let value = options.value(option)?;
                self.more.extend(["--dscp".to_owned(), hexadecimal(option, &value)?.to_string()]);
            }
            // Buffers are as large as the system gives them, the log is not rolled, and round trips are
            // measured.
            "-B" | "-g" | "-n" | "-x" | "-r" => drop(options.value(option)?),
            "-q" => {}
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn words(&self) -> Vec<String> {
        let group = self.group.as_deref();
        let port = self.port.unwrap_or(PORT);
        let host = group.filter(|text| text.parse::<IpAddr>().is_ok_and(|ip| !ip.is_multicast()));
        let group = line::group(group.filter(|_| host.is_none()).unwrap_or(GROUP), port);
        let to = host.map(|host| ["--to".to_owned(), host.to_owned()]);
        group.into_iter().chain(to.into_iter().flatten()).chain(self.more.iter().cloned()).collect()
    }
}

/// A number as UFTP takes it: decimal, or hexadecimal behind 0x.
fn hexadecimal(option: &str, text: &str) -> Result<u64, Failure> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).or_else(|_| number(option, text)),
        None => number(option, text),
    }
}

/// Content that is sent, and its name at the receivers.
#[derive(Default)]
struct SentFiles {
    paths: Vec<OsString>,
    list: Option<String>,
    name: Option<String>,
    bases: Vec<String>,
    in_directory: bool,
}

impl SentFiles {
    /// The words of `fanfare send` for it.
    fn words(self) -> Result<Vec<OsString>, Failure> {
        let Self { mut paths, list, name, bases, in_directory } = self;
        if let Some(list) = list {
            paths = text_file("-i", &list)?;
        }
        for path in &paths {
            let text = path.to_string_lossy();
            if text.starts_with("@DELETE:") || text == "@FREESPACE" {
                let instead = "To delete files use fanfare send --delete, and recv --allow-delete";
                return Err(refused("uftp", &text, instead));
            }
        }
        let Some(name) = name else {
            return if bases.is_empty() { Ok(paths) } else { below(paths, &bases) };
        };
        if name.starts_with('/') {
            let instead =
                "Receivers write into their own directory only: leave out the first slash";
            return Err(refused("uftp", &format!("-D {name}"), instead));
        }
        if let ([path], false) = (&paths[..], in_directory) {
            return Ok(vec![renamed(path, &name)]);
        }
        let mut words = if bases.is_empty() { paths } else { below(paths, &bases)? };
        words.extend(["--prefix".into(), name.into()]);
        Ok(words)
    }
}

fn renamed(path: &OsString, name: impl AsRef<std::ffi::OsStr>) -> OsString {
    let mut word = path.clone();
    word.push("=");
    word.push(name);
    word
}

/// Paths below one of these directories, with their names from there. UFTP leaves out the others.
fn below(paths: Vec<OsString>, bases: &[String]) -> Result<Vec<OsString>, Failure> {
    let inside = |path: OsString| {
        let name = bases.iter().find_map(|base| Path::new(&path).strip_prefix(base).ok());
        let name = name.filter(|name| !name.as_os_str().is_empty())?.to_owned();
        Some(renamed(&path, name))
    };
    let words: Vec<OsString> = paths.into_iter().filter_map(inside).collect();
    if words.is_empty() {
        let text = format!("-E ({}): no file to send is below it", bases.join(","));
        return Err(Failure::usage("shim.invalid", text));
    }
    Ok(words)
}

/// `-C`: `tfmcc` is the forerunner of NORM's congestion control, and its most is the rate.
fn congestion(value: &str) -> Result<Vec<String>, Failure> {
    let mut parts = value.split(':');
    let mut words = match parts.next() {
        Some("none") => return Ok(Vec::new()),
        Some("tfmcc") => vec!["--cc".to_owned(), "norm".to_owned()],
        _ => {
            let text = format!("-C ({value}): no congestion control. Give none or tfmcc");
            return Err(Failure::usage("shim.invalid", text));
        }
    };
    for part in parts {
        match part.split_once('=') {
            Some(("max", most)) => {
                words.extend(["--rate".to_owned(), format!("{}k", number("-C", most)?)]);
            }
            // The rate is found from where it begins, and falls as far as it must.
            Some(("min" | "init", rate)) => drop(number("-C", rate)?),
            _ => {
                let text = format!("-C ({part}): not known. There are min=, init= and max=");
                return Err(Failure::usage("shim.invalid", text));
            }
        }
    }
    Ok(words)
}

/// `uftp`: files.
pub(super) fn sender(words: &[OsString]) -> Result<Shim, Failure> {
    const NAME: &str = "uftp";
    let (mut both, mut options) = (Both::default(), Options::new(words));
    let (mut sent, mut rate, mut control) = (SentFiles::default(), None, Vec::new());
    while let Some(word) = options.next() {
        let option = match word {
            Word::Option(option) => option,
            Word::Plain(file) => {
                sent.paths.push(file);
                continue;
            }
        };
        match option.as_str() {
            "-R" => {
                rate = match options.value(&option)?.as_str() {
                    "-1" => None,
                    rate => Some(number(&option, rate)?),
                };
            }
            "-C" => control = congestion(&options.value(&option)?)?,
            "-z" => both.more.push("--sync".to_owned()),
            "-t" => both.more.extend(["--ttl".to_owned(), options.value(&option)?]),
            "-l" => both.more.extend(["--links".to_owned(), "follow".to_owned()]),
            "-b" => {
                let bytes = number(&option, &options.value(&option)?)?;
                both.more.extend(["--segment".to_owned(), bytes.to_string()]);
            }
            "-i" => sent.list = Some(options.value(&option)?),
            "-D" => sent.name = Some(options.value(&option)?),
            "-o" => sent.in_directory = true,
            "-E" => {
                let list = options.value(&option)?;
                sent.bases.extend(list.split(',').filter(|b| !b.is_empty()).map(str::to_owned));
            }
            // Data goes to the group in which receivers wait. There are no passes: receivers ask as long as
            // the sender is there. UFTP itself heeds its keys with -Y only.
            "-P" | "-a" | "-W" | "-m" | "-N" | "-s" | "-h" | "-w" | "-e" | "-k" | "-K" => {
                drop(options.value(&option)?);
            }
            "-T" | "-f" | "-y" | "-c" => {}
            "-u" if options.value(&option)? == "0" => {}
            "-u" => {
                let instead =
                    "Let the group's port through the firewall; fanfare doctor looks at it";
                return Err(refused(NAME, "-u", instead));
            }
            "-Y" if options.value(&option)? == "none" => {}
            "-Y" => return Err(refused(NAME, "-Y", "Use fanfare send --key, on both sides")),
            "-H" => return Err(refused(NAME, "-H", "Use fanfare send --expect NAMES")),
            "-X" => return Err(refused(NAME, "-X", "Use fanfare send --exclude")),
            "-S" => return Err(refused(NAME, "-S", "Use fanfare send --receipts FILE")),
            "-Z" => return Err(refused(NAME, "-Z", "Use fanfare send --dry-run")),
            "-j" => return Err(refused(NAME, "-j", "Use fanfare relay")),
            "-F" => {
                let instead = "Give the first command again: receivers keep what they have";
                return Err(refused(NAME, "-F", instead));
            }
            _ if both.take(&option, &mut options)? => {}
            _ => return Err(unknown(NAME, &option)),
        }
    }
    // As there: -R is for a sender without congestion control.
    if let Some(kbps) = rate.filter(|_| control.is_empty()) {
        both.more.extend(["--rate".to_owned(), format!("{kbps}k")]);
    }
    both.more.append(&mut control);
    let around = both.log.as_ref().map(|log| format!("exec \"$0\" \"$@\" 2>> {}", quoted(log)));
    let mut words = vec![OsString::from("send")];
    words.append(&mut sent.words()?);
    words.extend(all(both.words()));
    Ok(Shim { words, around, chain: None })
}

/// The shell's part around `uftpd`.
#[derive(Default)]
struct DaemonShell {
    stays: bool,
    log: Option<String>,
    pid_file: Option<String>,
    nice: Option<String>,
}

impl DaemonShell {
    fn around(&self) -> Option<String> {
        let nice =
            self.nice.as_ref().map(|n| format!("nice -n {} ", quoted(n))).unwrap_or_default();
        let log = self.log.as_ref().map(|log| format!(" 2>> {}", quoted(log)));
        let pid = |number: &str| {
            let file = self.pid_file.as_ref();
            file.map(|file| format!("echo {number} > {}", quoted(file))).unwrap_or_default()
        };
        if self.stays {
            let plain = self.nice.is_none() && log.is_none() && self.pid_file.is_none();
            let first = pid("$$");
            let first = if first.is_empty() { first } else { format!("{first}; ") };
            let own = format!("{first}exec {nice}\"$0\" \"$@\"{}", log.unwrap_or_default());
            return (!plain).then_some(own);
        }
        let log = log.unwrap_or_else(|| " 2> /dev/null".to_owned());
        let own =
            format!("setsid {nice}\"$0\" \"$@\" < /dev/null > /dev/null{log} & {}", pid("$!"));
        Some(own.trim_end().to_owned())
    }
}

/// `uftpd`: a receiver; in the background unless `-d` says otherwise.
pub(super) fn receiver(words: &[OsString]) -> Result<Shim, Failure> {
    const NAME: &str = "uftpd";
    let (mut both, mut options) = (Both::default(), Options::new(words));
    let (mut dir, mut daemon) = (None, DaemonShell::default());
    while let Some(word) = options.next() {
        let Word::Option(option) = word else { return Err(unknown(NAME, "a plain word")) };
        match option.as_str() {
            // Lists, and several of them are one: files go to the first directory of all (uftpd 4.10.2).
            "-D" => {
                let list = options.value(&option)?;
                let Some(first) = list.split(',').find(|dir| !dir.is_empty()) else {
                    let text = format!("-D ({list}): names no directory. Give one");
                    return Err(Failure::usage("shim.invalid", text));
                };
                dir.get_or_insert_with(|| first.to_owned());
            }
            // Unfinished files stand where they will be, so that they need not be copied. Proxies are not
            // there, and nothing is cached apart from the file.
            "-T" | "-h" | "-c" => drop(options.value(&option)?),
            "-t" | "-i" | "-m" => {}
            "-d" => daemon.stays = true,
            "-P" => daemon.pid_file = Some(options.value(&option)?),
            "-N" => daemon.nice = Some(options.value(&option)?),
            "-Y" | "-k" | "-K" | "-E" => {
                return Err(refused(NAME, &option, "Use fanfare recv --key"));
            }
            "-A" => return Err(refused(NAME, &option, "Use fanfare recv --keep")),
            "-F" => return Err(refused(NAME, &option, "Use fanfare recv --json")),
            "-S" => return Err(refused(NAME, &option, "Use fanfare recv --from KEY")),
            "-s" => return Err(refused(NAME, &option, "Use fanfare recv and a script on --json")),
            "-R" | "-H" => return Err(refused(NAME, &option, "Use fanfare relay")),
            _ if both.take(&option, &mut options)? => {}
            _ => return Err(unknown(NAME, &option)),
        }
    }
    daemon.log = both.log.take();
    let dir = dir.unwrap_or_else(|| DIR.to_owned());
    let head = ["recv".to_owned(), dir, "--create-dirs".to_owned()];
    let words = all(head.into_iter().chain(both.words()));
    Ok(Shim { words, around: daemon.around(), chain: None })
}
