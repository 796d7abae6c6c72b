//! A started program that publishes and receives messages, and the log of what it receives.

use crate::{
    error::LabError,
    process::{Process, Usage},
};
use std::{
    fs,
    io::{self, BufRead as _, BufReader, Read, Write},
    net::Shutdown,
    os::unix::net::UnixStream,
    path::Path,
    process::{Command, Stdio},
    sync::mpsc::{Sender, channel},
    thread::{self, JoinHandle},
    time::Instant,
};

/// Around the number of a message in its text: what comes is known by it, however it is wrapped.
const MARK: u8 = b'@';

/// The text of a message: its number, and as many bytes as it is to have.
pub(crate) fn text(number: usize, bytes: usize) -> String {
    let mut text = format!("@{number}@");
    while text.len() < bytes {
        text.push('x');
    }
    text
}

/// The number in a line that has a text.
fn number(line: &[u8]) -> Option<usize> {
    let begin = line.iter().position(|byte| *byte == MARK)? + 1;
    let length = line[begin..].iter().position(|byte| *byte == MARK)?;
    std::str::from_utf8(&line[begin..begin + length]).ok()?.parse().ok()
}

/// What has come: the number of a host, that of a message, and when.
pub(crate) type Arrival = (usize, usize, Instant);

/// Notes what one host hears.
#[derive(Debug, Clone)]
pub(crate) struct ArrivalLog {
    pub(crate) host: usize,
    pub(crate) arrivals: Sender<Arrival>,
}

impl ArrivalLog {
    /// Until there is no more.
    fn listen(self, pipe: impl Read + Send + 'static) -> JoinHandle<()> {
        thread::spawn(move || {
            let (mut pipe, mut line) = (BufReader::new(pipe), Vec::new());
            while pipe.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
                let at = Instant::now();
                if let Some(number) = number(&line)
                    && self.arrivals.send((self.host, number, at)).is_err()
                {
                    return;
                }
                line.clear();
            }
        })
    }
}

/// How it is told what to publish.
#[derive(Debug, Clone, Copy)]
enum RequestFormat {
    /// Topic, a space, the text.
    Words,
    /// The same, with dots in topics.
    Dots,
    /// A node's requests.
    Requests,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct MessagingClient {
    // Before the thread: its end is the thread's.
    process: Option<Process>,
    host: usize,
    socket: Option<UnixStream>,
    lines: Sender<String>,
    format: RequestFormat,
    reader: Option<JoinHandle<()>>,
}

/// Takes lines for a program that may not read for a while: whoever publishes has a clock to keep.
fn writer(mut to: impl Write + Send + 'static) -> Sender<String> {
    let (lines, waiting) = channel::<String>();
    thread::spawn(move || {
        for line in waiting {
            if to.write_all(line.as_bytes()).and_then(|()| to.flush()).is_err() {
                return;
            }
        }
    });
    lines
}

impl MessagingClient {
    /// A program that reads and prints lines.
    ///
    /// # Errors
    /// It does not start.
    pub(crate) fn of_program(
        command: Command,
        log: &Path,
        hearing: ArrivalLog,
    ) -> Result<Self, LabError> {
        let failed =
            |error: io::Error| LabError::system(format_args!("file ({})", log.display()), &error);
        let errors = fs::File::create(log).map_err(failed)?;
        let mut process =
            Process::start_with_input(command, Stdio::piped(), errors).map_err(failed)?;
        let (output, _) = process.outputs();
        let input = process.input();
        let (Some(input), Some(output)) = (input, output) else {
            return Err(failed(io::ErrorKind::BrokenPipe.into()));
        };
        let host = hearing.host;
        let reader = Some(hearing.listen(output));
        let (lines, format) = (writer(input), RequestFormat::Words);
        Ok(Self { process: Some(process), host, socket: None, lines, format, reader })
    }

    /// A node's socket, with a line for each subscription; `history`: of all that anybody still has.
    ///
    /// # Errors
    /// Nobody listens there.
    pub(crate) fn of_node(
        process: Process,
        path: &Path,
        filters: &[String],
        history: bool,
        hearing: ArrivalLog,
    ) -> Result<Self, LabError> {
        let failed =
            |error: io::Error| LabError::system(format_args!("file ({})", path.display()), &error);
        let history = if history { "all" } else { "0" };
        let mut stream = UnixStream::connect(path).map_err(failed)?;
        for filter in filters {
            let request =
                serde_json::json!({"do": "subscribe", "filter": filter, "history": history});
            writeln!(stream, "{request}").map_err(failed)?;
        }
        let host = hearing.host;
        let (socket, ears) = (stream.try_clone(), stream.try_clone());
        let reader = Some(hearing.listen(ears.map_err(failed)?));
        let (socket, format) = (Some(socket.map_err(failed)?), RequestFormat::Requests);
        Ok(Self { process: Some(process), host, socket, lines: writer(stream), format, reader })
    }

    /// Of a system whose topics are parted by dots.
    pub(crate) fn with_dots(mut self) -> Self {
        self.format = RequestFormat::Dots;
        self
    }

    /// Publishes; to a program that is gone it fails the next time.
    pub(crate) fn publish(&mut self, topic: &str, text: &str) -> io::Result<()> {
        let line = match self.format {
            RequestFormat::Words => format!("{topic} {text}\n"),
            RequestFormat::Dots => format!("{} {text}\n", topic.replace('/', ".")),
            RequestFormat::Requests => {
                let request = serde_json::json!({"do": "publish", "topic": topic, "text": text});
                format!("{request}\n")
            }
        };
        self.lines.send(line).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// What its program has used so far.
    pub(crate) fn used(&mut self) -> Usage {
        let Some(process) = &mut self.process else { return Usage::default() };
        process.measure();
        process.usage()
    }

    fn has_ended(&mut self) -> bool {
        // Who cannot be asked is as good as gone.
        self.process.as_mut().is_none_or(|process| !matches!(process.try_end(), Ok(None)))
    }
}

/// Those of them that have ended by themselves, if any: what they did not hear is no figure of the system.
pub(crate) fn ended<'a>(clients: impl Iterator<Item = &'a mut MessagingClient>) -> Option<String> {
    let gone = clients.filter_map(|client| client.has_ended().then_some(client.host));
    let gone: Vec<String> = gone.map(|host| host.to_string()).collect();
    (!gone.is_empty()).then(|| format!("the program of host {} has ended", gone.join(", ")))
}

impl Drop for MessagingClient {
    fn drop(&mut self) {
        if let Some(socket) = &self.socket {
            // Already closed is as good.
            let _ = socket.shutdown(Shutdown::Both);
        }
        self.process = None;
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_known_by_its_number_however_it_is_wrapped() {
        assert_eq!(text(7, 10), "@7@xxxxxxx");
        assert_eq!(text(12345, 3).len(), 7);
        let wrapped = format!("{{\"event\":\"message\",\"text\":\"{}\"}}\n", text(42, 128));
        assert_eq!(number(wrapped.as_bytes()), Some(42));
        for line in ["ready", "@", "@@", "@x@", ""] {
            assert_eq!(number(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn what_a_program_prints_is_heard_with_its_hosts_number() {
        let log = std::env::temp_dir().join(format!("fanfare-voice-{}", std::process::id()));
        let (arrivals, heard) = channel();
        let hearing = ArrivalLog { host: 3, arrivals };
        let mut client = MessagingClient::of_program(Command::new("cat"), &log, hearing).unwrap();
        client.publish("position/v4", &text(9, 20)).unwrap();
        let (host, number, _) = heard.recv().unwrap();
        assert_eq!((host, number), (3, 9));
        drop(client);
        assert!(heard.recv().is_err());
        fs::remove_file(log).unwrap();
    }

    #[test]
    fn a_program_that_does_not_read_holds_up_nobody() {
        let log = std::env::temp_dir().join(format!("fanfare-deaf-{}", std::process::id()));
        let hearing = ArrivalLog { host: 0, arrivals: channel().0 };
        let mut command = Command::new("sleep");
        command.arg("600");
        let mut client = MessagingClient::of_program(command, &log, hearing).unwrap();
        // Eight times what a pipe holds.
        client.publish("document/v4", &text(1, 512 << 10)).unwrap();
        drop(client);
        fs::remove_file(log).unwrap();
    }

    #[test]
    fn who_has_ended_before_its_time_is_named() {
        let log = std::env::temp_dir().join(format!("fanfare-voices-{}", std::process::id()));
        let (arrivals, heard) = channel();
        let mut voices: Vec<MessagingClient> = ["cat", "true"]
            .into_iter()
            .zip([4, 7])
            .map(|(program, host)| {
                let hearing = ArrivalLog { host, arrivals: arrivals.clone() };
                MessagingClient::of_program(Command::new(program), &log, hearing).unwrap()
            })
            .collect();
        drop(arrivals);
        // Its output is at its end when the program is, or a moment before.
        voices[1].reader.take().unwrap().join().unwrap();
        while !voices[1].has_ended() {
            thread::yield_now();
        }
        assert_eq!(ended(voices.iter_mut()).as_deref(), Some("the program of host 7 has ended"));
        drop(voices);
        assert!(heard.recv().is_err());
        fs::remove_file(log).unwrap();
    }
}
