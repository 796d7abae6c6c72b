//! `uftp` and `uftpd` of UFTP.

use std::ffi::OsString;

use fanfare_command::Failure;

use super::line::{self, Options, Shim, Word, all, number, quoted, refused, unknown};

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
            "-M" => self.group = Some(options.value(option)?),
            "-p" => self.port = Some(number(option, &options.value(option)?)?),
            "-L" => self.log = Some(options.value(option)?),
            "-I" => self.more.extend(["--interface".to_owned(), options.value(option)?]),
            "-U" => self.more.extend(["--node-id".to_owned(), options.value(option)?]),
            // How much is logged; round trips are measured.
            "-x" | "-r" => drop(options.value(option)?),
            "-q" => {}
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn group(&self) -> [String; 2] {
        line::group(self.group.as_deref().unwrap_or(GROUP), self.port.unwrap_or(PORT))
    }
}

/// `uftp`: files.
pub(super) fn sender(words: &[OsString]) -> Result<Shim, Failure> {
    const NAME: &str = "uftp";
    let (mut both, mut options) = (Both::default(), Options::new(words));
    let mut files = Vec::new();
    while let Some(word) = options.next() {
        let option = match word {
            Word::Option(option) => option,
            Word::Plain(file) => {
                files.push(file);
                continue;
            }
        };
        match option.as_str() {
            "-R" => match options.value(&option)?.as_str() {
                "-1" => {}
                rate => {
                    let kbps = number(&option, rate)?;
                    both.more.extend(["--rate".to_owned(), format!("{kbps}k")]);
                }
            },
            // Only receivers have a directory for it.
            "-T" => {}
            "-z" => both.more.push("--sync".to_owned()),
            "-t" => both.more.extend(["--ttl".to_owned(), options.value(&option)?]),
            "-l" => both.more.extend(["--links".to_owned(), "follow".to_owned()]),
            "-Y" if options.value(&option)? == "none" => {}
            "-Y" => return Err(refused(NAME, "-Y", "Use fanfare send --key, on both sides")),
            "-H" => return Err(refused(NAME, "-H", "Use fanfare send --expect NAMES")),
            "-D" => return Err(refused(NAME, "-D", "Use fanfare send --prefix")),
            "-E" => return Err(refused(NAME, "-E", "Use fanfare send --prefix")),
            "-C" => return Err(refused(NAME, "-C", "Use fanfare send --cc")),
            "-b" => return Err(refused(NAME, "-b", "Use fanfare send --segment")),
            "-X" => return Err(refused(NAME, "-X", "Use fanfare send --exclude")),
            "-i" => return Err(refused(NAME, "-i", "Use fanfare send --files-from")),
            "-S" => return Err(refused(NAME, "-S", "Use fanfare send --receipts FILE")),
            _ if both.take(&option, &mut options)? => {}
            _ => return Err(unknown(NAME, &option)),
        }
    }
    let around = both.log.as_ref().map(|log| format!("exec \"$0\" \"$@\" 2>> {}", quoted(log)));
    let mut words = vec![OsString::from("send")];
    words.extend(files);
    words.extend(all(both.group().into_iter().chain(both.more)));
    Ok(Shim { words, around, chain: None })
}

/// `uftpd`: a receiver; in the background unless `-d` says otherwise.
pub(super) fn receiver(words: &[OsString]) -> Result<Shim, Failure> {
    const NAME: &str = "uftpd";
    let (mut both, mut options) = (Both::default(), Options::new(words));
    let (mut dir, mut stays) = (None, false);
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
            // Unfinished files stand where they will be, so that they need not be copied.
            "-T" => drop(options.value(&option)?),
            "-d" => stays = true,
            "-Y" | "-k" | "-K" => return Err(refused(NAME, &option, "Use fanfare recv --key")),
            "-S" => return Err(refused(NAME, &option, "Use fanfare recv --from KEY")),
            "-s" => return Err(refused(NAME, &option, "Use fanfare recv and a script on --json")),
            "-R" | "-H" => return Err(refused(NAME, &option, "Use fanfare recv --from")),
            _ if both.take(&option, &mut options)? => {}
            _ => return Err(unknown(NAME, &option)),
        }
    }
    let log = both.log.as_ref().map(|log| format!("2>> {}", quoted(log)));
    let around = match (stays, log) {
        (true, None) => None,
        (true, Some(log)) => Some(format!("exec \"$0\" \"$@\" {log}")),
        (false, log) => {
            let log = log.unwrap_or_else(|| "2> /dev/null".to_owned());
            Some(format!("setsid \"$0\" \"$@\" < /dev/null > /dev/null {log} &"))
        }
    };
    let dir = dir.unwrap_or_else(|| DIR.to_owned());
    let head = ["recv".to_owned(), dir, "--create-dirs".to_owned()];
    let words = all(head.into_iter().chain(both.group()).chain(both.more));
    Ok(Shim { words, around, chain: None })
}
