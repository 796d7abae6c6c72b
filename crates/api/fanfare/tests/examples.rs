//! Runs what the examples do, on the loopback interface.

#[expect(dead_code, reason = "its `main` only reads arguments")]
#[path = "../examples/publish_subscribe.rs"]
mod publish_subscribe;
#[expect(dead_code, reason = "its `main` only reads arguments")]
#[path = "../examples/receipts.rs"]
mod receipts;
#[expect(dead_code, reason = "its `main` only reads arguments")]
#[path = "../examples/receive.rs"]
mod receive;
#[expect(dead_code, reason = "its `main` only reads arguments")]
#[path = "../examples/send.rs"]
mod send;
#[expect(dead_code, reason = "its `main` only reads arguments")]
#[path = "../examples/simulated_network.rs"]
mod simulated_network;
#[expect(dead_code, reason = "its `main` only reads arguments")]
#[path = "../examples/stream.rs"]
mod stream;

use std::{
    fs,
    net::UdpSocket,
    path::{Path, PathBuf},
    thread,
};

use fanfare::{Network, ReceiveOptions, Transfer, files::event::Outcome};

/// A directory for one test, gone with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("fanfare-{test}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A group on the loopback interface, on a port that nobody has.
fn group() -> String {
    let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    format!("norm://lo;239.255.42.7:{port}")
}

#[test]
fn the_example_send_reaches_the_example_receive() {
    let scratch = Scratch::new("send-receive");
    let (file, inbox, group) = (scratch.file("a.txt", "hello"), scratch.0.join("in"), group());
    let files = thread::scope(|scope| {
        let receiver = scope.spawn(|| receive::receive(&group, &inbox).map_err(|e| e.to_string()));
        assert_eq!(send::send(&group, vec![file]).unwrap(), 1);
        receiver.join().unwrap().unwrap()
    });
    assert_eq!(files, ["a.txt"]);
    assert_eq!(fs::read_to_string(inbox.join("a.txt")).unwrap(), "hello");
}

/// A receiver that calls itself so, until it is dropped.
fn receiver(group: &str, directory: &Path, name: &str) -> Transfer {
    let options =
        ReceiveOptions { name: name.to_owned(), create_dirs: true, ..ReceiveOptions::default() };
    let network = Network::new(group.parse().unwrap());
    Transfer::over(network).receive(directory.join(name), options).start().unwrap()
}

#[test]
fn the_example_receipts_names_each_receiver_that_was_waited_for() {
    let scratch = Scratch::new("receipts");
    let (file, group) = (scratch.file("a.txt", "hello"), group());
    let _receivers = ["anna", "bert"].map(|name| receiver(&group, &scratch.0, name));
    let names = vec!["anna".to_owned(), "bert".to_owned()];
    let mut outcomes = receipts::send_to(&group, &file.display().to_string(), names).unwrap();
    outcomes.sort_by(|a, b| a.0.cmp(&b.0));
    let complete = |name: &str| (name.to_owned(), Outcome::Complete);
    assert_eq!(outcomes, ["anna", "bert"].map(complete));
}

#[test]
fn the_example_publish_subscribe_hears_another_member() {
    let group = group();
    let [listener, speaker] =
        ["weather/#", "#"].map(|topics| publish_subscribe::join(&group, topics).unwrap());
    publish_subscribe::publish(&speaker, "traffic/jam", "a long one").unwrap();
    publish_subscribe::publish(&speaker, "weather/helsinki", "rain").unwrap();
    let heard = publish_subscribe::next_message(&listener).unwrap();
    assert_eq!(heard, ("weather/helsinki".to_owned(), "rain".to_owned()));
}

#[test]
fn the_example_stream_hands_every_message_to_two() {
    let group = group();
    let readers = [(); 2].map(|()| {
        let mut receiver = stream::listen(&group).unwrap();
        thread::spawn(move || {
            let mut messages = Vec::new();
            while let Some(message) = receiver.read_message().unwrap() {
                messages.push(message.bytes);
            }
            receiver.finish();
            messages
        })
    });
    let mut sender = stream::open(&group, 2).unwrap();
    sender.write_message(b"one").unwrap();
    sender.write_message(b"two").unwrap();
    assert!(sender.finish().is_complete());
    for reader in readers {
        assert_eq!(reader.join().unwrap(), [b"one", b"two"]);
    }
}

#[test]
fn the_example_simulated_network_delivers_every_byte_and_repeats_itself() {
    let report = simulated_network::distribute(7, 0.1);
    report.check_complete();
    let again = simulated_network::distribute(7, 0.1);
    assert_eq!(report.last_completion(), again.last_completion());
    let calm = simulated_network::distribute(7, 0.0);
    assert!(calm.last_completion() < report.last_completion());
}
