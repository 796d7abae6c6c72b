//! `fanfare video send`.
//!
//! - `plan`: what is to be sent
//! - `encoder`: ffmpeg as a child, and what it has written
//! - `sending`: segments as messages, to who wants them

mod encoder;
mod farewell;
mod plan;
mod sending;

use clap::Args;
use fanfare_command::{Exit, Failure, Help, Output, OutputArgs, give_up, interrupt, units};
use fanfare_node::proto::Duration;
use fanfare_video::{encoding::Source, ladder, topics};

use crate::video::{EXITS, member::MemberArgs};
use encoder::Encoder;
use plan::Plan;
use sending::Sending;

const HELP: Help = Help::new(&[
    ("fanfare video send test --name gate", "bars, a running number and a tone"),
    ("fanfare video send rtsp://camera/1 --renditions 64k,400k", "a camera of the network"),
])
.exits(EXITS)
.files(&[
    ("--key FILE", "a key of a group; see 'fanfare key new'"),
    ("ffmpeg, ffprobe", "they decode and encode; in the PATH"),
]);

/// A rendition needs so much more of the rate than it has: headers and repairs.
const ROOM: f64 = 1.2;

/// Send video to a group
///
/// ffmpeg makes each rendition of the source, and each segment of a rendition is a message. What no
/// node wants is not sent.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(crate) struct SendArgs {
    /// A file, an address (rtsp, rtp, udp, http), a camera (/dev/video0), or 'test'
    #[arg(value_name = "SOURCE")]
    source: String,
    /// What the stream is called
    #[arg(long, default_value = "video", value_name = "NAME")]
    name: String,
    /// Rates of the renditions, pictures and sound together
    #[arg(long, default_value = "64k,200k,400k,1500k", value_name = "RATES")]
    renditions: String,
    /// How long a segment is: shorter ones come sooner, longer ones look better
    #[arg(long, default_value = "1s", value_name = "TIME")]
    segment: String,
    /// Send every rendition, whoever wants it
    #[arg(long, hide_short_help = true)]
    all: bool,
    /// After the end of the source, repair for so long
    #[arg(long, default_value = "10s", value_name = "TIME", hide_short_help = true)]
    stay: String,
    #[command(flatten)]
    member: MemberArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl SendArgs {
    fn plan(&self) -> Result<Plan, Failure> {
        if !topics::is_name(&self.name) || self.name.is_empty() {
            let text = format!(
                "name ({}): letters, digits, - and _ only, at most 64. Give another",
                self.name
            );
            return Err(Failure::usage("name.invalid", text));
        }
        let ladder = ladder::parse(&self.renditions)
            .map_err(|error| Failure::usage("renditions.invalid", error.to_string()))?;
        let rate = self.member.rate()?.as_bps() as f64;
        if let Some(high) = ladder.iter().find(|rendition| rendition.rate as f64 * ROOM > rate) {
            let text = format!(
                "rendition ({}): is above what --rate ({rate} bit/s) carries. Raise --rate, or leave \
                 it out",
                high.name
            );
            return Err(Failure::usage("rendition.too_fast", text));
        }
        let segment = units::time("segment", &self.segment)?;
        if !(Duration::from_millis(200)..=Duration::from_secs(10)).contains(&segment) {
            let text = format!("segment ({}): not from 200ms to 10s. Give 1s", self.segment);
            return Err(Failure::usage("segment.invalid", text));
        }
        Ok(Plan {
            source: Source::parse(&self.source),
            name: self.name.clone(),
            ladder,
            segment,
            all: self.all,
            stay: units::time("stay", &self.stay)?,
            keep: self.member.keep()?,
        })
    }
}

pub(crate) fn run(args: &SendArgs) -> Exit {
    let output = Output::new(args.output);
    match send(args, &output) {
        Ok(exit) => {
            output.event(&fanfare_command::Notice::result(exit as u8));
            exit
        }
        Err(failure) => give_up(&output, &failure),
    }
}

fn send(args: &SendArgs, output: &Output) -> Result<Exit, Failure> {
    let plan = args.plan()?;
    let encoder = Encoder::start(&plan)?;
    let group = args.member.join()?;
    interrupt::stop_on_interrupt(group.stopper());
    output.event(&crate::video::lines::Line::Start {
        group: group.address().to_string(),
        node_id: group.id().0,
        address: None,
        at_ms: crate::video::lines::now_ms(),
    });
    output.text(&format!("sending '{}' to {}", plan.name, group.address()));
    Sending::new(&group, &plan, output).run(encoder)
}
