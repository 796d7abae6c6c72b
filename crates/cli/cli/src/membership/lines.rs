//! Lines of `--json`.

use fanfare_mls::MemberView;
use serde::Serialize;

/// A line that begins with its event.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum Line<'a> {
    /// A group is there, or this machine is in it.
    Group { name: &'a str, group: String, epoch: u64, key: String },
    /// A code for whoever is to join.
    Invitation { name: &'a str, code: String },
    /// It has begun.
    Keeping { name: &'a str, epoch: u64, controls: bool },
    /// Somebody has come in or gone.
    Changed { epoch: u64, joined: Vec<String>, left: Vec<String>, key: String },
    /// One member.
    Member { name: &'a str, key: String, role: &'static str },
    /// This machine is no member any more.
    Removed { name: &'a str },
    /// Something did not go on.
    Refused { why: String },
}

impl<'a> Line<'a> {
    pub(crate) fn member(view: &'a MemberView) -> Self {
        Line::Member { name: &view.name, key: view.public.to_string(), role: role(view) }
    }
}

pub(crate) fn role(view: &MemberView) -> &'static str {
    match view.controls {
        Some(0) => "controller",
        Some(_) => "standby",
        None => "member",
    }
}
