//! `fanfare pipe`: standard input here is standard output there.
//!
//! - `sending`: from standard input; `receiving`: to standard output or a command

mod receiving;
mod sending;

use std::time::Duration;

use fanfare_command::OutputArgs;
use fanfare_node::{
    Network,
    stream::{ReceiveOptions, SendOptions},
};

pub(crate) use receiving::receive;
pub(crate) use sending::send;

/// What `fanfare pipe send` is to do.
#[derive(Debug)]
pub(crate) struct PipeSendPlan {
    pub(crate) network: Network,
    pub(crate) options: SendOptions,
    /// Each line goes when it is whole.
    pub(crate) lines: bool,
    pub(crate) output: OutputArgs,
}

/// What to do about bytes that are lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gaps {
    Stop,
    Mark,
    Skip,
}

/// What `fanfare pipe recv` is to do.
#[derive(Debug)]
pub(crate) struct PipeReceivePlan {
    pub(crate) network: Network,
    pub(crate) options: ReceiveOptions,
    pub(crate) gaps: Gaps,
    pub(crate) command: Option<String>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) output: OutputArgs,
}
