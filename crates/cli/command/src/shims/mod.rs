//! Command lines of other programs: a link to `fanfare` under their name understands them, so that
//! scripts that call them run on. The other end is `fanfare`, or a link to it, too: what travels is ours.
//!
//! - `chain`: which image of several, where a script carries one after the other
//! - `line`: options one by one, and what a line comes to
//! - `former`: programs that were beside `fanfare` once, and are commands of it now
//! - `udpcast`: udp-sender and udp-receiver; `uftp`: uftp and uftpd

pub mod chain;
mod former;
mod line;
mod udpcast;
mod uftp;

use std::{
    ffi::{OsStr, OsString},
    path::Path,
    process::Command,
};

use crate::{Exit, Failure};
use line::ChainOf;

/// The words that are meant; the same ones for a program that is called `fanfare`.
///
/// # Errors
/// When an option has no meaning here. It names the one that has.
pub fn translate(words: Vec<OsString>) -> Result<Vec<OsString>, Failure> {
    let name = words.first().map(|word| Path::new(word).file_name().unwrap_or(word).to_owned());
    let name = name.as_deref().and_then(OsStr::to_str).unwrap_or_default();
    let rest = words.get(1..).unwrap_or_default();
    let mut shim = match name {
        "udp-sender" => udpcast::sender(rest)?,
        "udp-receiver" => udpcast::receiver(rest)?,
        "uftp" => uftp::sender(rest)?,
        "uftpd" => uftp::receiver(rest)?,
        _ => return Ok(former::translate(name, words)),
    };
    if let Some(ChainOf { role, group, file }) = &shim.chain {
        let object = chain::ChainObject::find(*role, file.as_deref());
        shim.words.extend(line::all(chain::words(*role, group, &object)?));
    }
    let all = || [OsString::from("fanfare")].into_iter().chain(shim.words.iter().cloned());
    let Some(around) = &shim.around else { return Ok(all().collect()) };
    let own = std::env::current_exe().unwrap_or_else(|_| "fanfare".into());
    let mut shell = Command::new("sh");
    // By its own file, and so under its own name.
    let own = std::fs::canonicalize(&own).unwrap_or(own);
    let shell = shell.arg("-c").arg(around).arg(own).args(&shim.words);
    let error = fanfare_udp::os::process::replace(shell);
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

    /// Options of a sender without options about its start.
    const FOREVER: &str = "--wait 30s --first-wait forever --start-wait forever";

    fn sent(line: &str) -> String {
        shown(&udpcast::sender(&words(line)).unwrap())
    }
    fn received(line: &str) -> String {
        shown(&udpcast::receiver(&words(line)).unwrap())
    }

    /// Clonezilla, scripts/sbin/ocs-functions, do_multicast_udpcast_restore and
    /// udp_send_part_img_or_dev: the port grows by two with each partition.
    #[test]
    fn clonezillas_lines_are_understood() {
        for port in [2232, 2234, 2236] {
            let line = format!(
                "--full-duplex --min-clients 2 --max-wait 300 --interface eth0 --nokbd \
                 --mcast-all-addr 224.0.0.1 --portbase {port} --ttl 1"
            );
            let expected = format!(
                "send - --as-stream --group 224.0.0.1:{port} --expect 2 --wait 30s --first-wait \
                 forever --start-wait 300s --interface eth0 --ttl 1"
            );
            assert_eq!(sent(&line), expected);
            let line = format!("--nokbd --mcast-all-addr 224.0.0.1 --portbase {port} --ttl 1");
            let expected = format!("recv --stdout --group 224.0.0.1:{port} --ttl 1");
            assert_eq!(received(&line), expected);
        }
        let line =
            "--min-wait 30 --max-wait 60 --interface eth0 --nokbd --mcast-all-addr 224.0.0.1";
        assert_eq!(
            sent(line),
            "send - --as-stream --group 224.0.0.1:9000 --wait 30s --first-wait forever \
             --start-wait 60s --gather 30s --interface eth0"
        );
    }

    /// FOG: multicasttask.class.php of the server, and writeImage in funcs.sh of its clients, which give
    /// the server's own address unless another one is set.
    #[test]
    fn fogs_lines_meet_in_one_group() {
        let line = "--interface eth0 --min-receivers 2 --max-wait 600 --portbase 63100 \
                    --full-duplex --ttl 32 --nokbd --nopointopoint --rexmit-hello-interval 500 \
                    --file d1p1.img";
        assert_eq!(
            sent(line),
            "send d1p1.img --as-stream --group 239.255.42.1:63100 --expect 2 --wait 30s --first-wait \
             forever --start-wait 600s --interface eth0 --ttl 32"
        );
        let line = "--nokbd --portbase 63100 --ttl 32 --mcast-rdv-address 10.78.0.1";
        assert_eq!(received(line), "recv --stdout --group 239.255.42.1:63100 --ttl 32");
        let line = "--nokbd --portbase 63100 --ttl 32 --mcast-rdv-address 239.1.2.3";
        assert_eq!(received(line), "recv --stdout --group 239.1.2.3:63100 --ttl 32");
    }

    /// Options that udpcast 20120424 takes, and that mean nothing else here.
    #[test]
    fn options_that_ask_for_nothing_else_are_taken() {
        for line in [
            "--rexmit-hello-interval 500",
            "--no-progress",
            "--min-slice-size 16 --max-slice-size 112 --slice-size 64 --default-slice-size 64",
            "--streaming",
            "--autorate",
            "--mcast-address 239.1.2.9",
            "--mcast-data-addr 239.1.2.9",
            "-c -k -1 -s 16 -S 112 -z 500",
            "--point-to-point --sendbuf 1m --stat-period 5",
        ] {
            let expected = format!("send - --as-stream --group 239.255.42.1:9000 {FOREVER}");
            assert_eq!(sent(line), expected, "{line}");
        }
        for line in ["--rcvbuf 1m", "--exit-wait 500", "--ignore-lost-data", "-n -k -w 5 -b 1m"] {
            assert_eq!(received(line), "recv --stdout --group 239.255.42.1:9000", "{line}");
        }
    }

    #[test]
    fn times_of_a_start_are_apart_from_the_silence_of_a_receiver() {
        let head = "send - --as-stream --group 239.255.42.1:9000";
        let expected = "--wait 30s --first-wait 10s --start-wait forever";
        assert_eq!(sent("--start-timeout 10"), format!("{head} {expected}"));
        let expected = "--wait 50s --first-wait forever --start-wait forever";
        assert_eq!(sent("--retries-until-drop 50"), format!("{head} {expected}"));
        assert!(sent("-R 1").contains("--wait 5s"));
        assert!(
            sent("-C 3 -W 9 -w 4").ends_with(
                "--expect 3 --wait 30s --first-wait forever --start-wait 9s --gather 4s"
            )
        );
        assert!(received("--start-timeout 8").ends_with("--start-timeout 8s"));
        assert!(
            received("-s 8 --receive-timeout 10").ends_with("--start-timeout 8s --silence 10s")
        );
    }

    #[test]
    fn a_beginning_of_an_option_stands_for_it_unless_several_begin_so() {
        assert!(sent("--min-rec 1").contains("--expect 1"));
        assert!(sent("--min-c 1").contains("--expect 1"));
        assert!(sent("--mcast-r 239.1.2.3").contains("239.1.2.3:9000"));
        assert!(received("--mcast-all 239.1.2.3 --portb=7").contains("239.1.2.3:7"));
        let told = udpcast::sender(&words("--min 1")).unwrap_err().text;
        assert!(told.contains("several options begin so"), "{told}");
        assert!(udpcast::receiver(&words("--min-receivers 1")).is_err());
    }

    #[test]
    fn rates_are_read_by_the_first_letter_of_their_unit() {
        for (rate, expected) in
            [("600Mbps", "600M"), ("90m", "90M"), ("10MiB", "10M"), ("5000k", "5000k"), ("7", "7")]
        {
            assert!(
                sent(&format!("--max-bitrate {rate}")).ends_with(&format!("--rate {expected}"))
            );
        }
    }

    #[test]
    fn pipes_are_the_shells() {
        let words = ["-f", "a b", "-p", "gzip -c"].map(OsString::from);
        let shim = udpcast::sender(&words).unwrap();
        assert!(shim.around.as_deref().unwrap().contains("{ gzip -c\n} < 'a b' "));
        let expected = format!("send - --as-stream --group 239.255.42.1:9000 {FOREVER}");
        assert_eq!(shown(&shim), expected);
        let words = ["--pipe", "gzip -dc", "--file", "out"].map(OsString::from);
        let shim = udpcast::receiver(&words).unwrap();
        assert!(shim.around.as_deref().unwrap().contains("{ gzip -dc\n} > 'out' "));
        assert_eq!(shown(&shim), "recv --stdout --group 239.255.42.1:9000");
    }

    /// The shell, with a program that writes three letters in the place of `fanfare`.
    #[cfg(unix)]
    #[test]
    fn a_pipe_ends_with_the_code_of_whoever_failed() {
        let run = |shim: &Shim, own: i32, input: &str| {
            let program = format!("cat >/dev/null 2>&1 <&0; printf abc; exit {own}");
            let around = shim.around.as_ref().unwrap().replace("\"$0\" \"$@\"", "sh -c \"$0\"");
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(around).arg(program).stdin(std::process::Stdio::null());
            let output = shell.output().unwrap();
            assert!(output.stderr.is_empty(), "{output:?}");
            assert_eq!(String::from_utf8_lossy(&output.stdout), input);
            output.status.code().unwrap()
        };
        for (own, command, code) in [(0, 0, 0), (3, 0, 3), (0, 5, 5), (3, 5, 3)] {
            let pipe = format!("cat; exit {command}");
            let line = ["--pipe", &*format!("( {pipe} )")].map(OsString::from);
            let receiver = udpcast::receiver(&line).unwrap();
            assert_eq!(run(&receiver, own, "abc"), code, "receiver {own}, command {command}");
            let sender = udpcast::sender(&line).unwrap();
            assert_eq!(run(&sender, own, "abc"), code, "sender {own}, command {command}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused_with_the_option_that_can() {
        let told = |shim: Result<Shim, Failure>| shim.unwrap_err().text;
        assert!(told(udpcast::sender(&words("--autostart 3"))).contains("send --one-way"));
        assert!(told(uftp::sender(&words("-Y aes128-gcm f"))).contains("--key"));
        assert!(told(uftp::sender(&words("-H 0x1 f"))).contains("--expect"));
        assert!(told(udpcast::sender(&words("--fec 8"))).contains("REDUNDANCY"));
        assert!(told(uftp::receiver(&words("-D ,"))).contains("no directory"));
        assert!(told(uftp::sender(&words("-R"))).contains("needs a value"));
        assert!(told(udpcast::sender(&words("--max-bitrate fast"))).contains("not a rate"));
    }

    #[test]
    fn uftp_and_uftpd_are_understood() {
        let line = "-R 100000 -M 230.5.5.5 -p2000 -I eth1 -z -t 3 -Y none a b";
        let shim = uftp::sender(&words(line)).unwrap();
        assert_eq!(
            shown(&shim),
            "send a b --group 230.5.5.5:2000 --interface eth1 --sync --ttl 3 --rate 100000k"
        );
        let shim = uftp::receiver(&words("-d -D /srv/in -I eth1")).unwrap();
        assert_eq!(
            shown(&shim),
            "recv /srv/in --create-dirs --group 230.4.4.1:1044 --interface eth1"
        );
        let shim = uftp::receiver(&words("-d -D /srv/in,/srv/more -T /srv/temp")).unwrap();
        assert_eq!(shown(&shim), "recv /srv/in --create-dirs --group 230.4.4.1:1044");
        let shim = uftp::receiver(&words("-L /tmp/log")).unwrap();
        assert!(shim.around.unwrap().contains("setsid"));
        assert_eq!(
            shown(&uftp::sender(&words("-R -1 f")).unwrap()),
            "send f --group 230.4.4.1:1044"
        );
    }

    /// Every option of the man pages of uftp and uftpd 4.10.2: what has a meaning here has it, what is
    /// heeded nowhere is taken, and the rest is refused by its name.
    #[test]
    fn each_option_of_uftp_and_uftpd_is_taken_or_refused_by_name() {
        let group = "--group 230.4.4.1:1044";
        for (line, expected) in [
            ("-B 262144 -g 10 -n 5 -x 3 -q -T -f -y -c", ""),
            ("-P 230.5.5.x -a 3 -W 200 -m 2 -N 50 -r 0.5:0.01:15 -s 20 -u 0", ""),
            ("-h sha1 -w hmac -e ecdh_rsa:prime256v1 -k file -K 512 -Y none", ""),
            ("-b 1300 -t 8", " --segment 1300 --ttl 8"),
            ("-Q 0x2e", " --dscp 46"),
            ("-Q 46", " --dscp 46"),
            ("-C none -R 500", " --rate 500k"),
            ("-C tfmcc -R 500", " --cc norm"),
            ("-R 9 -C tfmcc:min=1:init=5:max=800", " --cc norm --rate 800k"),
            ("-U 0x11112222", " --node-id 0x11112222"),
        ] {
            let shim = uftp::sender(&words(&format!("{line} f"))).unwrap();
            assert_eq!(shown(&shim), format!("send f {group}{expected}"), "{line}");
        }
        let line = "-M 10.0.0.7 -P 230.5.5.1 f";
        let expected = format!("send f {group} --to 10.0.0.7");
        assert_eq!(shown(&uftp::sender(&words(line)).unwrap()), expected);
        let shim = uftp::sender(&words("-M ff02:4:4:2:: f")).unwrap();
        assert_eq!(shown(&shim), "send f --group [ff02:4:4:2::]:1044");
        for option in ["-Y aes128-gcm", "-u 77", "-H 0x1", "-X x", "-S s", "-Z", "-j p", "-F r"] {
            let told = uftp::sender(&words(&format!("{option} f"))).unwrap_err().text;
            assert!(told.starts_with(&option[..2]), "{option}: {told}");
            assert!(!told.contains("docs/reference"), "{option}: {told}");
        }
        for line in ["-B 262144 -g 1 -n 1 -x 2 -q -t -i -m -h 20 -c 10240 -T /t", ""] {
            let line = format!("-d {line}");
            let shim = uftp::receiver(&words(line.trim())).unwrap();
            assert_eq!(shown(&shim), format!("recv /tmp --create-dirs {group}"), "{line}");
            assert_eq!(shim.around, None);
        }
        let options =
            ["-E", "-A a", "-F s", "-S s", "-R p", "-k k", "-K rsa:512", "-s x", "-H h", "-M a,b"];
        for option in options {
            let told = uftp::receiver(&words(option)).unwrap_err().text;
            assert!(told.starts_with(&option[..2]), "{option}: {told}");
            assert!(!told.contains("docs/reference"), "{option}: {told}");
        }
    }

    /// As the man page says, and uftp 4.10.2 does.
    #[test]
    fn files_of_uftp_have_their_names() {
        for (line, expected) in [
            ("-D name f", "f=name"),
            ("-o -D name f", "f --prefix name"),
            ("-D name f g", "f g --prefix name"),
            ("-E /path /path/to/file", "/path/to/file=to/file"),
            ("-E /a,/path/ /path/to/file /b/c /a/d", "/path/to/file=to/file /a/d=d"),
            ("-D name -E /path /path/to/file", "/path/to/file=name"),
            ("-D name -o -E /path /path/to/file", "/path/to/file=to/file --prefix name"),
        ] {
            let shim = uftp::sender(&words(line)).unwrap();
            let expected = format!("send {expected} --group 230.4.4.1:1044");
            assert_eq!(shown(&shim), expected, "{line}");
        }
        for line in ["-E /path /other/f", "-D /abs f", "@DELETE:f", "@FREESPACE"] {
            assert!(uftp::sender(&words(line)).is_err(), "{line}");
        }
    }

    #[test]
    fn a_list_of_uftp_names_the_files_in_place_of_the_words() {
        let list = std::env::temp_dir().join(format!("shims-list-{}", std::process::id()));
        std::fs::write(&list, "one\n\na b\n").unwrap();
        let line = ["-i".into(), list.clone().into_os_string(), "ignored".into()];
        let shim = uftp::sender(&line).unwrap();
        std::fs::remove_file(&list).unwrap();
        assert_eq!(shim.words[..3], ["send", "one", "a b"].map(OsString::from));
        let told = uftp::sender(&line).unwrap_err().text;
        assert!(told.contains("cannot be read"), "{told}");
    }

    /// The shell, with a program that writes its own process id and niceness.
    #[cfg(target_os = "linux")]
    #[test]
    fn uftpd_writes_its_process_id_and_runs_at_its_priority() {
        let file = std::env::temp_dir().join(format!("shims-pid-{}", std::process::id()));
        let said = std::env::temp_dir().join(format!("shims-said-{}", std::process::id()));
        let line = format!("-d -P {} -N 5 -L {}", file.display(), said.display());
        let shim = uftp::receiver(&words(&line)).unwrap();
        let around = shim.around.unwrap();
        // The log gets what it says.
        let around = around.replace("\"$0\" \"$@\"", "sh -c 'echo $$ >&2; nice >&2'");
        assert!(Command::new("sh").arg("-c").arg(around).status().unwrap().success());
        let read = |path: &Path| std::fs::read_to_string(path).unwrap();
        // Niceness is added to that of whoever starts it, up to 19.
        let own = String::from_utf8(Command::new("nice").output().unwrap().stdout).unwrap();
        let expected = (own.trim().parse::<i32>().unwrap() + 5).min(19);
        assert_eq!(read(&said), format!("{}{expected}\n", read(&file)));
        for path in [file, said] {
            std::fs::remove_file(path).unwrap();
        }
        let shim = uftp::receiver(&words("-P /run/u.pid")).unwrap();
        assert!(shim.around.unwrap().ends_with("& echo $! > '/run/u.pid'"));
    }

    /// Every option of udp-sender and udp-receiver 20120424 beyond those above.
    #[test]
    fn what_was_refused_of_udpcast_and_has_a_meaning_is_taken() {
        let head = "send - --as-stream --group 239.255.42.1:9000";
        for (line, expected) in [
            ("-B", FOREVER.to_owned()),
            ("--bw-period 5", FOREVER.to_owned()),
            ("-b 1456", format!("{FOREVER} --segment 1456")),
            ("--fec 8x4/128", format!("{FOREVER} --parity 4")),
            ("--fec 8x4", format!("{FOREVER} --parity 4")),
            ("--fec 8x4/32", format!("{FOREVER} --parity 16")),
            ("--async -C 3 -W 9 --max-bitrate 10m", "--one-way --rate 10M".to_owned()),
        ] {
            assert_eq!(sent(line), format!("{head} {expected}"), "{line}");
        }
        assert!(received("--passive").ends_with(":9000 --silent"));
        for shim in [udpcast::sender(&words("-l /x")), udpcast::receiver(&words("--log /x"))] {
            assert_eq!(shim.unwrap().around.unwrap(), "exec \"$0\" \"$@\" 2>> '/x'");
        }
        for shim in [udpcast::sender, udpcast::receiver] {
            let around = shim(&words("-l /x -p cat")).unwrap().around.unwrap();
            assert!(around.contains("\"$0\" \"$@\" 2>> '/x' 3>&-"), "{around}");
        }
    }

    /// As uftpd 4.10.2 does, run with each of these lines.
    #[test]
    fn uftpd_puts_files_into_the_first_directory_of_all_its_lists() {
        for (line, dir) in [
            ("-D /a -D /b", "/a"),
            ("-D /a,/b", "/a"),
            ("-D /b,/c -D /a", "/b"),
            ("-D ,/b", "/b"),
            ("-D/a/ -T /t -D /b,", "/a/"),
            ("-T /t", "/tmp"),
        ] {
            let shim = uftp::receiver(&words(&format!("-d {line}"))).unwrap();
            let expected = format!("recv {dir} --create-dirs --group 230.4.4.1:1044");
            assert_eq!(shown(&shim), expected, "{line}");
        }
    }

    #[test]
    fn under_its_own_name_nothing_is_changed() {
        let own = words("/usr/bin/fanfare send --async");
        assert_eq!(translate(own.clone()).unwrap(), own);
    }
}
