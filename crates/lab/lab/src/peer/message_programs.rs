//! Programs that `bench messages` runs beside ours: ZeroMQ and JGroups, each by a program of ours over
//! its library.

use super::{Tools, build::Source};
use crate::error::LabError;
use std::path::PathBuf;

const ZEROMQ: &str = include_str!("../../peers/zmq_messages.c");
const JGROUPS: &str = include_str!("../../peers/JGroupsMessages.java");
/// The same jar as in `jgroups`, which cannot say so: its text is part of the version that published figures
/// name.
const JAR: &str = "jgroups-5.5.7.Final.jar";
const URL: &str =
    "https://repo1.maven.org/maven2/org/jgroups/jgroups/5.5.7.Final/jgroups-5.5.7.Final.jar";
/// BLAKE3 of it.
const HASH: &str = "02dfc46e4d40085052aac974b5503c2b74ccfd3a8df48ae751b756cb27739c89";

/// The program over libzmq.
pub(crate) fn zeromq(tools: &Tools) -> Result<PathBuf, LabError> {
    tools.compiled(&Source {
        name: "zmq_messages.c",
        text: ZEROMQ,
        compiler: "cc",
        compiler_package: "gcc",
        flags: "-lzmq",
        header: "zmq.h",
        package: "libzmq3-dev",
    })
}

/// The class path of the program over JGroups.
pub(crate) fn jgroups(tools: &Tools) -> Result<String, LabError> {
    let (jar, _) = jgroups_jar(tools)?;
    let classes = tools.classes("JGroupsMessages.java", JGROUPS, &jar)?;
    Ok(format!("{}:{}", classes.display(), jar.display()))
}

/// The jar, and its version.
pub(crate) fn jgroups_jar(tools: &Tools) -> Result<(PathBuf, &'static str), LabError> {
    let version = JAR.trim_start_matches("jgroups-").trim_end_matches(".jar");
    Ok((tools.fetched(JAR, URL, HASH)?, version))
}
