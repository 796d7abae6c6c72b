//! Any bytes: parsing neither panics nor loops, nor does reading what is read on demand.
#![no_main]

use fanfare_wire::ext::Extensions;
use fanfare_wire::{AckKind, Cmd, FecId, FieldSize, Message, RepairRequests};
use libfuzzer_sys::fuzz_target;
use std::hint::black_box;

fuzz_target!(|datagram: &[u8]| {
    if let Ok(message) = Message::parse(datagram) {
        black_box(message.source_id());
        black_box(message.to_string());
        walk(&message);
    }
});

fn walk(message: &Message<'_>) {
    match message {
        Message::Info(m) => walk_extensions(&m.extensions),
        Message::Data(m) => {
            walk_extensions(&m.extensions);
            black_box(m.payload_id.unpack(FieldSize::M16));
        }
        Message::Cmd(m) => walk_command(m),
        Message::Nack(m) => {
            walk_extensions(&m.extensions);
            walk_requests(&m.requests);
        }
        Message::Ack(m) => {
            walk_extensions(&m.extensions);
            if let AckKind::Flush(point) = m.kind {
                black_box(point.payload_id.unpack(FieldSize::M8));
            }
        }
        Message::Report(m) => walk_extensions(&m.extensions),
    }
}

fn walk_command(command: &Cmd<'_>) {
    black_box(command.sender());
    match command {
        Cmd::Flush(m) => {
            walk_extensions(&m.extensions);
            black_box(m.acking_nodes.iter().count());
        }
        Cmd::Eot(m) => walk_extensions(&m.extensions),
        Cmd::Squelch(m) => {
            walk_extensions(&m.extensions);
            black_box(m.invalid_objects.iter().count());
        }
        Cmd::Cc(m) => {
            walk_extensions(&m.extensions);
            for node in m.nodes.iter() {
                black_box((node.rtt.to_nanos(), node.rate.to_bytes_per_second()));
            }
        }
        Cmd::RepairAdv(m) => {
            walk_extensions(&m.extensions);
            walk_requests(&m.requests);
        }
        Cmd::AckReq(m) => {
            walk_extensions(&m.extensions);
            black_box(m.acking_nodes.iter().count());
        }
        Cmd::Application(m) => walk_extensions(&m.extensions),
    }
}

fn walk_extensions(extensions: &Extensions<'_>) {
    for extension in extensions.iter() {
        black_box(extension.content);
    }
    for fec_id in [FecId::ReedSolomonM, FecId::ReedSolomon8, FecId::SmallBlockSystematic] {
        black_box(extensions.fti(fec_id));
    }
    black_box((extensions.cc(), extensions.rate(), extensions.app_ack(), extensions.turns().count()));
}

fn walk_requests(requests: &RepairRequests<'_>) {
    for request in requests.iter() {
        for (first, last) in request.ranges() {
            black_box((first.id(FieldSize::M8), last.id(FieldSize::M16)));
        }
    }
}
