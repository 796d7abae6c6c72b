//! The broker of a system that has one.

use super::{MessageBench, MessageSystem, clients::said};
use crate::{bench::Star, process::Process};
use std::{path::Path, process::Stdio, thread, time::Duration};

pub(super) const NATS_PORT: u16 = 4222;
pub(super) const MQTT_PORT: u16 = 1883;
/// It listens by then.
const SERVER: Duration = Duration::from_millis(500);

impl MessageBench {
    /// The server of a system that has one, on the publisher's host.
    pub(super) fn server(
        &self,
        system: MessageSystem,
        star: &Star,
        directory: &Path,
    ) -> Result<Option<Process>, String> {
        let address = star.sender().address();
        let (name, settings) = match system {
            // Without the limit a subscriber that is behind for a moment is cut off.
            MessageSystem::Nats => {
                ("nats-server", format!("listen: \"{address}:{NATS_PORT}\"\nmax_pending: 1GB\n"))
            }
            // Without these it drops what a subscriber has not read.
            MessageSystem::Mosquitto => (
                "mosquitto",
                format!(
                    "listener {MQTT_PORT} {address}\nallow_anonymous true\nmax_queued_messages 0\n"
                ),
            ),
            _ => return Ok(None),
        };
        let file = directory.join(format!("{name}.conf"));
        std::fs::write(&file, settings).map_err(said)?;
        let mut command = star.sender().command(name);
        command.arg("-c").arg(&file);
        let server = Process::start(command, Stdio::null(), Stdio::null()).map_err(said)?;
        thread::sleep(SERVER);
        Ok(Some(server))
    }
}
