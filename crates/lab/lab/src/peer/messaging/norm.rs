//! libnorm: messages as objects of data, from one sender.

use super::{
    Tools,
    client::{ArrivalLog, MessagingClient},
    station,
};
use crate::{
    error::LabError,
    host::{Host, INTERFACE},
    peer::build,
};
use std::path::{Path, PathBuf};

const SOURCE: &str = include_str!("../../../peers/norm_messages.cpp");
const GROUP: [&str; 2] = ["239.255.42.3", "7000"];

/// Its program, for one who sends and for those who receive.
#[derive(Debug)]
pub(crate) struct Objects {
    program: PathBuf,
    version: String,
}

impl Objects {
    /// Compiles it.
    ///
    /// # Errors
    /// Which package is missing.
    pub(crate) fn prepare(tools: &Tools) -> Result<Self, LabError> {
        let program = tools.compiled(&build::Source {
            name: "norm_messages.cpp",
            text: SOURCE,
            compiler: "c++",
            compiler_package: "g++",
            flags: "-lnorm",
            header: "normApi.h",
            package: "libnorm-dev",
        })?;
        let version = build::package_version("libnorm1");
        let version = build::with_settings(&version, &[SOURCE, include_str!("norm.rs")]);
        Ok(Self { program, version })
    }
    /// The package's, and a hash of how it is set.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// One that sends. What it has sent once comes as an arrival at its own host.
    ///
    /// # Errors
    /// It does not start.
    pub(crate) fn send(
        &self,
        (host, directory): (&Host, &Path),
        pace: Pace,
        hearing: ArrivalLog,
    ) -> Result<MessagingClient, LabError> {
        let mut command = host.command(&self.program);
        command.args(["send", INTERFACE]).args(GROUP).arg((hearing.host + 1).to_string());
        let Pace { rate, round_trip, parity, segment } = pace;
        command.args([rate.to_string(), format!("{round_trip:.3}"), parity.to_string()]);
        command.arg(segment.to_string());
        MessagingClient::of_program(command, &station(directory, host, "log"), hearing)
    }

    /// One that receives.
    ///
    /// # Errors
    /// It does not start.
    pub(crate) fn receive(
        &self,
        (host, directory): (&Host, &Path),
        hearing: ArrivalLog,
    ) -> Result<MessagingClient, LabError> {
        let mut command = host.command(&self.program);
        command.args(["recv", INTERFACE]).args(GROUP).arg((hearing.host + 1).to_string());
        MessagingClient::of_program(command, &station(directory, host, "log"), hearing)
    }
}

/// How a sender sends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// Bits per second.
    pub(crate) rate: u64,
    /// What it takes for the group's greatest round trip at first, seconds.
    pub(crate) round_trip: f64,
    /// Packets behind each block, unasked.
    pub(crate) parity: u64,
    /// Bytes of a segment.
    pub(crate) segment: u64,
}
