//! A pipe over NRL's libnorm: the program of the interoperability runs with streams.

use super::{Tools, build};
use crate::error::LabError;
use std::path::{Path, PathBuf};

const SOURCE: &str = include_str!("../../peers/norm_stream.cpp");

/// The compiled program.
#[derive(Debug)]
pub(crate) struct StreamPeer {
    program: PathBuf,
}

impl StreamPeer {
    pub(crate) fn prepare(tools: &Tools) -> Result<Self, LabError> {
        let program = tools.compiled(&build::Source {
            name: "norm_stream.cpp",
            text: SOURCE,
            compiler: "c++",
            compiler_package: "g++",
            flags: "-lnorm",
            header: "normApi.h",
            package: "libnorm-dev",
        })?;
        Ok(Self { program })
    }

    pub(crate) fn program(&self) -> &Path {
        &self.program
    }
}
