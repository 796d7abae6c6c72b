//! Sends lines of standard input as messages of a stream, or prints those of another one:
//! `cargo run --example stream -- GROUP send RECEIVERS` and `cargo run --example stream -- GROUP recv`

#![allow(clippy::print_stderr, clippy::print_stdout)]

use std::{
    env,
    error::Error,
    io::{self, BufRead as _},
};

use fanfare::{
    Network,
    protocol::{Bitrate, SenderConfig},
    stream::{
        Expect, Framing, ReceiveOptions, SendOptions, SendReport, StreamPolicy, StreamReceiver,
        StreamSender,
    },
};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words[..] {
        [group, "send", receivers] => {
            let mut sender = open(group, receivers.parse()?)?;
            for line in io::stdin().lock().lines() {
                sender.write_message(line?.as_bytes())?;
            }
            print_report(&sender.finish());
        }
        [group, "recv"] => {
            let mut receiver = listen(group)?;
            while let Some(message) = receiver.read_message()? {
                println!("{}", String::from_utf8_lossy(&message.bytes));
            }
            // Tells the sender that all of it was kept.
            receiver.finish();
        }
        _ => return Err("usage: stream GROUP send RECEIVERS | stream GROUP recv".into()),
    }
    Ok(())
}

/// Opens a stream of messages for so many receivers, of which each is to have every message.
pub(crate) fn open(group: &str, receivers: usize) -> Result<StreamSender, Box<dyn Error>> {
    let options = SendOptions {
        expect: Expect::Count(receivers),
        policy: StreamPolicy::Lossless,
        framing: Framing::Varint,
        ..SendOptions::default()
    };
    let config = SenderConfig { rate: Bitrate::mbps(100), ..SenderConfig::default() };
    Ok(Network::new(group.parse()?).sender_config(config).send_stream(options)?)
}

/// Receives the first stream in the group.
pub(crate) fn listen(group: &str) -> Result<StreamReceiver, Box<dyn Error>> {
    Ok(Network::new(group.parse()?).receive_stream(ReceiveOptions::default())?)
}

fn print_report(report: &SendReport) {
    println!("{} of {} have everything", report.whole(), report.receivers.len());
}
