//! One line for each datagram sent, to find the cause of a surprising number.

use std::fmt::Write;

use fanfare_proto::Time;
use fanfare_wire::{Cmd, FieldSize, Message, RepairForm};

use crate::{network::Host, results::traffic::Kind};

/// `time host kind bytes: what it is about`. Symbol ids of encoding id 2 are read as for m = 8.
pub(crate) fn line(
    now: Time,
    from: Host,
    kind: Kind,
    message: Option<&Message<'_>>,
    bytes: usize,
) -> String {
    let mut line = format!("{now} host {:<4} {:<11} {bytes:>5}", from.0, kind.name());
    // Writing to a string cannot fail.
    let _ = match message {
        Some(Message::Data(m)) => {
            let id = m.payload_id.unpack(FieldSize::M8);
            let object = m.object_transport_id;
            write!(line, ": object {object} block {} symbol {}", id.block, id.symbol)
        }
        Some(Message::Info(m)) => write!(line, ": object {}", m.object_transport_id),
        Some(Message::Cmd(Cmd::Flush(m))) => {
            let id = m.payload_id.unpack(FieldSize::M8);
            let object = m.object_transport_id;
            write!(line, ": object {object} block {} symbol {}", id.block, id.symbol)
        }
        Some(Message::Cmd(Cmd::Squelch(m))) => write!(line, ": object {}", m.object_transport_id),
        Some(Message::Nack(m)) => write!(line, ":{}", requests(&m.requests)),
        Some(Message::Cmd(Cmd::RepairAdv(m))) => write!(line, ":{}", requests(&m.requests)),
        _ => match message.and_then(fanfare_messaging::frame_name) {
            Some(name) => write!(line, ": {name}"),
            None => Ok(()),
        },
    };
    line
}

fn requests(requests: &fanfare_wire::RepairRequests<'_>) -> String {
    let mut text = String::new();
    for request in requests.iter() {
        let form = match request.form {
            RepairForm::Items => "items",
            RepairForm::Ranges => "ranges",
            RepairForm::Erasures => "erasures",
        };
        let _ = write!(text, " {form}/{:x}", request.level.0);
        for item in request.iter() {
            let id = item.id(FieldSize::M8);
            let _ = write!(text, " {}:{}:{}", item.object_transport_id, id.block, id.symbol);
        }
    }
    text
}
