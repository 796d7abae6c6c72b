//! rsync: a daemon at each receiver, and as many rsyncs at once.

use std::fs;

use super::job::{Job, start};
use crate::{error::LabError, process::Process};

const PORT: &str = "8730";

pub(super) fn daemons(job: &Job<'_>) -> Result<Vec<Process>, LabError> {
    job.each(|host, inbox| {
        let config = inbox.with_extension("conf");
        let text = format!(
            "use chroot = no\nuid = root\ngid = root\n[in]\npath = {}\nread only = no\n",
            inbox.display()
        );
        fs::write(&config, text).map_err(|error| LabError::system("rsync", &error))?;
        let mut command = host.command("rsync");
        command.args(["--daemon", "--no-detach", "--port", PORT, "--config"]).arg(config);
        start(command, "rsync")
    })
}

pub(super) fn senders(job: &Job<'_>) -> Result<Vec<Process>, LabError> {
    job.each(|host, _| {
        let mut command = job.star.sender().command("rsync");
        // The daemon may still be on its way.
        command.args(["--whole-file", "--contimeout=10"]).arg(job.file);
        command.arg(format!("rsync://{}:{PORT}/in/", host.address()));
        start(command, "rsync")
    })
}
