//! Events as they come (server-sent events): the whole document first, then what changes.

use std::{
    io::{self, Write},
    time::Duration,
};

use serde_json::{Value, json};

use super::response::{Status, head};
use crate::{Board, patch};

/// Without news an event is sent so often: the page says after 15 s that what it shows is old.
const HEARTBEAT: Duration = Duration::from_secs(4);

/// Sends events until the reader has gone or nothing more comes.
pub(super) fn send(to: &mut impl Write, board: &Board) -> io::Result<()> {
    let reader = Reader::new(board);
    let mut head = head(Status::Fine, "text/event-stream");
    head.push_str("X-Accel-Buffering: no\r\n\r\n");
    to.write_all(head.as_bytes())?;
    let mut last = board.now();
    event(to, "snapshot", last.number, &last.document)?;
    event(to, "history", last.number, &json!(board.history()))?;
    while !last.ended {
        let next = reader.board.wait(last.number, HEARTBEAT);
        match patch(&last.document, &next.document) {
            Some(change) => event(to, "patch", next.number, &change)?,
            None if next.ended => {}
            // An event: a comment would be hidden from the page, which would call what is quiet old.
            None => event(to, "alive", next.number, &Value::Bool(true))?,
        }
        last = next;
    }
    event(to, "end", last.number, &Value::Bool(true))
}

/// Counted while it is there.
struct Reader<'b> {
    board: &'b Board,
}

impl<'b> Reader<'b> {
    fn new(board: &'b Board) -> Self {
        board.on_reader();
        Self { board }
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        self.board.on_reader_gone();
    }
}

fn event(to: &mut impl Write, name: &str, number: u64, data: &Value) -> io::Result<()> {
    // JSON has no line ends of its own.
    to.write_all(format!("id: {number}\nevent: {name}\ndata: {data}\n\n").as_bytes())?;
    to.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_gets_the_whole_then_what_changes_and_then_the_end() {
        let board = Board::new(json!({"a": 1, "b": 2}));
        board.add_point(vec![0.0, 5.0]);
        let mut sink = Sink { board: &board, text: Vec::new() };
        send(&mut sink, &board).unwrap();
        let text = String::from_utf8(sink.text).unwrap();
        let (_, events) = text.split_once("\r\n\r\n").unwrap();
        let expected = "id: 1\nevent: snapshot\ndata: {\"a\":1,\"b\":2}\n\n\
                        id: 1\nevent: history\ndata: [[0.0,5.0]]\n\n\
                        id: 2\nevent: patch\ndata: {\"b\":3}\n\n\
                        id: 2\nevent: end\ndata: true\n\n";
        assert_eq!(events, expected);
    }

    /// Takes one change while there are many more: the next that it takes is the last of them.
    struct SlowSink<'b> {
        board: &'b Board,
        burst: u64,
        text: Vec<u8>,
    }

    impl Write for SlowSink<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.text.extend_from_slice(bytes);
            if bytes.windows(7).any(|part| part == b"history") {
                let long = "x".repeat(1000);
                (1..=self.burst).for_each(|n| {
                    self.board.publish(json!({"n": n, "long": format!("{long}{n}")}));
                });
            }
            if bytes.windows(5).any(|part| part == b"patch") {
                self.board.end(Duration::ZERO);
            }
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn of_a_burst_a_slow_reader_gets_the_last_and_nothing_waits_for_it() {
        for burst in [1_000, 10_000, 100_000] {
            let board = Board::new(json!({"n": 0}));
            let mut sink = SlowSink { board: &board, burst, text: Vec::new() };
            send(&mut sink, &board).unwrap();
            let text = String::from_utf8(sink.text).unwrap();
            assert_eq!(text.matches("event: patch").count(), 1, "one for all of them");
            assert!(text.contains(&format!("\"n\":{burst}")), "the last");
            assert!(text.len() < 3_000, "{} bytes", text.len());
        }
    }

    /// Changes the document once the history has been written, and ends when the change has been.
    struct Sink<'b> {
        board: &'b Board,
        text: Vec<u8>,
    }

    impl Write for Sink<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.text.extend_from_slice(bytes);
            if bytes.windows(7).any(|part| part == b"history") {
                self.board.publish(json!({"a": 1, "b": 3}));
            }
            if bytes.windows(5).any(|part| part == b"patch") {
                self.board.end(Duration::ZERO);
            }
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
}
