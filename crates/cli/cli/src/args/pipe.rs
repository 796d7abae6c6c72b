//! Options of `fanfare pipe`, and what they come to.

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use fanfare_command::{Exit, Failure, Help, OutputArgs, units};
use fanfare_node::{
    proto::{Bitrate, CongestionControl, FecConfig, ReceiverConfig, SenderConfig, StreamPolicy},
    stream::{Expect, Flush, Framing, ReceiveOptions, SendOptions, Start},
};

use super::{
    controllers::{FlatCc, default_rate},
    network::{NameArgs, NetArgs},
};
use crate::pipe::{Gaps, PipeReceivePlan, PipeSendPlan};

/// A group of its own: receivers of files would take a stream for something to refuse.
const GROUP: &str = "239.255.42.3:6005";
/// Blocks shorter than those of files: a loss is noticed at the end of its block.
const BLOCK: (u16, u16) = (64, 64);
/// Requests to a receiver before it is given up, at least; see `fanfare send`.
const REQUESTS: u32 = 50;

const HELP: Help = Help::new(&[
    ("tar c . | fanfare pipe send --expect 3", "on the machine that has it"),
    ("fanfare pipe recv | tar x", "on each of the three"),
]);

const SEND: Help = Help::new(&[
    ("tar c . | fanfare pipe send --expect 3", "to three, and nothing may be missing"),
    ("tail -f log | fanfare pipe send --flush line", "to whoever listens"),
])
.exits(&[
    (Exit::Done, "every expected receiver has every byte, or nobody was expected"),
    (Exit::Failed, "standard input could not be read"),
    (Exit::Partial, "some receivers do not have everything; they are listed"),
    (Exit::Permission, "permission denied"),
    (Exit::Resource, "memory or port missing on this machine"),
    (Exit::Nobody, "no receiver answered"),
    (Exit::Interrupted, "interrupted by Ctrl-C"),
])
.files(&[("--key FILE", "the key that seals all packets, readable by its owner alone")]);

const RECV: Help = Help::new(&[
    ("fanfare pipe recv | tar x", "until the stream has ended"),
    ("fanfare pipe recv --from now --gaps skip", "a feed, from now on"),
    ("fanfare pipe recv --unordered", "lines that do not wait for each other"),
])
.exits(&[
    (Exit::Done, "the stream arrived whole, or nobody reads the output any more"),
    (Exit::Failed, "the command of --exec failed"),
    (Exit::Partial, "bytes are missing, which are named, or the stream did not end"),
    (Exit::Permission, "permission denied"),
    (Exit::Resource, "the output cannot be written; memory or port missing"),
    (Exit::Nobody, "nothing arrived within --timeout"),
    (Exit::Interrupted, "interrupted by Ctrl-C"),
])
.files(&[("--key FILE", "the key that seals all packets, readable by its owner alone")]);

/// Send standard input to the standard output of many machines
///
/// A pipe with one end here and the other end on every machine that receives. Bytes go as they come,
/// and nothing needs to be a file.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(crate) struct PipeArgs {
    #[command(subcommand)]
    pub(crate) command: PipeCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PipeCommand {
    Send(PipeSendArgs),
    Recv(PipeRecvArgs),
}

/// Send standard input to many machines
///
/// The receivers run 'fanfare pipe recv'. With --expect the first byte waits until they are there, and
/// the command ends when they have everything.
#[derive(Debug, Args)]
#[command(
    mut_arg("group", |group| group.default_value(GROUP)),
    after_help = SEND.short(), after_long_help = SEND.long()
)]
pub(crate) struct PipeSendArgs {
    /// Wait for this many receivers, or for these names
    ///
    /// Names have commas between. Without it, the stream goes to whoever listens, and nobody is asked
    /// what has arrived.
    #[arg(long, value_name = "N|NAMES")]
    expect: Option<String>,
    /// What happens when receivers are slow [default: lossless with --expect, else repaired]
    #[arg(long, value_enum)]
    policy: Option<Policy>,
    /// How many bytes to keep for repair; the sender holds twice as much
    #[arg(long, default_value = "8MiB", value_name = "SIZE", help_heading = "Stream")]
    buffer: String,
    /// When bytes go that do not fill a packet: idle, line, none, or a time such as 20ms
    ///
    /// idle: as soon as nothing else is to be sent. line: after each line. none: at the end. A time:
    /// so long after the first of them came.
    #[arg(
        long,
        default_value = "idle",
        value_name = "WHEN",
        help_heading = "Stream",
        hide_short_help = true
    )]
    flush: String,
    /// How long bytes are of use: what is older is neither sent nor repaired
    #[arg(long, value_name = "TIME", help_heading = "Stream", hide_short_help = true)]
    lifetime: Option<String>,
    /// How long to wait for receivers at the start, and for one that falls silent
    #[arg(
        long,
        default_value = "30s",
        value_name = "TIME",
        help_heading = "Receivers",
        hide_short_help = true
    )]
    wait: String,
    /// Upper limit in bit/s, such as 10M [default: none with --expect, else 10M]
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    rate: Option<String>,
    /// Congestion control algorithm [default: auto with --expect, else fixed]
    #[arg(long, value_enum, help_heading = "Rate", hide_short_help = true)]
    cc: Option<FlatCc>,
    /// Payload bytes of a packet [default: 1400, or what the interface carries, up to 8192]
    #[arg(long, value_name = "BYTES", hide_short_help = true)]
    segment: Option<String>,
    #[command(flatten)]
    net: NetArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Receive a stream, and write it to standard output
///
/// The first stream in the group is taken. Lost packets are requested again.
#[derive(Debug, Args)]
#[command(
    mut_arg("group", |group| group.default_value(GROUP)),
    mut_arg("quiet", |quiet| quiet.help("Print nothing but the stream and errors")),
    mut_arg("json", |json| json.help("Print one JSON object per line on standard output; needs --exec")),
    after_help = RECV.short(), after_long_help = RECV.long()
)]
pub(crate) struct PipeRecvArgs {
    /// Where to begin if the stream is under way
    #[arg(long, value_enum, default_value = "start")]
    from: From,
    /// What to do about bytes that are lost for good
    #[arg(long, value_enum, default_value = "stop")]
    gaps: Lost,
    /// Write each line as soon as it is here, in whatever order
    ///
    /// A line that is lost on the way and repaired does not hold back the lines behind it. The sender
    /// needs --flush line.
    #[arg(long, hide_short_help = true)]
    unordered: bool,
    /// Write the stream to the standard input of this shell command
    #[arg(long, value_name = "COMMAND")]
    exec: Option<String>,
    /// Exit if nothing arrives for this time
    #[arg(long, value_name = "TIME", help_heading = "When to exit", hide_short_help = true)]
    timeout: Option<String>,
    /// Memory for what has arrived and waits for repair
    #[arg(long, default_value = "64MiB", value_name = "SIZE", hide_short_help = true)]
    buffer: String,
    #[command(flatten)]
    net: NetArgs,
    #[command(flatten)]
    name: NameArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// `--policy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Policy {
    /// Wait for them: every expected receiver gets every byte
    Lossless,
    /// Repair what they request in time, and go on
    Repaired,
    /// Never wait: new bytes take the place of old ones
    Live,
}

impl std::convert::From<Policy> for StreamPolicy {
    fn from(policy: Policy) -> Self {
        match policy {
            Policy::Lossless => Self::Lossless,
            Policy::Repaired => Self::Repaired,
            Policy::Live => Self::Live,
        }
    }
}

/// `--from`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum From {
    /// With its first byte, or the earliest that can still be had
    Start,
    /// With what is sent now
    Now,
}

/// `--gaps`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Lost {
    /// Write nothing more, and exit with code 3
    Stop,
    /// Write zero bytes in their place
    Mark,
    /// Go on with what comes behind them
    Skip,
}

impl PipeSendArgs {
    pub(crate) fn plan(&self) -> Result<PipeSendPlan, Failure> {
        let expect = self.expect()?;
        let waits = expect != Expect::Nobody;
        let policy = self.policy(waits)?;
        let wait = units::time("wait", &self.wait)?;
        let (congestion, rate) = self.pace(waits)?;
        let config = SenderConfig {
            segment_size: self.segment()?,
            fec: FecConfig { source: BLOCK.0, parity: BLOCK.1, ..FecConfig::default() },
            rate,
            congestion,
            robust_factor: REQUESTS,
            patience: wait,
            ..SenderConfig::default()
        };
        let network = self.net.builder()?.sender_config(config);
        let network = if self.segment.is_none() { network.fit_segment() } else { network };
        let (flush, lines) = self.flush()?;
        let lifetime = self.lifetime.as_deref().map(|text| units::time("lifetime", text));
        let options = SendOptions {
            expect,
            policy,
            buffer: units::bytes("buffer", &self.buffer)?,
            flush,
            framing: if lines { Framing::Line } else { Framing::Raw },
            lifetime: lifetime.transpose()?,
            wait,
            ..SendOptions::default()
        };
        Ok(PipeSendPlan { network, options, lines, output: self.output })
    }

    fn expect(&self) -> Result<Expect, Failure> {
        let Some(text) = &self.expect else { return Ok(Expect::Nobody) };
        let wrong = |why: &str| {
            let text =
                format!("expect ({text}): {why}. Give a number such as 3, or names such as a,b");
            Failure::usage("expect.invalid", text)
        };
        if text.chars().all(|c| c.is_ascii_digit()) {
            return match text.parse() {
                Ok(0) | Err(_) => Err(wrong("not a number of receivers")),
                Ok(count) => Ok(Expect::Count(count)),
            };
        }
        let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
        match names.iter().any(String::is_empty) {
            true => Err(wrong("a name is empty")),
            false => Ok(Expect::Names(names.into_iter().collect())),
        }
    }

    fn policy(&self, waits: bool) -> Result<StreamPolicy, Failure> {
        let refused = |text: &str| Err(Failure::usage("policy.invalid", text));
        match (self.policy, waits) {
            (Some(Policy::Lossless), false) => refused(
                "policy (lossless): nobody is asked what has arrived. Add --expect, or use repaired",
            ),
            (Some(Policy::Lossless) | None, true) if self.lifetime.is_some() => refused(
                "policy (lossless): with --lifetime bytes may be left out. Use --policy repaired",
            ),
            (Some(policy), _) => Ok(policy.into()),
            (None, true) => Ok(StreamPolicy::Lossless),
            (None, false) => Ok(StreamPolicy::Repaired),
        }
    }

    fn pace(&self, waits: bool) -> Result<(CongestionControl, Bitrate), Failure> {
        // What decides the rate needs answers.
        let otherwise = if waits { FlatCc::Auto } else { FlatCc::Fixed };
        let cc = CongestionControl::from(self.cc.unwrap_or(otherwise));
        let rate = self.rate.as_deref().filter(|text| *text != "auto");
        Ok((cc, rate.map(units::rate).transpose()?.unwrap_or(default_rate(cc))))
    }

    fn segment(&self) -> Result<u16, Failure> {
        let given = self.segment.as_deref().map(units::segment).transpose()?;
        Ok(given.unwrap_or(SenderConfig::default().segment_size))
    }

    /// When to flush, and whether each line is.
    fn flush(&self) -> Result<(Flush, bool), Failure> {
        match self.flush.as_str() {
            "idle" => Ok((Flush::Idle, false)),
            "line" => Ok((Flush::Asked, true)),
            "none" => Ok((Flush::Asked, false)),
            time => Ok((Flush::After(self.flush_after(time)?), false)),
        }
    }

    fn flush_after(&self, time: &str) -> Result<Duration, Failure> {
        units::time("flush", time).map_err(|_| {
            let text = format!(
                "flush ({}): not a time. Write it as 20ms, or give idle, line or none",
                self.flush
            );
            Failure::usage("flush.invalid", text)
        })
    }
}

impl PipeRecvArgs {
    pub(crate) fn plan(&self) -> Result<PipeReceivePlan, Failure> {
        if self.output.json && self.exec.is_none() {
            let text = "json (true): the stream goes to standard output. Add --exec COMMAND";
            return Err(Failure::usage("json.invalid", text));
        }
        if self.unordered && self.gaps == Lost::Mark {
            let text =
                "gaps (mark): has no place without order. Use skip, or leave out --unordered";
            return Err(Failure::usage("gaps.invalid", text));
        }
        let buffer = units::bytes("buffer", &self.buffer)?;
        let config = ReceiverConfig {
            stream_buffer: usize::try_from(buffer).unwrap_or(usize::MAX),
            ..ReceiverConfig::default()
        };
        let timeout = self.timeout.as_deref();
        let options = ReceiveOptions {
            name: self.name.get(),
            start: match self.from {
                From::Start => Start::Earliest,
                From::Now => Start::Now,
            },
            unordered: self.unordered,
            ..ReceiveOptions::default()
        };
        Ok(PipeReceivePlan {
            // It sends no data: no link is too narrow for it.
            network: self
                .net
                .builder()?
                .await_interface()
                .shorten_segment()
                .receiver_config(config),
            options,
            gaps: match self.gaps {
                Lost::Stop => Gaps::Stop,
                Lost::Mark => Gaps::Mark,
                Lost::Skip => Gaps::Skip,
            },
            command: self.exec.clone(),
            timeout: timeout.map(|text| units::time("timeout", text)).transpose()?,
            output: self.output,
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Only {
        #[command(flatten)]
        send: PipeSendArgs,
    }

    fn plan(args: &[&str]) -> Result<PipeSendPlan, Failure> {
        Only::try_parse_from([&["x"], args].concat()).unwrap().send.plan()
    }

    #[test]
    fn who_expects_receivers_loses_nothing_and_who_does_not_goes_on() {
        let policy = |args: &[&str]| plan(args).map(|plan| plan.options.policy);
        assert_eq!(policy(&["--expect", "3"]).unwrap(), StreamPolicy::Lossless);
        assert_eq!(policy(&[]).unwrap(), StreamPolicy::Repaired);
        let live = policy(&["--policy", "live", "--lifetime", "2s"]).unwrap();
        assert_eq!(live, StreamPolicy::Live);
        assert!(policy(&["--policy", "lossless"]).is_err());
        assert!(policy(&["--expect", "3", "--lifetime", "2s"]).is_err());
    }

    #[test]
    fn bytes_are_flushed_when_idle_after_lines_or_after_a_time() {
        let flush = |text| plan(&["--flush", text]).map(|plan| (plan.options.flush, plan.lines));
        assert_eq!(flush("idle").unwrap(), (Flush::Idle, false));
        assert_eq!(flush("line").unwrap(), (Flush::Asked, true));
        assert_eq!(plan(&["--flush", "line"]).unwrap().options.framing, Framing::Line);
        assert_eq!(flush("none").unwrap(), (Flush::Asked, false));
        assert_eq!(flush("20ms").unwrap().0, Flush::After(Duration::from_millis(20)));
        let error = flush("often").unwrap_err().text;
        assert_eq!(
            error,
            "flush (often): not a time. Write it as 20ms, or give idle, line or none"
        );
    }
}
