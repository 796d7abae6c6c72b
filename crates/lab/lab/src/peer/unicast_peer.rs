//! One connection over a protocol and how long things take: the program of the unicast matrix.

use super::{Tools, build};
use crate::error::LabError;
use std::path::PathBuf;

const SOURCE: &str = include_str!("../../peers/unicast_peer.cpp");

/// Which library it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Library {
    Kernel,
    Udt,
    Srt,
    UsrSctp,
    /// Its own programs.
    Ngtcp2,
}

impl Library {
    /// The compiled program, and the library's version.
    pub(crate) fn prepare(self, tools: &Tools) -> Result<(PathBuf, String), LabError> {
        let (name, flags, header, package) = match self {
            Self::Ngtcp2 => return ngtcp2(),
            Self::Kernel => ("unicast_tcp.cpp", "-std=c++17 -pthread", "", "g++"),
            Self::Udt => {
                ("unicast_udt.cpp", "-std=c++17 -DUDT_PEER -ludt -pthread", "udt.h", "libudt-dev")
            }
            Self::Srt => (
                "unicast_srt.cpp",
                "-std=c++17 -DSRT_PEER -lsrt-gnutls -pthread",
                "srt.h",
                "libsrt-gnutls-dev",
            ),
            Self::UsrSctp => (
                "unicast_sctp.cpp",
                "-std=c++17 -DSCTP_PEER -lusrsctp -pthread",
                "usrsctp.h",
                "libusrsctp-dev",
            ),
        };
        let (compiler, compiler_package) = ("c++", "g++");
        let source = build::Source {
            name,
            text: SOURCE,
            compiler,
            compiler_package,
            flags,
            header,
            package,
        };
        let program = tools.compiled(&source)?;
        let version = match self {
            Self::Kernel => kernel(),
            _ => format!("{package} {}", build::package_version(package)),
        };
        Ok((program, version))
    }
}

/// Its client, where both of its programs are.
fn ngtcp2() -> Result<(PathBuf, String), LabError> {
    let packages = [("gtlsclient", "ngtcp2-client"), ("gtlsserver", "ngtcp2-server")];
    for (program, package) in packages {
        build::present(program, package)?;
    }
    let version = build::package_version("ngtcp2-client");
    Ok((PathBuf::from("gtlsclient"), format!("ngtcp2-client {version}")))
}

/// The kernel's version: TCP is its.
fn kernel() -> String {
    let version = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let number = version.split(['-', '+', '\n']).next().unwrap_or_default();
    format!("Linux {number}")
}
