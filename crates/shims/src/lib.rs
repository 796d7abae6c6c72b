//! Command lines of other programs: a link to `fanfare` under their name understands them, so that
//! scripts that call them run on. The other end is `fanfare`, or a link to it, too: what travels is ours.
//!
//! - `line`: options one by one, and what a line comes to
//! - `udpcast`: udp-sender and udp-receiver; `uftp`: uftp and uftpd

mod line;
mod udpcast;
mod uftp;

use std::{
    ffi::{OsStr, OsString},
    path::Path,
    process::Command,
};

use fanfare_command::{Exit, Failure};

/// The words that are meant; the same ones for a program that is called `fanfare`.
///
/// # Errors
/// When an option has no meaning here. It names the one that has.
pub fn translate(words: Vec<OsString>) -> Result<Vec<OsString>, Failure> {
    let name = words.first().map(|word| Path::new(word).file_name().unwrap_or(word).to_owned());
    let name = name.as_deref().and_then(OsStr::to_str).unwrap_or_default();
    let rest = words.get(1..).unwrap_or_default();
    let shim = match name {
        "udp-sender" => udpcast::sender(rest)?,
        "udp-receiver" => udpcast::receiver(rest)?,
        "uftp" => uftp::sender(rest)?,
        "uftpd" => uftp::receiver(rest)?,
        _ => return Ok(words),
    };
    std::thread::sleep(shim.pause);
    let all = || [OsString::from("fanfare")].into_iter().chain(shim.words.iter().cloned());
    let Some(around) = &shim.around else { return Ok(all().collect()) };
    let own = std::env::current_exe().unwrap_or_else(|_| "fanfare".into());
    let mut shell = Command::new("sh");
    // By its own file, and so under its own name.
    let own = std::fs::canonicalize(&own).unwrap_or(own);
    let shell = shell.arg("-c").arg(around).arg(own).args(&shim.words);
    let error = fanfare_os::process::replace(shell);
    let text = format!("sh ({error}): cannot be started. Install a shell");
    Err(Failure::new(Exit::Resource, "shim.shell", text))
}

#[cfg(test)]
mod tests {
    use super::{line::Shim, *};

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }
    fn shown(shim: &Shim) -> String {
        let words: Vec<&str> = shim.words.iter().filter_map(|word| word.to_str()).collect();
        words.join(" ")
    }

    #[test]
    fn a_clonezilla_like_sender_is_understood() {
        let line = "--full-duplex --min-receivers 2 --max-wait 300 --interface eth0 --nokbd \
                    --mcast-data-address 224.0.0.1 --portbase 2232 --ttl 1 -f /dev/sda1";
        let shim = udpcast::sender(&words(line)).unwrap();
        assert_eq!(
            shown(&shim),
            "send /dev/sda1 --as-stream --group 239.255.42.1:2232 --expect 2 --wait 300s \
             --interface eth0 --ttl 1"
        );
        let shim = udpcast::receiver(&words("--nokbd --portbase=2232 --file /dev/sda1")).unwrap();
        assert_eq!(shown(&shim), "recv --to /dev/sda1 --group 239.255.42.1:2232");
    }

    #[test]
    fn pipes_are_the_shells() {
        let words = ["-f", "a b", "-p", "gzip -c"].map(OsString::from);
        let shim = udpcast::sender(&words).unwrap();
        assert_eq!(shim.around.as_deref(), Some("{ gzip -c\n} < 'a b' | exec \"$0\" \"$@\""));
        assert_eq!(shown(&shim), "send - --as-stream --group 239.255.42.1:9000");
        let words = ["--pipe", "gzip -dc", "--file", "out"].map(OsString::from);
        let shim = udpcast::receiver(&words).unwrap();
        assert_eq!(shim.around.as_deref(), Some("\"$0\" \"$@\" | { gzip -dc\n} > 'out'"));
        assert_eq!(shown(&shim), "recv --stdout --group 239.255.42.1:9000");
    }

    #[test]
    fn what_cannot_be_is_refused_with_the_option_that_can() {
        let told = |shim: Result<Shim, Failure>| shim.unwrap_err().text;
        assert!(told(udpcast::sender(&words("--async"))).contains("fanfare send --one-way"));
        assert!(told(uftp::sender(&words("-Y aes128-gcm f"))).contains("--key"));
        assert!(told(uftp::sender(&words("-H 0x1 f"))).contains("--expect"));
        assert!(told(uftp::sender(&words("-R"))).contains("needs a value"));
        assert!(told(udpcast::sender(&words("--max-bitrate fast"))).contains("not a rate"));
    }

    #[test]
    fn uftp_and_uftpd_are_understood() {
        let line = "-R 100000 -M 230.5.5.5 -p2000 -I eth1 -z -t 3 -Y none a b";
        let shim = uftp::sender(&words(line)).unwrap();
        assert_eq!(
            shown(&shim),
            "send a b --group 230.5.5.5:2000 --rate 100000k --interface eth1 --sync --ttl 3"
        );
        let shim = uftp::receiver(&words("-d -D /srv/in -I eth1")).unwrap();
        assert_eq!(
            shown(&shim),
            "recv /srv/in --create-dirs --group 230.4.4.1:1044 --interface eth1"
        );
        let shim = uftp::receiver(&words("-L /tmp/log")).unwrap();
        assert!(shim.around.unwrap().contains("setsid"));
        assert_eq!(
            shown(&uftp::sender(&words("-R -1 f")).unwrap()),
            "send f --group 230.4.4.1:1044"
        );
    }

    #[test]
    fn under_its_own_name_nothing_is_changed() {
        let own = words("/usr/bin/fanfare send --async");
        assert_eq!(translate(own.clone()).unwrap(), own);
    }
}
