//! Known answers: `testdata/vectors.py` has made them without any code of this crate.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    Settings,
    cipher::Cipher,
    hello::{Hello, HelloHead},
    key::Key,
    packet::{Form, Head},
    schedule::Epoch,
    seal::context_of,
};

const EPOCH: u32 = 259;
const SLOT: u16 = 0xc0de;
const MESSAGE: &[u8] = b"The quick brown fox jumps over the lazy dog";

fn answers() -> BTreeMap<&'static str, &'static str> {
    let lines = include_str!("../testdata/vectors.txt").lines();
    lines.filter_map(|line| line.split_once(' ')).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn key() -> Key {
    Key::from_secret(std::array::from_fn(|n| n as u8), EPOCH)
}

fn salt() -> [u8; 16] {
    std::array::from_fn(|n| if n < 2 { [0xc0, 0xde][n] } else { n as u8 - 1 })
}

fn context() -> [u8; 8] {
    context_of(&Settings::new(vec![key()], "239.255.42.1:6003"))
}

#[test]
fn ids_and_keys_are_those_of_an_independent_program() {
    let (answers, epoch) = (answers(), Epoch::of(&key()));
    assert_eq!(hex(&context()), answers["context"]);
    assert_eq!(epoch.id.to_string(), answers["key_id"]);
    assert_eq!(hex(&epoch.fingerprint()), answers["fingerprint"]);
    for generation in 0..3 {
        let chain = epoch.chain(SLOT, &salt()).after(generation);
        assert_eq!(hex(&chain.packet()), answers[&*format!("packet_{generation}")]);
    }
}

#[test]
fn sealed_messages_are_those_of_an_independent_program() {
    let (answers, epoch) = (answers(), Epoch::of(&key()));
    for generation in 0..3 {
        let chain = epoch.chain(SLOT, &salt()).after(generation);
        for (form, material, name) in
            [(Form::Long, chain.packet(), "long"), (Form::Short, chain.short(), "short")]
        {
            for number in [0, (1u64 << 32) + 5] {
                let head = Head {
                    form,
                    generation: generation as u8,
                    epoch: EPOCH as u8,
                    slot: SLOT,
                    number: number as u32,
                };
                let mut bytes = Vec::new();
                head.append(&mut bytes);
                bytes.extend(MESSAGE);
                let cipher = Cipher::new(form, &material).unwrap();
                cipher.seal(number, &context(), &mut bytes, (0, form.head()));
                assert_eq!(hex(&bytes), answers[&*format!("{name}_{generation}_{number}")]);
                let (ahead, sealed) = bytes.split_at(form.head());
                let mut opened = Vec::new();
                cipher.open(number, (ahead, &context()), sealed, &mut opened).unwrap();
                assert_eq!(opened, MESSAGE);
            }
        }
    }
}

#[test]
fn a_hello_is_that_of_an_independent_program() {
    let epoch = Epoch::of(&key());
    let head = HelloHead { epoch: EPOCH as u8, slot: SLOT, key: epoch.id, salt: salt(), number: 7 };
    let hello = Hello {
        clock: Duration::from_micros(1_790_000_000_123_456),
        next: 12_345,
        generation: 2,
        asks: true,
        question: *b"question",
        answers: *b"answered",
    };
    let bytes = head.seal(&epoch, &context(), &hello);
    assert_eq!(hex(&bytes), answers()["hello"]);
    assert_eq!(HelloHead::parse(&bytes), Some(head));
    assert_eq!(head.open(&epoch, &context(), &bytes), Some(hello));
}
