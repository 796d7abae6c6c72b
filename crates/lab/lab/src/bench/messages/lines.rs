//! By commands that take lines and print lines.

use super::{
    Cell, MessageBench, MessageSystem,
    clients::{GROUP, Heard, LIMIT, SETTLE, TOPIC, await_all, said, start_subscriber},
    server::MQTT_PORT,
};
use crate::{
    bench::Star,
    host::{Host, INTERFACE},
    process::Process,
};
use rustix::time::{ClockId, clock_gettime};
use std::{
    fs::File,
    io::{Read as _, Write as _},
    path::Path,
    process::{ChildStdout, Command, Stdio},
    thread::{self, JoinHandle},
};

impl MessageBench {
    /// By commands that take lines and print lines: they are counted here.
    pub(super) fn by_lines(
        &self,
        cell: Cell,
        star: &Star,
        directory: &Path,
    ) -> Result<Vec<Heard>, String> {
        let input = directory.join("lines");
        self.write_lines(&input, cell.messages).map_err(said)?;
        let mut processes = Vec::from_iter(self.server(cell.system, star, directory)?);
        let (publisher, subscribers) = self.line_commands(cell, star);
        let mut outputs = Vec::new();
        for command in subscribers {
            outputs.extend(start_subscriber(command, &mut processes)?);
        }
        let messages = cell.messages;
        let readers: Vec<JoinHandle<Heard>> = outputs
            .into_iter()
            .map(|output| thread::spawn(move || count_lines(output, messages)))
            .collect();
        thread::sleep(SETTLE);
        let from = File::open(&input).map_err(said)?;
        let publisher = Process::start_from(publisher, from, Stdio::null(), Stdio::null());
        processes.push(publisher.map_err(said)?);
        await_all(&readers, LIMIT);
        drop(processes);
        readers
            .into_iter()
            .map(|reader| reader.join().map_err(|_| "a reader failed".to_owned()))
            .collect()
    }

    fn line_commands(&self, cell: Cell, star: &Star) -> (Command, Vec<Command>) {
        let (messages, rate) = (cell.messages.to_string(), self.rate.to_string());
        let server = star.sender().address().to_string();
        let ours = |host: &Host, verb: &str| {
            let mut command = host.command(&self.fanfare);
            command.args([verb, TOPIC, "--interface", INTERFACE, "--group", GROUP]);
            command.args(["--rate", &rate, "--quiet"]);
            command
        };
        let mqtt = |host: &Host, program: &str| {
            let mut command = host.command(program);
            command.args(["-h", &server, "-p", &MQTT_PORT.to_string(), "-t", TOPIC]);
            command
        };
        let subscriber = |host: &Host| match cell.system {
            MessageSystem::Mosquitto => {
                let mut command = mqtt(host, "mosquitto_sub");
                command.args(["-C", &messages]);
                command
            }
            _ => {
                let mut command = ours(host, "sub");
                command.args(["--count", &messages]);
                command
            }
        };
        let subscribers = star.receivers().iter().map(subscriber).collect();
        let publisher = match cell.system {
            MessageSystem::Mosquitto => {
                let mut command = mqtt(star.sender(), "mosquitto_pub");
                command.arg("-l");
                command
            }
            _ => {
                let mut command = ours(star.sender(), "pub");
                command.args(["-", "--lines"]);
                command
            }
        };
        (publisher, subscribers)
    }

    /// Each as long as the messages, and another.
    fn write_lines(&self, path: &Path, messages: u64) -> std::io::Result<()> {
        let mut file = std::io::BufWriter::new(File::create(path)?);
        for number in 0..messages {
            writeln!(file, "{number:0width$}", width = self.size)?;
        }
        file.flush()
    }
}

/// Lines until there are so many, with the times of the first and the last.
fn count_lines(mut output: ChildStdout, wanted: u64) -> Heard {
    let mut heard = Heard::default();
    let mut buffer = vec![0; 64 << 10];
    while heard.received < wanted
        && let Ok(count @ 1..) = output.read(&mut buffer)
    {
        heard.received += buffer[..count].iter().filter(|byte| **byte == b'\n').count() as u64;
        heard.last_ns = now_ns();
        if heard.first_ns == 0 {
            heard.first_ns = heard.last_ns;
        }
    }
    heard
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
