use super::*;
use crate::{Notice, hello};

const GROUP: &str = "239.255.42.1:6003";

fn key(n: u8) -> Key {
    Key::from_secret([n; 32], u32::from(n))
}

fn settings(keys: &[u8], form: Form) -> Settings {
    Settings::new(keys.iter().map(|n| key(*n)).collect(), GROUP).in_form(form)
}

fn seal_of(salt: u8, form: Form) -> Seal {
    Seal::new(settings(&[1], form), [salt; 16])
}

fn address(n: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, n], 6003))
}

fn at(seconds: u64) -> Moment {
    let running = Duration::from_secs(seconds);
    Moment { now: Time::ZERO + running, clock: Duration::from_secs(1_790_000_000) + running }
}

/// What is sealed now.
fn sealed(seal: &mut Seal, at: Moment, plain: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    seal.seal(at, plain, &mut out);
    out
}

fn opened(seal: &mut Seal, at: Moment, datagram: &[u8]) -> Result<Vec<u8>, Refusal> {
    let mut out = Vec::new();
    seal.open(at, address(1), datagram, &mut out).map(|()| out)
}

/// A sender, and a receiver that has heard its hello.
fn pair(form: Form) -> (Seal, Seal) {
    let (mut one, mut other) = (seal_of(1, form), seal_of(2, form));
    let hello = one.hello(at(0), None);
    assert_eq!(hello.len(), hello::LEN);
    assert_eq!(opened(&mut other, at(0), &hello), Ok(vec![]));
    (one, other)
}

#[test]
fn a_message_opens_once_and_is_24_bytes_longer_or_12_in_short_form() {
    for (form, more) in [(Form::Long, 24), (Form::Short, 12)] {
        let (mut one, mut other) = pair(form);
        for n in 0..300usize {
            let message = vec![n as u8; n];
            let bytes = sealed(&mut one, at(1), &message);
            assert_eq!(bytes.len(), n + more);
            assert_eq!(opened(&mut other, at(1), &bytes), Ok(message));
            assert_eq!(opened(&mut other, at(1), &bytes), Err(Refusal::Replayed));
        }
    }
}

#[test]
fn whatever_bit_is_changed_it_does_not_open_and_changes_nothing() {
    for form in [Form::Long, Form::Short] {
        let (mut one, mut other) = pair(form);
        let bytes = sealed(&mut one, at(1), b"message");
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(opened(&mut other, at(1), &changed).is_err(), "{form:?}: bit {bit}");
        }
        for cut in 0..bytes.len() {
            assert!(opened(&mut other, at(1), &bytes[..cut]).is_err());
        }
        assert_eq!(opened(&mut other, at(1), &bytes), Ok(b"message".to_vec()));
        let hello = one.hello(at(1), None);
        for bit in 0..hello.len() * 8 {
            let mut changed = hello.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(opened(&mut seal_of(3, form), at(1), &changed).is_err(), "hello: bit {bit}");
        }
    }
}

#[test]
fn what_is_clear_or_of_another_group_does_not_open() {
    let (mut one, mut other) = pair(Form::Long);
    assert_eq!(opened(&mut other, at(1), &[0x12, 6, 0, 0]), Err(Refusal::Clear));
    let elsewhere = Settings::new(vec![key(1)], "239.255.42.9:6003");
    let mut elsewhere = Seal::new(elsewhere, [9; 16]);
    let hello = one.hello(at(1), None);
    assert_eq!(opened(&mut elsewhere, at(1), &hello), Err(Refusal::Forged));
}

#[test]
fn of_another_key_or_epoch_both_ids_are_told() {
    let mut one = Seal::new(settings(&[2], Form::Long), [1; 16]);
    let mut other = seal_of(2, Form::Long);
    let (hello, message) = (one.hello(at(0), None), sealed(&mut one, at(0), b"x"));
    assert_eq!(opened(&mut other, at(0), &message), Err(Refusal::Stranger));
    assert_eq!(opened(&mut other, at(0), &hello), Err(Refusal::OtherKey(key(2).id())));
    let (theirs, ours) = (key(2).id(), key(1).id());
    let told = other.poll_notice(at(0).now);
    assert_eq!(told, Some(Notice::OtherKey { count: 2, theirs, ours }));
}

#[test]
fn while_keys_change_who_has_both_understands_both() {
    let (mut old, mut new) =
        (seal_of(1, Form::Long), Seal::new(settings(&[2], Form::Long), [2; 16]));
    let mut both = Seal::new(settings(&[2, 1], Form::Long), [3; 16]);
    for seal in [&mut old, &mut new] {
        let hello = seal.hello(at(0), None);
        assert_eq!(opened(&mut both, at(0), &hello), Ok(vec![]));
        let bytes = sealed(seal, at(0), b"x");
        assert_eq!(opened(&mut both, at(0), &bytes), Ok(b"x".to_vec()));
    }
    let hello = both.hello(at(0), None);
    assert_eq!(opened(&mut new, at(0), &hello), Ok(vec![]));
    assert!(opened(&mut old, at(0), &hello).is_err(), "it speaks with the new one");
}

/// As the driver does each time it looks.
fn look(seal: &mut Seal, at: Moment, salt: u8) {
    if seal.needs_salt(at) {
        seal.renew([salt; 16]);
    }
}

#[test]
fn who_runs_on_takes_a_new_key_opens_the_old_one_for_ten_seconds_and_speaks_with_the_new_one() {
    let (mut one, mut other) = pair(Form::Long);
    look(&mut one, at(0), 3);
    let early = sealed(&mut one, at(1), b"old");
    other.rekey(at(1).now, vec![key(2)]);
    assert_eq!(opened(&mut other, at(2), &early), Ok(b"old".to_vec()), "on its way");
    one.rekey(at(2).now, vec![key(2)]);
    look(&mut one, at(4), 3);
    assert_eq!(one.key_id(), key(1).id(), "others may not have it yet");
    let before = sealed(&mut one, at(4), b"old");
    look(&mut one, at(5), 3);
    assert_eq!(one.key_id(), key(2).id());
    let (hello, after) = (one.hello(at(5), None), sealed(&mut one, at(5), b"new"));
    assert_eq!(opened(&mut other, at(5), &hello), Ok(vec![]));
    assert_eq!(opened(&mut other, at(5), &after), Ok(b"new".to_vec()));
    look(&mut other, at(11), 4);
    assert!(opened(&mut other, at(11), &before).is_err(), "the old key opens nothing any more");
    let more = sealed(&mut one, at(12), b"more");
    assert_eq!(opened(&mut other, at(12), &more), Ok(b"more".to_vec()));
    let mut gone = seal_of(7, Form::Long);
    let hello = gone.hello(at(12), None);
    assert_eq!(opened(&mut other, at(12), &hello), Err(Refusal::OtherKey(key(1).id())));
}

#[test]
fn with_the_key_that_it_speaks_with_already_or_with_none_nothing_begins_anew() {
    let (mut one, mut other) = pair(Form::Long);
    look(&mut one, at(0), 3);
    one.rekey(at(1).now, vec![key(1), key(2)]);
    one.rekey(at(1).now, Vec::new());
    look(&mut one, at(9), 3);
    let message = sealed(&mut one, at(9), b"x");
    assert_eq!(opened(&mut other, at(9), &message), Ok(b"x".to_vec()));
    let mut new = Seal::new(settings(&[2], Form::Long), [2; 16]);
    let hello = new.hello(at(9), None);
    assert_eq!(opened(&mut one, at(9), &hello), Ok(vec![]), "it understands both");
}

#[test]
fn generations_turn_and_the_one_before_opens_for_ten_seconds() {
    let (mut one, mut other) = pair(Form::Long);
    let first = sealed(&mut one, at(1), b"first");
    let late = sealed(&mut one, at(1), b"late");
    assert_eq!(opened(&mut other, at(1), &first), Ok(b"first".to_vec()));
    let turned = sealed(&mut one, at(601), b"second");
    assert_ne!(turned[0], first[0]);
    assert_eq!(opened(&mut other, at(602), &turned), Ok(b"second".to_vec()));
    let mut later = sealed(&mut one, at(602), b"x");
    assert_eq!(opened(&mut other, at(602), &late), Ok(b"late".to_vec()));
    for turn in 2..10 {
        later = sealed(&mut one, at(601 * turn), b"x");
        assert_eq!(opened(&mut other, at(601 * turn), &later), Ok(b"x".to_vec()));
    }
    let (missed, _) = (sealed(&mut one, at(601 * 10), b"x"), sealed(&mut one, at(601 * 11), b"x"));
    assert_eq!(opened(&mut other, at(601 * 11 + 20), &later), Err(Refusal::Replayed));
    assert_eq!(opened(&mut other, at(601 * 11 + 20), &missed), Ok(b"x".to_vec()));
    // Away for more than two generations: the next hello tells.
    let beyond = (12..20).map(|turn| sealed(&mut one, at(601 * turn), b"y")).next_back().unwrap();
    assert_eq!(opened(&mut other, at(601 * 20), &beyond), Err(Refusal::Forged));
    let hello = one.hello(at(601 * 20), None);
    assert_eq!(opened(&mut other, at(601 * 20), &hello), Ok(vec![]));
    let now = sealed(&mut one, at(601 * 20), b"z");
    assert!(opened(&mut other, at(601 * 20), &now).is_ok());
}

#[test]
fn a_recorded_session_does_not_come_back_the_next_day() {
    let mut one = seal_of(1, Form::Long);
    let (hello, message) = (one.hello(at(0), None), sealed(&mut one, at(0), b"x"));
    let mut fresh = Seal::new(settings(&[1], Form::Long).silent(true), [2; 16]);
    let refused = opened(&mut fresh, at(86_400), &hello);
    assert_eq!(refused, Err(Refusal::Clock(Duration::from_secs(86_400))));
    assert_eq!(opened(&mut fresh, at(86_400), &message), Err(Refusal::Stranger));
    let told = fresh.poll_notice(at(86_400).now).unwrap();
    assert!(told.to_string().contains("differ by 24 hours"), "{told}");
}

#[test]
fn a_machine_whose_clock_is_wrong_takes_part_once_it_has_been_answered() {
    let (mut one, mut other) = (seal_of(1, Form::Long), seal_of(2, Form::Long));
    let (wrong, right) = (at(0), at(1_000_000));
    let hello = one.hello(wrong, None);
    assert!(matches!(opened(&mut other, right, &hello), Err(Refusal::Clock(_))));
    let (_, asks) = other.poll(right).unwrap();
    // The one whose clock is wrong does not believe the other, either; it answers, and asks back.
    assert!(opened(&mut one, wrong, &asks).is_err());
    let (_, answers) = one.poll(wrong).unwrap();
    assert_eq!(opened(&mut other, right, &answers), Ok(vec![]));
    let (_, asks_too) = one.poll(wrong).unwrap();
    assert_eq!(opened(&mut other, right, &asks_too), Ok(vec![]));
    let (_, answers) = other.poll(at(1_000_001)).unwrap();
    assert_eq!(opened(&mut one, wrong, &answers), Ok(vec![]));
    let bytes = sealed(&mut one, wrong, b"x");
    assert_eq!(opened(&mut other, right, &bytes), Ok(b"x".to_vec()));
    let bytes = sealed(&mut other, right, b"y");
    assert_eq!(opened(&mut one, wrong, &bytes), Ok(b"y".to_vec()));
    assert_eq!((one.poll_notice(wrong.now), other.poll_notice(right.now)), (None, None));
}

#[test]
fn who_missed_the_hello_asks_and_is_answered() {
    let (mut one, mut other) = (seal_of(1, Form::Long), seal_of(2, Form::Long));
    let lost = sealed(&mut one, at(1), b"a message of NORM");
    assert_eq!(opened(&mut other, at(1), &lost), Err(Refusal::Stranger));
    let (to, question) = other.poll(at(1)).unwrap();
    assert_eq!(to, address(1));
    assert_eq!(opened(&mut one, at(1), &question), Ok(vec![]));
    let (_, answer) = one.poll(at(1)).unwrap();
    assert_eq!(opened(&mut other, at(1), &answer), Ok(vec![]));
    let next = sealed(&mut one, at(1), b"y");
    assert_eq!(opened(&mut other, at(1), &next), Ok(b"y".to_vec()));
    assert_eq!(opened(&mut other, at(1), &lost), Err(Refusal::Replayed), "it is asked for again");
}

#[test]
fn who_is_not_to_be_heard_neither_asks_nor_answers() {
    let mut one = seal_of(1, Form::Long);
    let mut silent = Seal::new(settings(&[1], Form::Long).silent(true), [2; 16]);
    let message = sealed(&mut one, at(1), b"x");
    assert_eq!(opened(&mut silent, at(1), &message), Err(Refusal::Stranger));
    assert_eq!((silent.poll(at(1)), silent.next_timeout()), (None, None));
}

#[test]
fn two_members_of_one_slot_are_told_apart() {
    let settings = || settings(&[1], Form::Long);
    let salt = |last| [5, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last];
    let (mut one, mut two) = (Seal::new(settings(), salt(1)), Seal::new(settings(), salt(2)));
    let mut other = seal_of(9, Form::Long);
    for seal in [&mut one, &mut two] {
        let hello = seal.hello(at(0), None);
        opened(&mut other, at(0), &hello).unwrap();
    }
    for n in 0..10 {
        for seal in [&mut one, &mut two] {
            let bytes = sealed(seal, at(0), &[n]);
            assert_eq!(opened(&mut other, at(0), &bytes), Ok(vec![n]));
        }
    }
}

#[test]
fn what_we_have_sent_ourselves_is_no_news() {
    let mut one = seal_of(1, Form::Long);
    let (hello, message) = (one.hello(at(0), None), sealed(&mut one, at(0), b"x"));
    assert_eq!(opened(&mut one, at(0), &hello), Err(Refusal::Own));
    assert_eq!(opened(&mut one, at(0), &message), Err(Refusal::Own));
    assert_eq!(one.poll_notice(at(0).now), None);
}

#[test]
fn garbage_of_any_length_is_refused() {
    let (_, mut other) = pair(Form::Long);
    let mut rng = fanfare_wire::units::Rng::new(1);
    for _ in 0..20_000 {
        let len = rng.below(120) as usize;
        let mut bytes: Vec<u8> = (0..len).map(|_| rng.next_u64() as u8).collect();
        if let Some(first) = bytes.first_mut() {
            *first = *first & 0xf0 | 0x08;
        }
        assert!(opened(&mut other, at(1), &bytes).is_err());
    }
}

#[test]
fn over_ten_thousand_crashes_copies_and_snapshots_no_key_meets_a_number_twice() {
    // Each life has a salt of the system's, seed 1, and seals some messages. One in four is a copy of a
    // running machine, which finds that its clock has jumped.
    use std::collections::BTreeSet;
    let mut rng = fanfare_wire::units::Rng::new(1);
    let draw = |rng: &mut fanfare_wire::units::Rng| -> Salt {
        std::array::from_fn(|_| rng.next_u64() as u8)
    };
    let mut used = BTreeSet::new();
    for _ in 0..10_000 {
        let (mut life, mut moment) = (seal_of(0, Form::Long), at(0));
        life.renew(draw(&mut rng));
        life.needs_salt(moment);
        for _ in 0..rng.below(4) {
            if rng.below(4) == 0 {
                // The snapshot is begun an hour later.
                moment.clock += Duration::from_secs(3600);
                moment.now = moment.now + Duration::from_millis(1);
                assert!(life.needs_salt(moment));
                life.renew(draw(&mut rng));
            }
            let head = sealed(&mut life, moment, b"x");
            assert!(!head.is_empty());
            let number: [u8; 4] = head[4..8].try_into().unwrap();
            assert!(used.insert((*life.sealer.salt(), head[0], number)), "twice");
        }
    }
}
