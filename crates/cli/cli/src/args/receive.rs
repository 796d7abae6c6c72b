//! Options of `fanfare recv`, and what they come to.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use fanfare_command::config::FileArgs;
use fanfare_command::{Exit, Failure, Help, OutputArgs, units};
use fanfare_files::{Conflict, PartLimits, ReceiveOptions, SenderFilter, StreamTarget, Until};
use fanfare_node::proto::{FeedbackPath, JoinPolicy, ReceiverConfig};

use super::{
    meeting::VisitArgs,
    metadata::TakeArgs,
    network::{NameArgs, NetArgs, parse_node_id},
    policy::PolicyArgs,
    serving::ServeArgs,
    signing::IdentityArgs,
    start,
    watch::WatchArgs,
};
use crate::{meeting::Visiting, receive::ReceivePlan};

const HELP: Help = Help::new(&[
    ("fanfare recv downloads --create-dirs --once", "receive one transfer"),
    ("fanfare recv --to /dev/sda --verify", "an image, onto a disk"),
    ("fanfare recv 7-otter-granite-river", "by the code of a sender"),
])
.exits(&[
    (Exit::Done, "everything that was announced is there"),
    (Exit::Failed, "no file could be received"),
    (Exit::Partial, "some files are missing, or the sender fell silent (--once)"),
    (Exit::Permission, "permission denied"),
    (Exit::Resource, "disk, memory or port missing on this machine"),
    (Exit::Nobody, "nothing arrived within --timeout"),
    (Exit::Interrupted, "interrupted by Ctrl-C"),
])
.files(&[
    ("DIR/.fanfare-ledger", "what has been received, so that it is not sent again"),
    ("DIR/.fanfare-*", "unfinished files; see 'fanfare parts'"),
    ("--config FILE", "more options, in TOML; see docs/reference/configuration.md"),
]);

/// What makes no sense without a directory.
const DIRECTORY_ONLY: [&str; 9] = [
    "dir",
    "overwrite",
    "keep",
    "discard_parts",
    "part_space",
    "part_age",
    "allow_delete",
    "create_dirs",
    "count",
];

/// Receive files into a directory
///
/// Waits for senders ('fanfare send') in the group, and stores their files below DIR. Lost packets
/// are requested again. A file gets its name when every byte has arrived and has been checked. Runs
/// until Ctrl-C, unless --once, --count or --timeout says otherwise.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(crate) struct RecvArgs {
    /// Directory for received files, or a sender's code
    ///
    /// A code such as 7-otter-granite-river is what 'fanfare send --code' shows. One transfer is
    /// received then, into the directory that follows the code, or the present one. Write
    /// ./7-otter-granite-river for a directory of that name.
    #[arg(default_value = ".", value_name = "CODE|DIR")]
    dir: PathBuf,
    /// Directory for received files, after a code
    #[arg(value_name = "DIR", hide = true)]
    dir_of_code: Option<PathBuf>,
    /// Exit after the first transfer is complete
    ///
    /// If its sender is silent for 60 s in the middle, exit with code 3 and keep what has come. The
    /// first sender is waited for without limit; see --timeout. The sender of a code is looked for 30 s.
    #[arg(long)]
    once: bool,
    /// Write one stream to this file, pipe or block device, and exit
    ///
    /// For 'fanfare send -', block devices and --as-stream. What was there is overwritten. A device
    /// that is mounted or too small is refused. Beneath /dev no file is made, but for /dev/shm.
    #[arg(long, value_name = "PATH", conflicts_with_all = DIRECTORY_ONLY)]
    to: Option<PathBuf>,
    /// Write one stream to standard output, and exit
    #[arg(long, conflicts_with_all = DIRECTORY_ONLY, conflicts_with_all = ["to", "json"])]
    stdout: bool,
    /// Receive only the stream of this name
    ///
    /// The name is the one of the sender's file or device, or its --stdin-name. What other senders in the
    /// group send is not taken.
    #[arg(
        long = "stream-name",
        alias = "stream",
        value_name = "NAME",
        help_heading = "What is received",
        hide_short_help = true
    )]
    stream: Option<String>,
    /// Receive only this stream of a chain, as udp-receiver finds it
    #[arg(long, value_name = "PLACE[:CHAIN]", hide = true)]
    chain: Option<String>,
    /// File in which udp-receiver keeps what it has received of a chain
    #[arg(long, value_name = "FILE", requires = "chain", hide = true)]
    chain_record: Option<PathBuf>,
    /// Read everything back in the end, and compare
    #[arg(long, requires = "to", help_heading = "What is received", hide_short_help = true)]
    verify: bool,
    /// Leave out blocks of zeros: the device holds zeros, or they need no room in the file
    #[arg(long, requires = "to", help_heading = "What is received", hide_short_help = true)]
    sparse: bool,
    /// Exit when N files are complete
    ///
    /// Files that are here already count when a sender announces them.
    #[arg(long, value_name = "N", help_heading = "When to exit", hide_short_help = true)]
    count: Option<u64>,
    /// Accept files only from this sender: its name, address, node id or public key
    ///
    /// The name is the one of 'fanfare send --name' [default there: the host name]. Anyone in the group
    /// can use any name. A public key (ed25519:...) is what 'fanfare id' prints on the sender, and only
    /// what it has sent with --sign is taken. Other senders are refused and counted.
    /// With --once, the first sender that sends a file is the only one even without this option.
    #[arg(long, value_name = "SENDER", help_heading = "What is received")]
    from: Option<String>,
    /// Refuse what a transfer brings beyond this size in total
    #[arg(long, value_name = "SIZE", help_heading = "What is received", hide_short_help = true)]
    max_size: Option<String>,
    /// Refuse what a transfer brings beyond N files
    #[arg(long, value_name = "N", help_heading = "What is received", hide_short_help = true)]
    max_files: Option<u64>,
    /// Receive only: send no feedback
    ///
    /// Losses are then repaired only by parity or repeats, and no sender knows of this receiver.
    #[arg(long, help_heading = "Feedback", hide_short_help = true)]
    silent: bool,
    /// Send repair requests only to the sender, not to the group
    #[arg(long, help_heading = "Feedback", hide_short_help = true)]
    unicast_nack: bool,
    /// Listen to the multicast group only, not to senders with --to
    ///
    /// Otherwise what is sent to this machine alone, at the group's port, is received too: from private
    /// networks, this link and the address of --source or --from, and from everywhere with a key.
    #[arg(long, help_heading = "What is received", hide_short_help = true)]
    no_unicast: bool,
    /// Keep existing files, and store the new one as NAME.1; the sender is told
    ///
    /// Without it a new file takes the place of an old one in one step, once it is whole.
    #[arg(
        long,
        conflicts_with = "refuse",
        help_heading = "Existing files",
        hide_short_help = true
    )]
    keep: bool,
    /// Keep existing files, and refuse a new one that differs; the sender is told
    #[arg(long, help_heading = "Existing files", hide_short_help = true)]
    refuse: bool,
    /// Replace existing files: the default
    #[arg(long, conflicts_with_all = ["keep", "refuse"], hide = true)]
    overwrite: bool,
    /// Delete unfinished files of earlier attempts, instead of resuming them
    #[arg(long, help_heading = "Existing files", hide_short_help = true)]
    discard_parts: bool,
    /// Keep at most this much of unfinished files [default: a tenth of the volume]
    ///
    /// The oldest are deleted first. By default the newest stays, even if it is larger. See 'fanfare
    /// parts'.
    #[arg(long, value_name = "SIZE", help_heading = "Existing files", hide_short_help = true)]
    part_space: Option<String>,
    /// Delete unfinished files that have not grown for this time
    #[arg(
        long,
        default_value = "30d",
        value_name = "TIME",
        help_heading = "Existing files",
        hide_short_help = true
    )]
    part_age: String,
    /// Delete files that a sender with --delete does not have
    ///
    /// This concerns only the directories that it sends, and DIR has to be given. Nothing is
    /// authenticated: anyone who can send to the group can request deletions.
    #[arg(long, requires = "dir", help_heading = "Existing files", hide_short_help = true)]
    allow_delete: bool,
    /// Delete nothing if it would be more than N names
    #[arg(
        long,
        value_name = "N",
        requires = "allow_delete",
        help_heading = "Existing files",
        hide_short_help = true
    )]
    max_delete: Option<u64>,
    #[command(flatten)]
    take: TakeArgs,
    /// Create DIR if it does not exist
    #[arg(long)]
    create_dirs: bool,
    /// What a late joiner requests
    #[arg(
        long,
        value_enum,
        default_value = "all",
        help_heading = "What is received",
        hide_short_help = true
    )]
    join: Join,
    /// Exit if nothing new arrives for this time
    #[arg(long, value_name = "TIME", help_heading = "When to exit", hide_short_help = true)]
    timeout: Option<String>,
    /// Exit if no transfer begins in this time
    #[arg(long, value_name = "TIME", help_heading = "When to exit", hide_short_help = true)]
    start_timeout: Option<String>,
    /// Time that the sender may be silent in the middle of the one transfer [default: 60s]
    ///
    /// With --once, --to and --stdout. Then the command exits with code 3, and keeps what has come.
    #[arg(long, value_name = "TIME", help_heading = "When to exit", hide_short_help = true)]
    silence: Option<String>,
    #[command(flatten)]
    file: FileArgs,
    #[command(flatten)]
    visit: VisitArgs,
    #[command(flatten)]
    net: NetArgs,
    #[command(flatten)]
    name: NameArgs,
    #[command(flatten)]
    identity: IdentityArgs,
    #[command(flatten)]
    watch: WatchArgs,
    #[command(flatten)]
    policy: PolicyArgs,
    #[command(flatten)]
    serving: ServeArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Join {
    /// Only new objects
    Now,
    /// The current object, from its start
    Object,
    /// Everything that the sender still has
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
        let network = self.net.awaiting_builder()?;
        let network = network.receiver_config(config).feedback(feedback);
        let network = if self.no_unicast { network } else { network.hear_direct() };
        let network = network.serves(self.serving.settings()?);
        let visiting = self.visiting()?;
        let dir = match (&visiting, &self.dir_of_code) {
            (None, None) => self.dir.clone(),
            (Some(_), None) if self.visit.has_file() => self.dir.clone(),
            (Some(_), dir) => dir.clone().unwrap_or_else(|| PathBuf::from(".")),
            (None, Some(dir)) => {
                let text = format!(
                    "dir ({}): only a code stands before a directory. Give one of both",
                    dir.display()
                );
                return Err(Failure::usage("code.invalid", text));
            }
        };
        Ok(ReceivePlan {
            dir,
            network,
            options: self.options(visiting.is_some())?,
            visiting,
            signing: self.identity.signing(),
            timeout: self.timeout.clone().unwrap_or_default(),
            record: self.chain_record.clone(),
            watch: self.watch.plan()?,
            output: self.output,
        })
    }

    /// How the sender is met, if a code is given.
    fn visiting(&self) -> Result<Option<Visiting>, Failure> {
        let text = self.dir.to_str().unwrap_or_default();
        self.visit.plan(text, self.net.interface())
    }

    /// `one`: one transfer is all there is.
    fn options(&self, one: bool) -> Result<ReceiveOptions, Failure> {
        let to = self.target();
        let until = match (self.count, one || self.once || to.is_some()) {
            (Some(count), _) => Until::Files(count),
            (None, true) => Until::SenderEnded,
            (None, false) => Until::Stopped,
        };
        let timeout =
            self.timeout.as_deref().map(|text| units::time("timeout", text)).transpose()?;
        let time = |what, text: &Option<String>| {
            text.as_deref().map(|text| units::time(what, text)).transpose()
        };
        let start_timeout = time("start-timeout", &self.start_timeout)?;
        let silence = time("silence", &self.silence)?;
        let from = self.from.as_deref().map(sender_filter).transpose()?.unwrap_or_default();
        let max_size =
            self.max_size.as_deref().map(|text| units::bytes("max size", text)).transpose()?;
        Ok(ReceiveOptions {
            name: self.name.get(),
            conflict: self.conflict(),
            create_dirs: self.create_dirs,
            discard_parts: self.discard_parts,
            part_limits: self.part_limits()?,
            allow_delete: self.allow_delete,
            max_delete: self.max_delete,
            carried: self.take.carried(),
            outside_links: self.take.outside_links(),
            from,
            policy: self.policy.read()?,
            max_size,
            max_files: self.max_files,
            serves: self.serving.stays(),
            to,
            stream: self.stream.clone(),
            chain: self.chain.as_deref().map(start::parse).transpose()?,
            until,
            timeout,
            start_timeout,
            silence,
            identity: None,
        })
    }

    fn part_limits(&self) -> Result<PartLimits, Failure> {
        let space = self.part_space.as_deref().map(|text| units::bytes("part space", text));
        let age = units::time("part age", &self.part_age)?;
        Ok(PartLimits { space: space.transpose()?, age })
    }

    fn target(&self) -> Option<StreamTarget> {
        let (path, sparse, verify) = (self.to.clone(), self.sparse, self.verify);
        (self.stdout || path.is_some()).then_some(StreamTarget { path, sparse, verify })
    }

    fn conflict(&self) -> Conflict {
        match (self.keep, self.refuse) {
            (true, _) => Conflict::KeepBoth,
            (false, true) => Conflict::Keep,
            (false, false) => Conflict::Overwrite,
        }
    }
}

/// Reads who may send: a number is a node id, an address an address, and all else a name.
fn sender_filter(text: &str) -> Result<SenderFilter, Failure> {
    if text.starts_with("ed25519:") {
        let key = text.parse().map_err(|error| {
            let text = format!("from ({text}): {error}. Give what 'fanfare id' prints there");
            Failure::new(Exit::Permission, "key.invalid", text)
        });
        return key.map(SenderFilter::Key);
    }
    let is_number = text.starts_with("0x") || text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number {
        return parse_node_id("from", text).map(SenderFilter::Node);
    }
    Ok(match text.parse() {
        Ok(address) => SenderFilter::Address(address),
        Err(_) => SenderFilter::Name(text.to_owned()),
    })
}
