//! A NATS server of the test's own, and a client that speaks its protocol by hand: what the bridge's
//! library believes of NATS is not what checks it.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use crate::support::LIMIT;
use serde_json::{Value, json};

/// A running server; killed when dropped.
pub(crate) struct Broker {
    pub(crate) port: u16,
    file: PathBuf,
    child: Child,
}

impl Broker {
    /// Starts one that keeps its files in `dir`, with these lines in its configuration. `None` where
    /// there is none and the tests are told so.
    pub(crate) fn start(dir: PathBuf, lines: &str) -> Option<Self> {
        if std::env::var_os("FANFARE_NO_NATS").is_some() {
            eprintln!("not tested: FANFARE_NO_NATS is set");
            return None;
        }
        std::fs::create_dir_all(&dir).unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let file = dir.join("nats.conf");
        let store = dir.join("store");
        let text = format!(
            "listen: 127.0.0.1:{port}\nmax_payload: 20000\njetstream {{ store_dir: {store:?} }}\n{lines}\n"
        );
        std::fs::write(&file, text).unwrap();
        let child = run(&file);
        Some(Self { port, file, child })
    }

    /// As a crash.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Another, with what the killed one had on disk.
    pub(crate) fn restart(&mut self) {
        self.child = run(&self.file);
    }

    pub(crate) fn address(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(self.port)
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server that is ready.
fn run(file: &PathBuf) -> Child {
    // Debian has it where only root's path leads.
    let path = format!("{}:/usr/sbin:/usr/local/sbin", std::env::var("PATH").unwrap_or_default());
    let started = Command::new("nats-server")
        .env("PATH", path)
        .arg("-c")
        .arg(file)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = started.expect("package nats-server, or FANFARE_NO_NATS=1 to leave these out");
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let mut said = Vec::new();
    let ready = lines.by_ref().any(|line| {
        said.push(line);
        said.last().is_some_and(|line| line.contains("Server is ready"))
    });
    assert!(ready, "{said:#?}");
    // So that it never waits for somebody to read.
    std::thread::spawn(move || lines.for_each(drop));
    child
}

/// A message as it comes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) subject: String,
    pub(crate) headers: String,
    pub(crate) text: String,
}

impl Heard {
    /// One of its headers.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.headers.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(one, _)| *one == name).map(|(_, value)| value).next()
    }
}

/// A program that speaks to the server.
pub(crate) struct Client {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
}

impl Client {
    fn connect(port: u16) -> Self {
        let writer = TcpStream::connect(("127.0.0.1", port)).unwrap();
        writer.set_read_timeout(Some(LIMIT)).unwrap();
        let reader = BufReader::new(writer.try_clone().unwrap());
        let mut client = Self { reader, writer };
        assert!(client.line().starts_with("INFO "));
        client.write("CONNECT {\"verbose\":false,\"pedantic\":true,\"headers\":true}\r\n");
        client.settle();
        client
    }

    fn write(&mut self, text: &str) {
        self.writer.write_all(text.as_bytes()).unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.reader.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Waits until the server has done what it was told; there must be no message on its way.
    pub(crate) fn settle(&mut self) {
        self.write("PING\r\n");
        assert_eq!(self.line(), "PONG");
    }

    pub(crate) fn subscribe(&mut self, pattern: &str) {
        self.write(&format!("SUB {pattern} 1\r\n"));
        self.settle();
    }

    pub(crate) fn publish(&mut self, subject: &str, text: &str) {
        self.write(&format!("PUB {subject} {}\r\n{text}\r\n", text.len()));
    }

    /// The next message.
    pub(crate) fn hear(&mut self) -> Heard {
        loop {
            let line = self.line();
            let words: Vec<&str> = line.split(' ').collect();
            let number = |at: usize| words[words.len() - at].parse::<usize>().unwrap();
            let (head, all) = match words[0] {
                "MSG" => (0, number(1)),
                "HMSG" => (number(2), number(1)),
                "PING" => {
                    self.write("PONG\r\n");
                    continue;
                }
                _ => panic!("{line}"),
            };
            let subject = words[1].to_owned();
            let mut bytes = vec![0; all + 2];
            self.reader.read_exact(&mut bytes).unwrap();
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            let (headers, content) = (text(&bytes[..head]), text(&bytes[head..all]));
            return Heard { subject, headers, text: content };
        }
    }

    /// What a service of the server answers; for a client that has not subscribed.
    fn ask(&mut self, subject: &str, request: &Value) -> Value {
        let (text, inbox) = (request.to_string(), "_INBOX.test.1");
        self.write(&format!("SUB {inbox} 9\r\nUNSUB 9 1\r\n"));
        self.write(&format!("PUB {subject} {inbox} {}\r\n{text}\r\n", text.len()));
        let answer: Value = serde_json::from_str(&self.hear().text).unwrap();
        assert!(answer["error"].is_null(), "{answer}");
        answer
    }

    pub(crate) fn make_stream(&mut self, name: &str, subjects: &[&str]) {
        let config = json!({"name": name, "subjects": subjects, "storage": "file",
            "retention": "limits", "num_replicas": 1, "max_consumers": -1, "max_msgs": -1,
            "max_bytes": -1, "max_age": 0, "discard": "old"});
        self.ask(&format!("$JS.API.STREAM.CREATE.{name}"), &config);
    }

    /// Messages that a stream holds.
    pub(crate) fn stored(&mut self, name: &str) -> u64 {
        let info = self.ask(&format!("$JS.API.STREAM.INFO.{name}"), &json!({}));
        info["state"]["messages"].as_u64().unwrap()
    }
}
