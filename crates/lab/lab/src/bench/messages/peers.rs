//! By a peer program: it stamps what it publishes, and tells what came of it in its last line.

use super::{
    Cell, MessageBench, Others,
    clients::{GROUP, Heard, LIMIT, SETTLE, TOPIC, await_all, said, start_subscriber},
    server::NATS_PORT,
};
use crate::{
    bench::Star,
    host::{Host, INTERFACE},
    process::Process,
};
use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{ChildStdout, Command, Stdio},
    thread::{self, JoinHandle},
    time::Duration,
};

impl MessageBench {
    /// By a peer program, which stamps messages and counts them itself.
    pub(super) fn by_peers(
        &self,
        cell: Cell,
        star: &Star,
        (directory, others): (&Path, &Others),
    ) -> Result<Vec<Heard>, String> {
        let mut processes: Vec<Process> =
            Vec::from_iter(self.server(cell.system, star, directory)?);
        let mut outputs = Vec::new();
        let command = |end, host: (&Host, usize)| {
            let other = others.command((cell, self.size), end, host, star, directory);
            other.unwrap_or_else(|| self.peer(cell, end, host.0, star))
        };
        for (number, host) in star.receivers().iter().enumerate() {
            let command = command("sub", (host, number + 2));
            outputs.extend(start_subscriber(command, &mut processes)?);
        }
        let readers: Vec<JoinHandle<Option<String>>> =
            outputs.into_iter().map(|output| thread::spawn(move || last_line(output))).collect();
        thread::sleep(SETTLE);
        let publisher = command("pub", (star.sender(), 1));
        // It ends with its input.
        let publisher = Process::start_with_input(publisher, Stdio::null(), Stdio::null());
        processes.push(publisher.map_err(said)?);
        let limit = LIMIT + Duration::from_secs(cell.messages / cell.paced.max(1_000));
        await_all(&readers, limit);
        drop(processes);
        let lines = readers.into_iter().map(|reader| reader.join().ok().flatten());
        let heard: Vec<Heard> = lines
            .map(|line| line.and_then(|line| serde_json::from_str(&line).ok()))
            .collect::<Option<_>>()
            .ok_or("a subscriber did not end")?;
        Ok(heard)
    }

    fn peer(&self, cell: Cell, end: &str, host: &Host, star: &Star) -> Command {
        let (program, before) = &self.peer;
        let mut command = host.command(program);
        command.args(before).args([end, "--system", cell.system.name(), "--topic", TOPIC]);
        command.args(["--messages", &cell.messages.to_string(), "--size", &self.size.to_string()]);
        command.args(["--paced", &cell.paced.to_string(), "--loss", &cell.loss.to_string()]);
        let server = format!("nats://{}:{NATS_PORT}", star.sender().address());
        command.args(["--interface", INTERFACE, "--group", GROUP, "--server", &server]);
        command.args(["--rate", &self.rate.to_string()]);
        command
    }
}

fn last_line(output: ChildStdout) -> Option<String> {
    BufReader::new(output).lines().map_while(Result::ok).last()
}
