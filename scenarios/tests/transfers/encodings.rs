//! Every FEC encoding id, the extremes of segment size and block length, and both FTI modes.

use fanfare_proto::{FecConfig, FecId, FtiMode, SenderConfig};
use fanfare_scenarios::plan;
use fanfare_sim::{Link, Object};
use fanfare_wire::FieldSize;

/// loss 10 % each way, delay 5 ms.
fn lossy(seed: u64, sender: SenderConfig, bytes: u64) {
    let report = plan(seed)
        .sender(sender)
        .receivers(2)
        .link(Link::default().loss(0.1))
        .send(Object::file("encoded", bytes))
        .send(Object::data(bytes / 3))
        .run();
    report.check_complete();
}

fn with(fec: FecConfig) -> SenderConfig {
    SenderConfig { fec, ..SenderConfig::default() }
}

#[test]
fn encoding_id_129_is_carried_and_repaired() {
    // seed 1
    let id = FecId::SmallBlockSystematic;
    lossy(1, with(FecConfig { id, source: 64, parity: 32, ..FecConfig::default() }), 300_000);
}

#[test]
fn encoding_id_2_over_8_bits_is_carried_and_repaired() {
    // seed 2
    let id = FecId::ReedSolomonM;
    lossy(2, with(FecConfig { id, source: 64, parity: 32, ..FecConfig::default() }), 300_000);
}

#[test]
fn encoding_id_2_over_16_bits_has_blocks_beyond_255_symbols() {
    // 400 source and 200 parity symbols; seed 3
    let (id, field) = (FecId::ReedSolomonM, FieldSize::M16);
    let fec = FecConfig { id, field, source: 400, parity: 200, ..FecConfig::default() };
    lossy(3, with(fec), 900_000);
}

#[test]
fn segments_of_64_bytes_and_of_1400_bytes_are_carried() {
    // seeds 4 and 5
    lossy(4, SenderConfig { segment_size: 64, ..SenderConfig::default() }, 40_001);
    lossy(5, SenderConfig { segment_size: 1400, ..SenderConfig::default() }, 40_001);
}

#[test]
fn fti_on_info_alone_is_enough() {
    // seed 6
    lossy(6, SenderConfig { fti: FtiMode::InfoOnly, ..SenderConfig::default() }, 300_000);
}

#[test]
fn blocks_of_one_symbol_are_carried() {
    // 1 source, 1 parity; seed 7
    lossy(7, with(FecConfig { source: 1, parity: 1, ..FecConfig::default() }), 20_000);
}
