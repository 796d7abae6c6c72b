//! Options that say what travels, or is taken, beside content, permissions and times.

use clap::{Args, ValueEnum};
use fanfare_files::{Carried, Links};

/// `--links`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LinksPolicy {
    /// Send them as links, for receivers with --outside-links
    Keep,
    /// Send what they lead to
    Follow,
    /// Leave them out
    Skip,
}

/// What a sender carries.
#[derive(Debug, Args)]
pub(super) struct CarryArgs {
    /// What to do about symbolic links that lead out of their directory [default: refuse]
    #[arg(long, value_enum, help_heading = "What is sent", hide_short_help = true)]
    links: Option<LinksPolicy>,
    /// Send user and group of files, directories and links, by number
    #[arg(long, help_heading = "What is sent", hide_short_help = true)]
    owner: bool,
    /// Send extended attributes, among them capabilities
    #[arg(long, help_heading = "What is sent", hide_short_help = true)]
    xattrs: bool,
    /// Send POSIX ACLs
    #[arg(long, help_heading = "What is sent", hide_short_help = true)]
    acls: bool,
    /// Send the setuid, setgid and sticky bits
    #[arg(long, help_heading = "What is sent", hide_short_help = true)]
    setuid: bool,
    /// Send everything: --owner --xattrs --acls --setuid --links keep
    ///
    /// Receivers take it only with recv --archive, or the same options one by one.
    #[arg(long, help_heading = "What is sent", hide_short_help = true)]
    archive: bool,
}

impl CarryArgs {
    pub(super) fn carried(&self) -> Carried {
        carried(self.archive, [self.owner, self.xattrs, self.acls, self.setuid])
    }

    pub(super) fn links(&self) -> Links {
        match self.links {
            Some(LinksPolicy::Keep) => Links::Keep,
            Some(LinksPolicy::Follow) => Links::Follow,
            Some(LinksPolicy::Skip) => Links::Skip,
            None if self.archive => Links::Keep,
            None => Links::Refuse,
        }
    }
}

/// What a receiver takes.
#[derive(Debug, Args)]
pub(super) struct TakeArgs {
    /// Accept user and group of files, directories and links
    ///
    /// Needs root, as do most of the next three. Nothing is authenticated: anyone who can send to
    /// the group can then choose owners and bits of the files that this receiver writes.
    #[arg(long, help_heading = "What is received", hide_short_help = true)]
    owner: bool,
    /// Accept extended attributes, among them capabilities
    #[arg(long, help_heading = "What is received", hide_short_help = true)]
    xattrs: bool,
    /// Accept POSIX ACLs
    #[arg(long, help_heading = "What is received", hide_short_help = true)]
    acls: bool,
    /// Accept the setuid, setgid and sticky bits
    #[arg(long, help_heading = "What is received", hide_short_help = true)]
    setuid: bool,
    /// Accept symbolic links that lead out of DIR
    ///
    /// This receiver never follows a link. Other programs do.
    #[arg(long, help_heading = "What is received", hide_short_help = true)]
    outside_links: bool,
    /// Accept everything: --owner --xattrs --acls --setuid --outside-links
    #[arg(long, help_heading = "What is received", hide_short_help = true)]
    archive: bool,
}

impl TakeArgs {
    pub(super) fn carried(&self) -> Carried {
        carried(self.archive, [self.owner, self.xattrs, self.acls, self.setuid])
    }

    pub(super) fn outside_links(&self) -> bool {
        self.archive || self.outside_links
    }
}

fn carried(all: bool, [owner, attributes, acls, special_bits]: [bool; 4]) -> Carried {
    if all { Carried::ALL } else { Carried { owner, attributes, acls, special_bits } }
}
