//! `fanfare recv`.

use std::{
    path::{Path, PathBuf},
    sync::mpsc::RecvTimeoutError,
    time::Duration,
};

use clap::{Args, ValueEnum};
use fanfare_files::{
    Conflict, ReceiveEvent, ReceiveOptions, Transfer, TransferEvent, Until,
    event::{Finished, ReceiveEnd, ReceiveReport},
    receipt::Reason,
};
use fanfare_node::{
    Network,
    proto::{FeedbackPath, JoinPolicy, ReceiverConfig},
};

use crate::{
    config::{FileArgs, Reload},
    deletion,
    exit::{Exit, Failure, id_taken, rejoined},
    interrupt,
    json::{Evicted, Failed, Gone, LayersLine, Line, Mending, Object, Resumed, Sender, Start},
    net_args::{NameArgs, NetArgs, parse_node_id},
    overruns::{self, Overruns},
    progress::{Output, OutputArgs},
    units,
};

/// How often to look whether the node still lives; events come at once.
const POLL: Duration = Duration::from_millis(500);

/// Receive files into a directory
#[derive(Debug, Args)]
pub(crate) struct RecvArgs {
    /// Where files are put, and nowhere else
    #[arg(default_value = ".", value_name = "DIR")]
    dir: PathBuf,
    /// End when the first sender that sent something has said good-bye
    #[arg(long)]
    once: bool,
    /// End when N files are in their place: files that come, and files sent that were here already,
    /// from an earlier run too; each is counted when it is told
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// Receive from this sender only
    #[arg(long, value_name = "ID")]
    from: Option<String>,
    /// Send nothing at all; loss is not repaired on request, and no sender knows of it
    #[arg(long)]
    silent: bool,
    /// Send NACKs to the sender alone instead of the group
    #[arg(long)]
    unicast_nack: bool,
    /// Replace files that are there already; without this the new one becomes NAME.1
    #[arg(long)]
    overwrite: bool,
    /// Remove what earlier attempts have left of unfinished files, instead of using it
    #[arg(long)]
    discard_parts: bool,
    /// Keep files that are there already; where the new one differs, the sender is told
    #[arg(long, conflicts_with = "overwrite")]
    keep: bool,
    /// Where a sender asks for it with --delete, remove what is in the directories it sends, and not
    /// at the sender; DIR has to be named. Nothing is authenticated: anyone who can send to the
    /// group can ask
    #[arg(long, requires = "dir")]
    allow_delete: bool,
    /// Remove nothing where it would be more than N names
    #[arg(long, value_name = "N", requires = "allow_delete")]
    max_delete: Option<u64>,
    /// Create DIR
    #[arg(long)]
    create_dirs: bool,
    /// What to ask for when coming late: nothing earlier, the object under way, or everything
    #[arg(long, value_enum, default_value = "all")]
    join: Join,
    /// End when nothing new has come for so long
    #[arg(long, value_name = "TIME")]
    timeout: Option<String>,
    #[command(flatten)]
    pub(crate) file: FileArgs,
    #[command(flatten)]
    net: NetArgs,
    #[command(flatten)]
    name: NameArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Join {
    Now,
    Object,
    All,
}

impl From<Join> for JoinPolicy {
    fn from(join: Join) -> Self {
        match join {
            Join::Now => Self::FromNow,
            Join::Object => Self::ObjectStart,
            Join::All => Self::AllCached,
        }
    }
}

pub(crate) fn run(args: &RecvArgs) -> Exit {
    let output = Output::new(args.output);
    match receive(args, &output) {
        Ok(exit) => exit,
        Err(failure) => crate::give_up(&output, &failure),
    }
}

fn receive(args: &RecvArgs, output: &Output) -> Result<Exit, Failure> {
    let (network, options) = args.plan()?;
    let node = Transfer::over(network).receive(&args.dir, options).start()?;
    interrupt::stop_on_interrupt(node.stopper());
    output.event(&Line::Start(Start {
        group: node.group().to_string(),
        node_id: node.id().0,
        interface: node.interface().map(|interface| interface.name.clone()),
        objects: None,
        bytes: None,
        dir: Some(args.dir.display().to_string()),
    }));
    let on = node.interface().map_or_else(String::new, |i| format!(" on {}", i.name));
    let (dir, name) = (args.dir.display(), args.name.get());
    output.text(&format!("receiving from {}{on} into {dir} as {name}", node.group()));
    watch(&node, &args.dir, output, Reload::new(&args.file));
    output.clear();
    Ok(conclude(output, node.finish(), args.timeout.as_deref().unwrap_or_default()))
}

impl RecvArgs {
    /// The options, understood.
    pub(crate) fn plan(&self) -> Result<(Network, ReceiveOptions), Failure> {
        let config = ReceiverConfig {
            join: self.join.into(),
            silent: self.silent,
            matrix: self.net.matrix(),
            ..ReceiverConfig::default()
        };
        let feedback = if self.unicast_nack { FeedbackPath::Sender } else { FeedbackPath::Group };
        let builder = self.net.builder()?.receiver_config(config).feedback(feedback);
        Ok((builder, self.options()?))
    }

    fn options(&self) -> Result<ReceiveOptions, Failure> {
        let until = match (self.count, self.once) {
            (Some(count), _) => Until::Files(count),
            (None, true) => Until::SenderEnded,
            (None, false) => Until::Stopped,
        };
        let timeout =
            self.timeout.as_deref().map(|text| units::time("timeout", text)).transpose()?;
        let from = self.from.as_deref().map(|id| parse_node_id("from", id)).transpose()?;
        Ok(ReceiveOptions {
            name: self.name.get(),
            conflict: self.conflict(),
            create_dirs: self.create_dirs,
            discard_parts: self.discard_parts,
            allow_delete: self.allow_delete,
            max_delete: self.max_delete,
            from,
            until,
            timeout,
        })
    }
}

impl RecvArgs {
    fn conflict(&self) -> Conflict {
        match (self.overwrite, self.keep) {
            (true, _) => Conflict::Overwrite,
            (false, true) => Conflict::Keep,
            (false, false) => Conflict::KeepBoth,
        }
    }
}

fn watch(node: &Transfer, dir: &Path, output: &Output, mut reload: Reload) {
    let mut overruns = Overruns::default();
    loop {
        reload.on_hangup::<RecvArgs>(node, output);
        match node.next_event(POLL) {
            Ok(TransferEvent::Receive(event)) => show(&event, dir, output),
            Ok(TransferEvent::SendRefused { why }) => {
                output.warn("send.refused", format!("the system refuses to send: {why}"));
            }
            Ok(TransferEvent::ReceiveFailed { why }) => {
                output.warn("receive.failed", format!("nothing can be received: {why}"));
            }
            Ok(TransferEvent::Rejoined { interface }) => {
                output.warn("interface.back", rejoined(&interface));
            }
            Ok(TransferEvent::NodeIdTaken { id, own, other, new }) => {
                output.warn("node_id.taken", id_taken(id, own, other, new));
            }
            Ok(TransferEvent::Overrun { lost }) => {
                output.warn("overrun", format!("{lost} events were lost"));
            }
            Ok(TransferEvent::BufferOverrun { runs }) => {
                if let Some(text) = overruns.on_overrun(runs) {
                    output.warn("receive.overrun", text);
                }
            }
            Ok(TransferEvent::Send(_)) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn show(event: &ReceiveEvent, dir: &Path, output: &Output) {
    match event {
        ReceiveEvent::Sender { id, source } => {
            output.event(&Line::Sender(Sender { id: id.0, source: source.to_string() }));
        }
        ReceiveEvent::Object { key, name, size } => output.event(&Line::Object(Object {
            id: key.object.0,
            sender: key.sender.0,
            name: name.clone(),
            size: *size,
        })),
        ReceiveEvent::Progress(progress) => {
            output.event(&Line::receive_progress(progress));
            let message = format!("loss {:.1} %", progress.loss * 100.0);
            output.progress(progress.bytes, progress.total_bytes, message);
        }
        ReceiveEvent::Resumed { key, name, bytes, size } => {
            let shown = name.clone().unwrap_or_else(|| format!("object {}", key.object));
            let (had, all) = (units::size(*bytes), units::size(*size));
            output.text(&format!("resuming '{shown}': {had} of {all} are here"));
            output.event(&Line::Resumed(Resumed {
                id: key.object.0,
                sender: key.sender.0,
                name: name.clone(),
                bytes: *bytes,
                size: *size,
            }));
        }
        ReceiveEvent::Mending { key, name, bytes } => {
            let shown = name.clone().unwrap_or_else(|| format!("object {}", key.object));
            let wrong = units::size(*bytes);
            output.text(&format!("warning: '{shown}': {wrong} came wrong and are asked for again"));
            output.event(&Line::Mending(Mending {
                id: key.object.0,
                sender: key.sender.0,
                name: name.clone(),
                bytes: *bytes,
            }));
        }
        ReceiveEvent::File { key, placed, elapsed } => {
            let path = dir.join(placed.name.to_string()).display().to_string();
            output.data(&path);
            if placed.already {
                output.text(&format!("'{path}' is already here"));
            }
            if let Some(why) = placed.name_rejected {
                output.text(&format!("warning: '{path}' has not its sender's name: {why}"));
            }
            output.event(&Line::file(*key, placed, path, elapsed.as_secs_f64()));
        }
        ReceiveEvent::Failed { key, name, reason } => {
            let shown = name.clone().unwrap_or_else(|| format!("object {}", key.object));
            output.text(&format!("warning: '{shown}' was not received: {}", reason.name()));
            output.event(&Line::Failed(Failed {
                id: key.object.0,
                sender: key.sender.0,
                name: name.clone(),
                reason: reason.name().to_owned(),
            }));
        }
        event @ (ReceiveEvent::Deleted { .. } | ReceiveEvent::Deletion { .. }) => {
            deletion::show(event, dir, output);
        }
        event @ (ReceiveEvent::Level { .. } | ReceiveEvent::Refused { .. }) => {
            show_layers(event, output);
        }
        ReceiveEvent::Evicted { id } => {
            output.text(&format!(
                "warning: sender {id} goes on without this receiver: too little of what it sends \
                 arrives here"
            ));
            output.event(&Line::Evicted(Evicted { sender: id.0 }));
        }
        ReceiveEvent::SenderGone { id, said } => {
            output.event(&Line::Gone(Gone { id: id.0, said: *said }));
        }
    }
}

fn show_layers(event: &ReceiveEvent, output: &Output) {
    match event {
        ReceiveEvent::Level { id, level, rate, loss, overhead } => {
            output.event(&Line::Layers(LayersLine {
                sender: id.0,
                level: *level as u64,
                rate_bps: rate.as_bps(),
                loss: *loss,
                overhead: *overhead,
            }));
        }
        ReceiveEvent::Refused { id, why } => {
            output.warn("layers.refused", format!("layers of sender {id}: {why}"));
        }
        _ => {}
    }
}

fn conclude(output: &Output, finished: Finished, timeout: &str) -> Exit {
    let Some(report) = finished.received else { return Exit::Failed };
    if finished.overruns > 0 {
        output.text(&overruns::summary(finished.overruns));
    }
    let failure = failure_of(&report, timeout);
    let exit = failure.as_ref().map_or(Exit::Done, |failure| failure.exit);
    match &failure {
        Some(failure) if exit != Exit::Interrupted => output.failure(failure),
        _ => {}
    }
    if output.is_json() {
        output.event(&Line::receive_result(&report, finished.overruns, exit as u8));
    }
    exit
}

fn failure_of(report: &ReceiveReport, timeout: &str) -> Option<Failure> {
    match report.end {
        ReceiveEnd::Interrupted => {
            Some(Failure::new(Exit::Interrupted, "interrupted", "interrupted"))
        }
        ReceiveEnd::TimedOut => {
            let text = format!(
                "timeout ({timeout}): nothing new came for so long. Check that a sender is on this \
                 group and interface"
            );
            Some(Failure::new(Exit::Nobody, "timeout", text))
        }
        ReceiveEnd::Complete if report.failures.is_empty() => None,
        ReceiveEnd::Complete => {
            let disk = |reason: &Reason| matches!(reason, Reason::DiskFull | Reason::DiskError);
            let exit = if report.files > 0 {
                Exit::Partial
            } else if report.failures.iter().all(|(_, reason)| disk(reason)) {
                Exit::Resource
            } else {
                Exit::Failed
            };
            let text = format!(
                "files ({} of {}): the others could not be had. See the warnings, and have them \
                 sent again",
                report.files,
                report.files + report.failures.len() as u64
            );
            Some(Failure::new(exit, "partial", text))
        }
    }
}
