//! JGroups, over UDP and over TCP: no server; members find each other.

use super::{
    HostSlot, MessagingSoftware, Tools,
    client::{ArrivalLog, MessagingClient},
    software::small_java,
};
use crate::{
    error::LabError,
    peer::{build, message_programs::jgroups_jar},
};

const SOURCE: &str = include_str!("../../../peers/JGroupsCompany.java");

/// What is below it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Carrier {
    /// Multicast.
    Udp,
    /// Each to each.
    Tcp,
}

#[derive(Debug)]
struct JGroups {
    carrier: Carrier,
    class_path: String,
    version: String,
}

pub(super) fn prepare(
    tools: &Tools,
    carrier: Carrier,
) -> Result<Box<dyn MessagingSoftware>, LabError> {
    build::output("java", "default-jre-headless", &["-version"])?;
    let (jar, version) = jgroups_jar(tools)?;
    let classes = tools.classes("JGroupsCompany.java", SOURCE, &jar)?;
    let class_path = format!("{}:{}", classes.display(), jar.display());
    let version = build::with_settings(version, &[SOURCE, include_str!("jgroups.rs")]);
    Ok(Box::new(JGroups { carrier, class_path, version }))
}

impl MessagingSoftware for JGroups {
    fn version(&self) -> &str {
        &self.version
    }
    fn start(&self, post: HostSlot<'_>, hearing: ArrivalLog) -> Result<MessagingClient, LabError> {
        let carrier = match self.carrier {
            Carrier::Udp => "udp",
            Carrier::Tcp => "tcp",
        };
        let mut command = small_java(post.host, &self.class_path);
        command.arg("JGroupsCompany").arg(carrier).arg(post.host.address().to_string());
        command.arg(post.addresses());
        command.args(post.wants.iter().map(|first| format!("{first}/")));
        MessagingClient::of_program(command, &post.file("log"), hearing)
    }
}
