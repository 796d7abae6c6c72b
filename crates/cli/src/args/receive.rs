//! Options of `fanfare recv`, and what they come to.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use fanfare_command::{Failure, OutputArgs, units};
use fanfare_files::{Conflict, ReceiveOptions, Until};
use fanfare_node::proto::{FeedbackPath, JoinPolicy, ReceiverConfig};

use super::network::{NameArgs, NetArgs, parse_node_id};
use crate::{config::FileArgs, receive::ReceivePlan};

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
    file: FileArgs,
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

impl RecvArgs {
    /// The options, understood.
    pub(crate) fn plan(&self) -> Result<ReceivePlan, Failure> {
        let config = ReceiverConfig {
            join: self.join.into(),
            silent: self.silent,
            matrix: self.net.matrix(),
            ..ReceiverConfig::default()
        };
        let feedback = if self.unicast_nack { FeedbackPath::Sender } else { FeedbackPath::Group };
        let network = self.net.builder()?.receiver_config(config).feedback(feedback);
        Ok(ReceivePlan {
            dir: self.dir.clone(),
            network,
            options: self.options()?,
            timeout: self.timeout.clone().unwrap_or_default(),
            output: self.output,
        })
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

    fn conflict(&self) -> Conflict {
        match (self.overwrite, self.keep) {
            (true, _) => Conflict::Overwrite,
            (false, true) => Conflict::Keep,
            (false, false) => Conflict::KeepBoth,
        }
    }
}
