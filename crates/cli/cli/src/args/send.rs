//! Options of `fanfare send`, and what they come to.

use std::{path::PathBuf, time::Duration};

use clap::{Args, ValueEnum};
use fanfare_command::config::FileArgs;
use fanfare_files::{Expect, GatherOptions, NamedPath, Packing, SendOptions, Slow, Transfer};
use fanfare_node::{
    is_private_host,
    proto::{Bitrate, CongestionControl, SenderConfig},
};

use super::{
    choice::ChoiceArgs,
    code::CodeArgs,
    controllers::{Cc, default_rate},
    expect,
    hosts::{HostArgs, Hosts},
    layers::LayersArgs,
    meeting::OfferArgs,
    metadata::CarryArgs,
    network::{NameArgs, NetArgs},
    signing::SigningArgs,
    start::StartArgs,
    streams::StreamsArgs,
    watch::WatchArgs,
};
use crate::send::{SendPlan, Streaming};
use fanfare_command::view::AdaptArgs;
use fanfare_command::{Exit, Failure, Help, OutputArgs, units};

/// Repetitions of the last flush when nobody is asked: the GRTT is not known then, and the cautious
/// first guess of it makes twenty of them take ten seconds.
const ONE_WAY_FLUSHES: u32 = 5;
/// How long receivers are waited for, and may be silent: whoever answers, and who is expected.
const ANYONE_WAIT: Duration = Duration::from_secs(10);
const EXPECTED_WAIT: Duration = Duration::from_secs(30);
/// How long hosts of --to are waited for at the start: one that does not run should not hold up the
/// others.
const HOST_WAIT: Duration = Duration::from_secs(5);
/// Requests to a receiver before it is given up: a second at the shortest interval of 20 ms. With
/// NORM's twenty, one whose disk blocks it for half a second would be lost.
const REQUESTS: u32 = 50;
const HELP: Help = Help::new(&[
    ("fanfare send disk.img --expect 30", "wait for 30 receivers"),
    ("fanfare send model.bin --to 10.0.3.7,10.0.3.8", "two hosts without multicast"),
    ("fanfare send holiday.zip --code", "to whoever is told the code"),
])
.exits(&[
    (Exit::Done, "every receiver has every byte"),
    (Exit::Failed, "a file could not be sent"),
    (Exit::Partial, "some receivers do not have everything; they are listed"),
    (Exit::Permission, "permission denied"),
    (Exit::Resource, "disk, memory or port missing on this machine"),
    (Exit::Nobody, "no receiver answered"),
    (Exit::Interrupted, "interrupted by Ctrl-C"),
])
.files(&[
    ("--config FILE", "more options, in TOML; see docs/reference/configuration.md"),
    ("--receipts FILE", "receipts as JSON; see docs/reference/json-events.md"),
    ("--streams FILE", "several transfers, in TOML; see docs/reference/configuration.md"),
]);

/// Send files, directories or standard input to many machines
///
/// The receivers run 'fanfare recv'. Each packet is sent once, to a multicast group, and reaches
/// all of them. Receivers request what they lost, and confirm when they have every byte. The
/// command exits when all have confirmed, and lists the receivers that have not.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(crate) struct SendArgs {
    /// Files and directories to send; - is standard input
    ///
    /// PATH=NAME sends a path under another name. Two paths that receivers would give one name are
    /// refused. Files and directories, symbolic and hard links, holes, names, permissions and times
    /// arrive as they are. Owners, extended attributes, ACLs and the setuid bit need --archive or
    /// their own option. Pipes, sockets and devices are left out and named. Symbolic links that are
    /// absolute, or go up after they went down, count as links that lead out; see --links. A link
    /// named on the command line is followed.
    #[arg(required_unless_present_any = ["streams", "files_from"], value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Wait for this many receivers, for these names, or for those in a list of keys
    ///
    /// Names have commas between. A FILE has a name and a key in each line ('fanfare trust'): only receipts
    /// signed with these keys count. Without it, everybody who answers is a receiver.
    #[arg(long, value_name = "N|NAMES|FILE")]
    expect: Option<String>,
    /// How long a receiver may be silent [default: 30s with --expect, else 10s]
    ///
    /// At the start, during the transfer and at the end. At the start --first-wait, --start-wait and
    /// --gather may say otherwise.
    #[arg(long, value_name = "TIME", help_heading = "Receivers", hide_short_help = true)]
    wait: Option<String>,
    #[command(flatten)]
    start: StartArgs,
    /// Send without any feedback, and exit when everything has been sent
    #[arg(long, alias = "no-wait", help_heading = "Receivers", hide_short_help = true)]
    one_way: bool,
    /// Count a plain NORM receiver's acknowledgement as complete
    #[arg(long, help_heading = "Receivers", hide_short_help = true)]
    accept_plain: bool,
    /// Repeat the whole transfer N times, for receivers that join late or cannot send
    #[arg(
        long,
        default_value_t = 0,
        value_name = "N",
        help_heading = "Receivers",
        hide_short_help = true
    )]
    carousel: u32,
    /// What to do about slow receivers
    #[arg(
        long,
        value_enum,
        default_value = "keep",
        help_heading = "Receivers",
        hide_short_help = true
    )]
    slow: SlowPolicy,
    /// A receiver below this rate counts as slow [default with --slow tail: half of the median]
    #[arg(
        long,
        value_name = "RATE",
        allow_hyphen_values = true,
        help_heading = "Receivers",
        hide_short_help = true
    )]
    min_rate: Option<String>,
    /// Announce everything, and send only what receivers request
    ///
    /// For receivers that have most of it already. A device or file that goes to receivers with --to
    /// is resumed in this way after an interruption.
    #[arg(long, conflicts_with = "one_way", help_heading = "What is sent", hide_short_help = true)]
    sync: bool,
    /// Upper limit in bit/s, such as 10M [default: none]
    ///
    /// Also 64k, 1G or 64000. With --cc fixed, the rate is exactly this. With --one-way the default
    /// is 10M.
    #[arg(long, value_name = "RATE|auto", allow_hyphen_values = true)]
    rate: Option<String>,
    /// Congestion control algorithm [default: auto, or fixed with --one-way or --total-rate]
    ///
    /// --rate is the upper limit of all of them.
    #[arg(long, value_enum, help_heading = "Rate", hide_short_help = true)]
    cc: Option<Cc>,
    #[command(flatten)]
    code: CodeArgs,
    /// Send every file as an object of its own, for plain NORM receivers
    ///
    /// Otherwise small files share an object. Empty directories are not sent.
    #[arg(long, help_heading = "What is sent", hide_short_help = true)]
    no_pack: bool,
    /// Announce what the directories hold, for receivers with --allow-delete
    ///
    /// Those receivers delete what else they have in these directories.
    #[arg(long, help_heading = "What is sent", hide_short_help = true)]
    delete: bool,
    /// Put this directory before every name at the receivers
    #[arg(long, value_name = "DIR", help_heading = "What is sent", hide_short_help = true)]
    prefix: Option<String>,
    #[command(flatten)]
    choice: ChoiceArgs,
    #[command(flatten)]
    carry: CarryArgs,
    /// Send one file, device or pipe as it is read
    ///
    /// For receivers with --to or --stdout. Standard input and block devices are sent in this way
    /// unless the same bytes are needed twice. Blocks of zeros are not sent.
    #[arg(
        long,
        conflicts_with_all = ["one_way", "carousel", "delete", "no_pack", "layers"],
        help_heading = "What is sent",
        hide_short_help = true
    )]
    as_stream: bool,
    /// File name of standard input at the receivers
    #[arg(
        long,
        default_value = "stdin",
        value_name = "NAME",
        help_heading = "What is sent",
        hide_short_help = true
    )]
    stdin_name: String,
    /// Write receipts to this file: a line of JSON for each receiver and object
    #[arg(long, value_name = "FILE", help_heading = "Receivers", hide_short_help = true)]
    receipts: Option<PathBuf>,
    #[command(flatten)]
    hosts: HostArgs,
    #[command(flatten)]
    offer: OfferArgs,
    #[command(flatten)]
    layers: LayersArgs,
    #[command(flatten)]
    pub(crate) streams: StreamsArgs,
    #[command(flatten)]
    file: FileArgs,
    #[command(flatten)]
    net: NetArgs,
    #[command(flatten)]
    name: NameArgs,
    #[command(flatten)]
    signing: SigningArgs,
    #[command(flatten)]
    watch: WatchArgs,
    #[command(flatten)]
    adapt: AdaptArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// `--slow`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SlowPolicy {
    /// Slow down for them
    Keep,
    /// Finish them last
    Tail,
    /// Drop them
    Evict,
}

impl SendArgs {
    pub(crate) fn plan(&self) -> Result<SendPlan, Failure> {
        let Hosts { addresses: hosts, doubtful } = self.hosts.resolve(self.net.group()?.group)?;
        let alone = !hosts.is_empty() && !self.hosts.with_group();
        let only = if alone { &hosts[..] } else { &[] };
        let (mut expect, trusted) = expect::expect(self.expect.as_deref(), self.one_way, only)?;
        let patience = match &self.wait {
            Some(text) => units::time("wait", text)?,
            None if expect == Expect::Anyone => ANYONE_WAIT,
            None => EXPECTED_WAIT,
        };
        // One that does not run should not hold up the others.
        let for_hosts = self.wait.is_none() && matches!(expect, Expect::Hosts(_));
        let wait = if for_hosts { HOST_WAIT } else { patience };
        self.streams.check()?;
        let layered = self.layers.options(self.given_rate()?)?;
        let (congestion, rate) = self.pace(layered.is_some())?;
        let rate = layered.as_ref().map_or(rate, LayersArgs::sum);
        let defaults = SenderConfig::default();
        let config = SenderConfig {
            segment_size: self.code.segment_size()?,
            fec: self.code.config(self.net.matrix())?,
            rate,
            congestion,
            robust_factor: if self.one_way { ONE_WAY_FLUSHES } else { REQUESTS },
            patience: if self.one_way { Duration::ZERO } else { patience },
            ..defaults
        };
        let builder = self.net.builder()?.sender_config(config);
        let builder = builder.hosts(hosts.clone(), self.hosts.with_group());
        let builder = if self.hosts.are_copied_to() { builder.copies_only() } else { builder };
        let builder = if self.hosts.are_left() { builder.multicast_only() } else { builder };
        let builder = if self.code.may_fit() { builder.fit_segment() } else { builder };
        let is_public =
            !builder.is_sealed() && hosts.iter().any(|host| !is_private_host(host.ip()));
        let here = (&builder, self.net.interface(), &*self.name.get());
        let hosting = self.offer.plan(&mut expect, here, self.layers.lasting.as_deref())?;
        let options = SendOptions {
            expect,
            wait,
            start: self.start.wait(wait)?,
            place: self.start.place()?,
            one_way: self.one_way,
            accept_plain: self.accept_plain,
            carousel: self.carousel,
            sync: self.sync,
            slow: self.slow(rate)?,
            name: self.name.get(),
            identity: None,
            trusted,
        };
        let signing = self.signing.signing(options.trusted.is_some());
        Ok(SendPlan {
            paths: self.paths.iter().map(|path| NamedPath::parse(path.as_os_str())).collect(),
            streaming: self.streaming()?,
            choice: self.choice.list(&self.paths)?,
            dry_run: self.choice.dry_run,
            gather: GatherOptions {
                stdin_name: self.stdin_name.clone(),
                prefix: self.prefix.clone(),
                packing: if self.no_pack { Packing::Never } else { Packing::Small },
                listed: self.delete,
                links: self.carry.links(),
                carried: self.carry.carried(),
                selection: self.choice.selection()?,
            },
            receipts: self.receipts.clone(),
            signing,
            options,
            congestion,
            rate,
            given_rate: self.given_rate()?,
            builder: Transfer::over(builder),
            layered,
            place: (self.net.group()?.group, self.net.interface()),
            hosts: (hosts, self.hosts.with_group()),
            is_public,
            doubtful,
            hosting,
            watch: self.watch.plan()?,
            adapt: self.adapt.plan()?,
            record: self.start.record.clone(),
            output: self.output,
        })
    }

    /// What is sent once, as it is read, need not be kept; what is sent again is.
    fn streaming(&self) -> Result<Streaming, Failure> {
        if self.as_stream && self.paths.len() != 1 {
            let text = "as-stream (several paths): a stream is one file, device or pipe. Name one";
            return Err(Failure::usage("stream.invalid", text));
        }
        let again = self.one_way
            || self.carousel > 0
            || self.delete
            || self.no_pack
            || self.choice.files_from.is_some();
        Ok(match (self.as_stream, again || self.layers.is_given()) {
            (true, _) => Streaming::Always,
            (false, true) => Streaming::Never,
            (false, false) => Streaming::Suitable,
        })
    }

    /// What decides the rate, and the rate, or the most of it.
    fn pace(&self, over_layers: bool) -> Result<(CongestionControl, Bitrate), Failure> {
        let total = self.streams.total()?;
        let rate = self.given_rate()?.or(total);
        let cc = match self.cc {
            Some(cc) if (cc == Cc::Era) != over_layers => {
                let text = format!(
                    "cc ({}): era decides over layers, and nothing else does. Use --layers auto and \
                     --cc era, or neither",
                    cc.name()
                );
                return Err(Failure::usage("cc.invalid", text));
            }
            Some(Cc::Era) => Cc::Era,
            None if over_layers => Cc::Era,
            Some(cc) if self.one_way && cc != Cc::Fixed => {
                let text = format!(
                    "cc ({}): what decides the rate needs answers, and with --one-way there are none. \
                     Use --cc fixed and --rate",
                    cc.name()
                );
                return Err(Failure::usage("cc.invalid", text));
            }
            Some(cc) => cc,
            // --total-rate is shared out among streams: nothing decides about all of them together.
            None if self.one_way || total.is_some() => Cc::Fixed,
            None => Cc::Auto,
        };
        let control = cc.control();
        Ok((control, rate.unwrap_or_else(|| default_rate(control))))
    }

    /// What `--rate` says, unless that is `auto`.
    fn given_rate(&self) -> Result<Option<Bitrate>, Failure> {
        let given = self.rate.as_deref().filter(|text| *text != "auto");
        given.map(units::rate).transpose()
    }

    fn slow(&self, rate: Bitrate) -> Result<Slow, Failure> {
        let given = self.min_rate.as_deref().unwrap_or_default();
        let wrong =
            |value: &str, why: &str| Failure::usage("slow.invalid", format!("{value}: {why}"));
        let least = match &self.min_rate {
            Some(text) => Some(units::rate_of("min-rate", text)?),
            None => None,
        };
        let value = format!("min-rate ({given})");
        match (self.slow, least) {
            (SlowPolicy::Keep, Some(_)) => {
                Err(wrong(&value, "nobody is put off or out. Add --slow tail or --slow evict"))
            }
            (_, Some(least)) if least >= rate => {
                let why = format!("nobody gets as much at a rate of {rate}. Give a lower one");
                Err(wrong(&value, &why))
            }
            (policy @ (SlowPolicy::Evict | SlowPolicy::Tail), _) if self.one_way => {
                let value = if policy == SlowPolicy::Tail { "slow (tail)" } else { "slow (evict)" };
                Err(wrong(value, "nobody is heard with --one-way. Leave one of them out"))
            }
            (SlowPolicy::Keep, None) => Ok(Slow::Keep),
            (SlowPolicy::Tail, min_rate) => Ok(Slow::Tail { min_rate }),
            (SlowPolicy::Evict, Some(min_rate)) => Ok(Slow::Evict { min_rate }),
            (SlowPolicy::Evict, None) => {
                Err(wrong("slow (evict)", "below which rate is not said. Add --min-rate RATE"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use fanfare_files::StartWait;

    use super::*;

    #[derive(Parser)]
    struct Only {
        #[command(flatten)]
        send: SendArgs,
    }

    fn plan(args: &[&str]) -> Result<SendPlan, Failure> {
        Only::try_parse_from([&["x", "file"], args].concat()).unwrap().send.plan()
    }

    fn text(args: &[&str]) -> String {
        plan(args).unwrap_err().to_string()
    }

    #[test]
    fn a_block_too_long_for_its_field_is_refused_with_a_way_out() {
        assert_eq!(
            text(&["--fec", "200:100"]),
            "error: fec (200:100): k+parity = 300 > 255 for GF(2^8). Use --fec-id 2 or at most 255"
        );
        assert!(plan(&["--fec", "200:100", "--fec-id", "2"]).is_ok());
        assert!(text(&["--fec", "65000:1000", "--fec-id", "2"]).contains("65535"));
    }

    #[test]
    fn expectations_are_numbers_or_names() {
        let expect = |text| plan(&["--expect", text]).map(|plan| plan.options.expect);
        assert_eq!(expect("3").unwrap(), Expect::Count(3));
        assert_eq!(expect("a, b").unwrap(), Expect::Names(vec!["a".into(), "b".into()]));
        assert!(expect("0").is_err() && expect("a,,b").is_err());
        assert!(text(&["--expect", "1", "--one-way"]).contains("--one-way"));
    }

    #[test]
    fn the_rate_finds_itself_up_to_the_one_that_is_given_unless_that_is_fixed() {
        let pace = |args: &[&str]| plan(args).map(|plan| (plan.congestion, plan.rate));
        assert_eq!(pace(&[]).unwrap(), (CongestionControl::Auto, SenderConfig::RATE_MAX));
        assert_eq!(
            pace(&["--rate", "auto"]).unwrap(),
            (CongestionControl::Auto, SenderConfig::RATE_MAX)
        );
        let ceiling = (CongestionControl::Auto, Bitrate::mbps(2));
        assert_eq!(pace(&["--rate", "2M"]).unwrap(), ceiling);
        let fixed = (CongestionControl::Fixed, Bitrate::mbps(2));
        assert_eq!(pace(&["--rate", "2M", "--cc", "fixed"]).unwrap(), fixed);
        let most = (CongestionControl::Norm, Bitrate::mbps(2));
        assert_eq!(pace(&["--rate", "2M", "--cc", "norm"]).unwrap(), most);
        let blind = (CongestionControl::Fixed, Bitrate::mbps(10));
        assert_eq!(pace(&["--one-way"]).unwrap(), blind);
        assert!(text(&["--one-way", "--cc", "auto"]).contains("--one-way"));
    }

    #[test]
    fn era_belongs_to_layers() {
        let era = plan(&["--layers", "auto", "--cc", "era", "--one-way"]).unwrap();
        assert!(era.layered.is_some() && era.congestion == CongestionControl::Fixed);
        assert!(plan(&[]).unwrap().layered.is_none());
        assert!(text(&["--cc", "era"]).contains("--layers"));
        assert!(text(&["--layers", "auto", "--cc", "norm"]).contains("--layers"));
        assert!(text(&["--layers", "64k", "--rate", "1M"]).contains("--layers auto"));
    }

    #[test]
    fn a_least_rate_and_what_to_do_below_it_belong_together() {
        let slow = |args: &[&str]| plan(args).map(|plan| plan.options.slow);
        assert_eq!(slow(&[]).unwrap(), Slow::Keep);
        assert_eq!(slow(&["--slow", "tail"]).unwrap(), Slow::Tail { min_rate: None });
        let min_rate = Bitrate::mbps(2);
        let evict = slow(&["--slow", "evict", "--min-rate", "2M"]).unwrap();
        assert_eq!(evict, Slow::Evict { min_rate });
        assert!(text(&["--min-rate", "2M"]).contains("--slow tail"));
        assert!(text(&["--slow", "evict"]).contains("--min-rate"));
        assert!(
            text(&["--slow", "tail", "--min-rate", "10M", "--rate", "10M"]).contains("a lower one")
        );
        assert!(text(&["--slow", "tail", "--one-way"]).contains("--one-way"));
        assert!(text(&["--slow", "tail", "--min-rate", "fast"]).contains("min-rate (fast)"));
    }

    #[test]
    fn the_wait_depends_on_whether_somebody_is_expected() {
        assert_eq!(plan(&[]).unwrap().options.wait, Duration::from_secs(10));
        assert_eq!(plan(&["--expect", "1"]).unwrap().options.wait, Duration::from_secs(30));
    }

    #[test]
    fn the_first_receiver_and_the_others_are_waited_for_apart() {
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        let start = |args: &[&str]| plan(args).map(|plan| (plan.options.start, plan.options.wait));
        assert_eq!(start(&["--wait", "5s"]).unwrap(), (None, Duration::from_secs(5)));
        let args = ["--first-wait", "forever", "--start-wait", "10m", "--expect", "2"];
        let wait = StartWait { first: None, others: seconds(600), least: Duration::ZERO };
        assert_eq!(start(&args).unwrap(), (Some(wait), Duration::from_secs(30)));
        let wait = StartWait { first: seconds(10), others: None, least: Duration::from_secs(6) };
        let args = ["--gather", "6s", "--start-wait", "forever"];
        assert_eq!(start(&args).unwrap(), (Some(wait), Duration::from_secs(10)));
        assert!(text(&["--gather", "forever"]).contains("not a time"));
    }

    #[test]
    fn values_that_cannot_be_are_refused_in_one_line() {
        for args in [
            ["--rate", "10Gb"],
            ["--rate", "-1"],
            ["--segment", "7"],
            ["--fec", "0:1"],
            ["--fec", "x"],
            ["--fec-id", "6"],
            ["--parity", "200"],
            ["--ttl", "300"],
            ["--wait", "soon"],
            ["--group", "10.0.0.1:1"],
        ] {
            let text = text(&args);
            assert!(text.starts_with("error: ") && !text.contains('\n'), "{text}");
        }
    }
}
