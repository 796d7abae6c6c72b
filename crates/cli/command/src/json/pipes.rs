//! Lines of `fanfare pipe`.

use serde::Serialize;

/// Lines of `fanfare pipe`.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum PipeLine<'a> {
    /// A receiver that counts is there.
    #[serde(rename = "pipe_receiver")]
    Receiver { node: u32, name: &'a str },
    /// All are there, or are not waited for any longer.
    #[serde(rename = "pipe_started")]
    Started { receivers: usize },
    /// These do not read.
    #[serde(rename = "pipe_stalled")]
    Stalled { receivers: &'a [String] },
    /// They do again.
    #[serde(rename = "pipe_resumed")]
    Resumed,
    /// It has left before the end.
    #[serde(rename = "pipe_left")]
    Left { node: u32, name: &'a str },
    /// It receives the stream of another sender.
    #[serde(rename = "pipe_taken")]
    Taken { node: u32, name: &'a str, by: u32 },
    /// It was silent for too long.
    #[serde(rename = "pipe_given_up")]
    GivenUp { node: u32, name: &'a str },
    /// A stream has begun.
    #[serde(rename = "pipe_begun")]
    Begun { sender: u32 },
    /// Bytes are lost.
    #[serde(rename = "pipe_gap")]
    Gap { from: u64, to: u64 },
    /// The last line of a sender.
    #[serde(rename = "result")]
    SendResult {
        ok: bool,
        exit: u8,
        bytes: u64,
        expired: u64,
        repairs: u64,
        receivers: &'a [PipeReceiver],
        missing: &'a [String],
    },
    /// The last line of a receiver.
    #[serde(rename = "result")]
    ReceiveResult {
        ok: bool,
        exit: u8,
        bytes: u64,
        lost: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        hash: Option<String>,
    },
}

/// What became of a receiver.
#[derive(Debug, Serialize)]
pub struct PipeReceiver {
    pub node: u32,
    pub name: String,
    pub outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

impl PipeReceiver {
    /// The same for people.
    pub fn told(&self) -> String {
        match (self.outcome, self.lost) {
            ("gaps", Some(lost)) => format!("lacks {lost} bytes"),
            ("differs", _) => "has something else than was sent".to_owned(),
            ("left", _) => "left before the end".to_owned(),
            ("silent", _) => "fell silent before the end".to_owned(),
            ("taken", _) => "receives another pipe".to_owned(),
            (outcome, _) => outcome.to_owned(),
        }
    }
}
