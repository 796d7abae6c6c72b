//! `fanfare lab exec`: a program on a host of a lab that is up.

use std::{ffi::OsString, os::unix::process::CommandExt as _, process::Command};

use clap::Args;
use fanfare_lab::RunningLab;

use fanfare_command::{Exit, Failure, Help, Output, OutputArgs};

use super::which::WhichArgs;
use crate::ending::{EXITS, give_up};

const HELP: Help = Help::new(&[
    ("fanfare lab exec pc1 -- ip -brief address", "see its address"),
    ("fanfare lab exec pc1 -- fanfare recv room/pc1", "receive there"),
])
.exits(EXITS)
.environment(&[
    ("FANFARE_NODE", "the program gets the name of the host"),
    ("FANFARE_ADDRESS", "the program gets the address of the host"),
])
.files(super::FILES);

/// Run a program on a host; its exit code becomes that of this command
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(super) struct ExecArgs {
    /// Name of the host in the scenario
    node: String,
    /// Program and arguments
    #[arg(required = true, last = true)]
    command: Vec<OsString>,
    #[command(flatten)]
    which: WhichArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &ExecArgs) -> Exit {
    let output = Output::new(args.output);
    let status = match RunningLab::find(args.which.lab.as_deref()) {
        Ok((_, status)) => status,
        Err(error) => return give_up(&output, &error),
    };
    let Some(host) = status.hosts.iter().find(|host| host.name == args.node) else {
        let names: Vec<&str> = status.hosts.iter().map(|host| host.name.as_str()).collect();
        let text = format!("node ({}): is not in this lab. Hosts: {}", args.node, names.join(", "));
        return fanfare_command::give_up(&output, &Failure::usage("lab.node", text));
    };
    // Nothing of ours stands between the program and whoever called us.
    let error = Command::new("ip")
        .args(["netns", "exec", &host.namespace])
        .args(&args.command)
        .env("FANFARE_NODE", &host.name)
        .env("FANFARE_ADDRESS", &host.address)
        .exec();
    let text = format!("ip (): cannot be run ({error}). Install package iproute2");
    fanfare_command::give_up(&output, &Failure::new(Exit::Resource, "lab.program_missing", text))
}
