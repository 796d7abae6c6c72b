use super::*;
use crate::serve::message::{Roster, Set, Status};
use fanfare_wire::units::time::at;
use fanfare_wire::{
    Data, EncodingSymbolId, FecId, FecPayloadId, FieldSize, GroupSize, InstanceId, NodeId,
    ObjectFlags, ObjectTransportId, QuantizedRtt, Sequence, SourceBlockNumber,
    ext::{ExtTime, Extensions},
    fec::RawPayloadId,
    header::SenderFields,
};

const SENDER: u32 = 7;

fn address(last: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, last], 6003))
}

fn data(sequence: u16, block: u32, symbol: u16) -> Vec<u8> {
    stamped(sequence, block, symbol, None)
}

fn stamped(sequence: u16, block: u32, symbol: u16, micros: Option<u64>) -> Vec<u8> {
    let id = FecPayloadId {
        block: SourceBlockNumber(block),
        block_len: 64,
        symbol: EncodingSymbolId(symbol),
    };
    let mut area = Vec::new();
    micros.into_iter().for_each(|micros| ExtTime::of_micros(micros).append(&mut area));
    let extensions = Extensions::parse(&area).unwrap();
    let message = Data {
        sender: SenderFields {
            sequence: Sequence(sequence),
            source_id: NodeId(SENDER),
            instance_id: InstanceId(1),
            grtt: QuantizedRtt(0),
            backoff: 1,
            gsize: GroupSize(0),
        },
        flags: ObjectFlags::default(),
        object_transport_id: ObjectTransportId(1),
        payload_id: RawPayloadId::pack(FecId::ReedSolomon8, FieldSize::M8, id),
        extensions,
        payload: &[],
    };
    let mut bytes = Vec::new();
    message.encode_header(None, &mut bytes);
    bytes.extend([block as u8; 10]);
    bytes
}

fn joined() -> JoinedSession {
    JoinedSession::new(SocketAddr::from(([239, 255, 42, 1], 6003)).into())
}

/// Has a sender call a member, which was named, and show it the cookie.
fn admit(member: &mut Member<SocketAddr>, sender: SocketAddr) {
    let session = joined().session;
    let call = Message::Call { messages: 0, host: 0, called: 6003, session }.encode(SENDER);
    take(member, sender, SocketDoor::Machine, &call);
    let Some(reply) = member.poll_message(at(0)) else { panic!("no answer") };
    let Some((_, Message::Here { nonce, .. })) = Message::parse(&reply.bytes) else { panic!() };
    let cookie = Message::Cookie { host: NO_HOST, nonce, cookie: 99 }.encode(SENDER);
    take(member, sender, SocketDoor::Own, &cookie);
    assert!(member.poll_message(at(0)).is_some_and(|reply| reply.to == sender));
}

fn incoming(arrived: Time, from: SocketAddr, door: SocketDoor, run: &[u8]) -> IncomingRun<'_> {
    IncomingRun { from, door, arrived, run, stride: run.len() }
}

fn take(member: &mut Member<SocketAddr>, from: SocketAddr, door: SocketDoor, bytes: &[u8]) -> Way {
    member.on_run(at(0), incoming(at(0), from, door, bytes), |from| from, |_| true)
}

/// Receivers 0 to 2 at 10.0.0.0 to .2, and the sender at 10.0.0.9; what they say to each other arrives.
struct World {
    members: Vec<Member<SocketAddr>>,
    told: Vec<(u8, Status)>,
}

impl World {
    fn new(settings: [Settings; 3]) -> Self {
        let member = |n: usize, settings: Settings| {
            let mut member = Member::new(settings, joined(), [n as u8; 32], n as u64);
            admit(&mut member, address(9));
            member
        };
        let members =
            settings.into_iter().enumerate().map(|(n, settings)| member(n, settings)).collect();
        let mut world = Self { members, told: Vec::new() };
        let hosts: Vec<_> = (0..3).map(|n| (n, address(n))).collect();
        for you in 0..3 {
            let roster = Message::Roster(Roster { you, hosts: hosts.clone() }).encode(SENDER);
            world.bring(at(0), address(9), you, &roster);
        }
        (0..4).for_each(|n| world.talk(at(n * 50)));
        world
    }

    fn bring(&mut self, now: Time, from: SocketAddr, to: u8, run: &[u8]) -> Way {
        let incoming = incoming(now, from, SocketDoor::Own, run);
        self.members[usize::from(to)].on_run(now, incoming, |from| from, |_| true)
    }

    fn talk(&mut self, now: Time) {
        for n in 0..3 {
            while let Some(MemberReply { to, bytes, .. }) =
                self.members[usize::from(n)].poll_message(now)
            {
                match (0..3).find(|m| address(*m) == to) {
                    Some(m) => drop(self.bring(now, address(n), m, &bytes)),
                    None => {
                        let Some((_, Message::Status(status))) = Message::parse(&bytes) else {
                            panic!()
                        };
                        self.told.push((n, status));
                    }
                }
            }
        }
    }

    /// Receiver `n` is given a message by the sender, and all that is passed on arrives.
    fn give(&mut self, now: Time, n: u8, message: &[u8]) {
        let mut marked = message.to_vec();
        crate::serve::peek::mark(&mut marked, message.len(), true);
        self.bring(now, address(9), n, &marked);
        let mut passed = Vec::new();
        while let Some((to, _, run)) = self.members[usize::from(n)].poll_pass(now) {
            let (run, all) = (run.to_vec(), run.len());
            passed.push((to, run));
            self.members[usize::from(n)].on_passed(all);
        }
        for (to, run) in passed {
            let m = (0..3).find(|m| address(*m) == to).unwrap();
            self.bring(now, address(n), m, &run);
        }
    }

    /// The blocks that a receiver's protocol was given, and whether all seemed to come from the sender.
    fn taken(&mut self, now: Time, n: u8) -> Vec<u8> {
        let member = &mut self.members[usize::from(n)];
        let all = std::iter::from_fn(|| member.poll(now));
        all.map(|held| (held.meta == address(9)).then(|| *held.run.last().unwrap()).unwrap())
            .collect()
    }
}

#[test]
fn receivers_that_have_asked_are_passed_on_what_each_of_them_is_given() {
    let mut world = World::new([Settings::default(); 3]);
    let last = |n| world.told.iter().rfind(|(m, _)| *m == n).unwrap().1;
    assert_eq!([0, 1, 2].map(|n| last(n).serves), [Set(0b110), Set(0b101), Set(0b011)]);
    for block in 0..6_u8 {
        world.give(at(300), block % 3, &data(u16::from(block), block.into(), 0));
    }
    for n in 0..3 {
        assert_eq!(world.taken(at(301), n), [0, 1, 2, 3, 4, 5], "{n}");
    }
}

#[test]
fn nobody_is_passed_anything_without_having_shown_that_it_is_there() {
    let mut world = World::new([Settings::default(); 3]);
    let mut other = Member::<SocketAddr>::new(Settings::default(), joined(), [9; 32], 9);
    admit(&mut other, address(9));
    let roster = Roster { you: 0, hosts: vec![(0, address(0)), (1, address(1))] };
    let roster = Message::Roster(roster).encode(SENDER);
    take(&mut other, address(9), SocketDoor::Own, &roster);
    let forged = Message::Ask { host: 1, nonce: 1, cookie: 12_345 }.encode(SENDER);
    take(&mut other, address(1), SocketDoor::Own, &forged);
    let mut run = data(0, 0, 0);
    crate::serve::peek::mark(&mut run, 100, true);
    other.on_run(at(1), incoming(at(1), address(9), SocketDoor::Own, &run), |from| from, |_| true);
    assert_eq!(other.poll_pass(at(1)), None);
    // A stranger of no roster is not even answered.
    let message = Message::Ask { host: 1, nonce: 1, cookie: 0 }.encode(SENDER);
    world.bring(at(300), address(77), 0, &message);
    assert!(
        std::iter::from_fn(|| world.members[0].poll_message(at(300)))
            .all(|reply| reply.to != address(77))
    );
}

#[test]
fn who_passes_nothing_on_is_served_all_the_same() {
    let selfish = Settings { selfish: true, ..Settings::default() };
    let mut world = World::new([Settings::default(), selfish, Settings::default()]);
    world.give(at(300), 0, &data(0, 5, 0));
    world.give(at(300), 1, &data(1, 6, 0));
    assert_eq!(world.taken(at(300), 1), [5, 6]);
    assert_eq!(world.taken(at(500), 2), [5]);
}

#[test]
fn who_passes_on_wrong_bytes_is_found_and_nothing_more_is_taken_from_it() {
    let alters = Settings { alters: true, ..Settings::default() };
    let mut world = World::new([Settings::default(), alters, Settings::default()]);
    world.give(at(300), 1, &data(0, 0, 0));
    assert_eq!(world.taken(at(300), 0), [1], "it was altered");
    let wrong = [vec![Chunk { block: 0, from: 0, to: 1 }]];
    world.members[0].on_wrong(SENDER, 1, &wrong);
    let found = world.members[0].poll_accusation();
    assert_eq!(found, Some(Accusation { host: address(1), sender: address(9) }));
    world.give(at(400), 1, &data(1, 0, 0));
    world.give(at(400), 2, &data(2, 0, 0));
    assert_eq!(world.taken(at(600), 0), [0], "of the third alone");
    world.talk(at(600));
    let (_, status) = world.told.iter().rfind(|(n, _)| *n == 0).unwrap();
    assert_eq!(status.wrong, Set(0b10));
}

#[test]
fn copies_for_all_are_not_passed_on() {
    let mut world = World::new([Settings::default(); 3]);
    world.bring(at(300), address(9), 0, &data(0, 1, 0));
    assert_eq!(world.taken(at(300), 0), [1]);
    assert_eq!(world.members[0].poll_pass(at(300)), None);
}

#[test]
fn what_was_sent_twice_and_came_as_one_run_was_on_its_way_for_as_long_each() {
    let mut world = World::new([Settings::default(); 3]);
    // Messages each 20 ms, by a clock that is 9 s ahead; each was on its way for 3 ms.
    let message = |n: u16, sent: u64| stamped(n, n.into(), 0, Some((sent + 9_000) * 1000));
    for n in 0..10_u16 {
        let sent = 300 + 20 * u64::from(n);
        world.bring(at(sent + 3), address(9), 0, &message(n, sent));
    }
    let member = &mut world.members[0];
    while member.poll(at(700)).is_some() {}
    // Two of one time and one of 2 ms later, which the system gives as one.
    let run = [message(10, 700), message(11, 700), message(12, 702)];
    let whole = run.concat();
    let stride = run[0].len();
    let run = IncomingRun { stride, ..incoming(at(703), address(9), SocketDoor::Own, &whole) };
    member.on_run(at(703), run, |from| from, |_| true);
    let all = std::iter::from_fn(|| member.poll(at(900)));
    let seen: Vec<_> = all.map(|held| (held.run.len() / held.stride, held.arrived)).collect();
    assert_eq!(seen, [(2, at(703)), (1, at(705))]);
}

#[test]
fn who_has_no_leave_may_send_feedback_to_this_host_alone_and_nothing_else() {
    let mut member = Member::<SocketAddr>::new(Settings::default(), joined(), [1; 32], 1);
    let (stranger, data) = (address(8), data(0, 0, 0));
    let nack = [0x14, 4, 0, 0, 0, 0, 0, 1];
    for (door, bytes, way) in [
        (SocketDoor::Own, &data[..], Way::Refused),
        (SocketDoor::Machine, &data[..], Way::Refused),
        (SocketDoor::Group, &data[..], Way::Other),
        (SocketDoor::Own, &nack[..], Way::Other),
        (SocketDoor::Machine, &nack[..], Way::Refused),
        (SocketDoor::Own, &[0x55; 40][..], Way::Refused),
    ] {
        assert_eq!(take(&mut member, stranger, door, bytes), way, "{door:?} {bytes:?}");
    }
    admit(&mut member, stranger);
    assert_eq!(take(&mut member, stranger, SocketDoor::Own, &data), Way::Other);
    assert_eq!(take(&mut member, address(7), SocketDoor::Own, &data), Way::Refused);
}

#[test]
fn a_roster_of_a_stranger_and_hosts_behind_another_interface_are_passed_over() {
    let hosts = vec![(0, address(0)), (1, address(1)), (2, address(2))];
    let roster = Message::Roster(Roster { you: 0, hosts }).encode(SENDER);
    let mut member = Member::<SocketAddr>::new(Settings::default(), joined(), [1; 32], 1);
    take(&mut member, address(9), SocketDoor::Own, &roster);
    assert!(!member.take_joined());
    admit(&mut member, address(9));
    let near = |ip: IpAddr| ip != address(2).ip();
    member.on_run(at(0), incoming(at(0), address(9), SocketDoor::Own, &roster), |from| from, near);
    assert!(member.take_joined());
    let asked: Vec<_> = std::iter::from_fn(|| member.poll_message(at(0))).map(|r| r.to).collect();
    assert!(asked.contains(&address(1)) && !asked.contains(&address(2)), "{asked:?}");
    // Who listens to one address takes nothing that others pass on.
    let source = Some(address(9).ip());
    let joined = JoinedSession { source, ..joined() };
    let mut member = Member::<SocketAddr>::new(Settings::default(), joined, [1; 32], 1);
    admit(&mut member, address(9));
    take(&mut member, address(9), SocketDoor::Own, &roster);
    assert!(!member.take_joined());
}

/// A receiver that knocks at a sender's machine, and the sender. What passes between them is let in only from
/// where something was sent to before.
#[test]
fn a_receiver_that_nobody_can_call_knocks_and_is_sent_to_where_it_has_knocked_from() {
    use crate::serve::caller::Caller;
    use fanfare_wire::units::rate::Bitrate;
    let (group, sender, own) = (
        SocketAddr::from(([239, 255, 42, 1], 6003)),
        address(9),
        SocketAddr::from(([10, 0, 0, 2], 50_000)),
    );
    let mut caller = Caller::new(group, &[], Bitrate::mbps(100), [3; 32]);
    let mut member: Member<SocketAddr> =
        Member::new(Settings::default(), joined(), [1; 32], 1).knocking_at(&[sender]);
    let (mut found, mut knocked) = (None, None);
    for time in (0..1000).step_by(10) {
        if time == 600 {
            assert_eq!((found, knocked), (None, Some(400)), "nobody is let in who was not to be");
            caller.let_in();
        }
        while let Some(MemberReply { to, bytes, by_machine }) = member.poll_message(at(time)) {
            assert_eq!((to, by_machine), (sender, false));
            knocked = knocked.or(Some(time));
            let here = caller.on_datagram(SENDER, own, &bytes).map(|host| (time, host.address));
            found = found.or(here);
        }
        while let Some((to, bytes)) = caller.poll_message(at(time), SENDER) {
            assert_eq!(to, own);
            let run = incoming(at(time), sender, SocketDoor::Own, &bytes);
            member.on_run(at(time), run, |from| from, |_| true);
        }
    }
    assert_eq!(found, Some((660, own)));
    let path = AdmittedPath { address: sender, door: SocketDoor::Own };
    assert_eq!(member.poll_door(), Some(path));
    assert_eq!(
        take(&mut member, sender, SocketDoor::Own, &data(1, 0, 0)),
        Way::Other,
        "it may send"
    );
    let stranger = take(&mut member, address(8), SocketDoor::Own, &data(1, 0, 0));
    assert_eq!(stranger, Way::Refused);
}

#[test]
fn a_receiver_that_is_called_and_knocks_too_is_one_to_the_sender_and_is_sent_to_its_own_port() {
    let (call_from, machine) = (SocketAddr::from(([10, 0, 0, 9], 40_000)), address(9));
    let mut member: Member<SocketAddr> =
        Member::new(Settings::default(), joined(), [1; 32], 1).knocking_at(&[machine]);
    let call = Message::Call { messages: 0, host: 0, called: 6003, session: joined().session };
    take(&mut member, call_from, SocketDoor::Machine, &call.encode(SENDER));
    let mut nonces = Vec::new();
    for time in [0, 400] {
        while let Some(reply) = member.poll_message(at(time)) {
            nonces.extend(Message::parse(&reply.bytes).and_then(|(_, message)| message.nonce()));
        }
    }
    assert!(nonces.len() == 2 && nonces[0] == nonces[1], "{nonces:?}");
    let show = |member: &mut Member<SocketAddr>, from, door, cookie| {
        let message = Message::Cookie { host: NO_HOST, nonce: nonces[0], cookie };
        take(member, from, door, &message.encode(SENDER));
        member.poll_door()
    };
    let path = |address, door| Some(AdmittedPath { address, door });
    let by_machine = path(call_from, SocketDoor::Machine);
    assert_eq!(show(&mut member, call_from, SocketDoor::Machine, 98), by_machine);
    let by_own = path(machine, SocketDoor::Own);
    assert_eq!(show(&mut member, machine, SocketDoor::Own, 99), by_own);
    assert_eq!(
        show(&mut member, call_from, SocketDoor::Machine, 97),
        None,
        "its own port is better"
    );
}

#[test]
fn an_answer_to_another_knock_or_of_another_host_opens_nothing_and_a_silent_receiver_does_not_knock()
 {
    let sender = address(9);
    let mut member: Member<SocketAddr> =
        Member::new(Settings::default(), joined(), [1; 32], 1).knocking_at(&[sender]);
    assert!(member.poll_message(at(0)).is_none());
    let knock = member.poll_message(at(400)).unwrap();
    let Some((0, Message::Knock { nonce, session })) = Message::parse(&knock.bytes) else {
        panic!()
    };
    assert_eq!(session, joined().session);
    for (from, nonce) in [(sender, nonce + 1), (address(8), nonce)] {
        let cookie = Message::Cookie { host: NO_HOST, nonce, cookie: 99 }.encode(SENDER);
        take(&mut member, from, SocketDoor::Own, &cookie);
        assert!(member.poll_message(at(401)).is_none());
        assert_eq!(member.poll_door(), None);
    }
    let silent = Settings { silent: true, ..Settings::default() };
    let mut silent: Member<SocketAddr> =
        Member::new(silent, joined(), [1; 32], 1).knocking_at(&[sender]);
    assert!((0..9000).step_by(50).all(|time| silent.poll_message(at(time)).is_none()));
}

#[test]
fn a_sender_that_was_admitted_at_the_port_of_the_machine_is_answered_from_there() {
    let mut member: Member<SocketAddr> = Member::new(Settings::default(), joined(), [1; 32], 1);
    admit(&mut member, address(9));
    let door = |door| Some(AdmittedPath { address: address(9), door });
    assert_eq!((member.poll_door(), member.poll_door()), (door(SocketDoor::Own), None));
    let mut member: Member<SocketAddr> = Member::new(Settings::default(), joined(), [1; 32], 1);
    let call = Message::Call { messages: 0, host: 0, called: 6003, session: joined().session };
    take(&mut member, address(9), SocketDoor::Machine, &call.encode(SENDER));
    let Some(reply) = member.poll_message(at(0)) else { panic!("no answer") };
    let Some((_, Message::Here { nonce, .. })) = Message::parse(&reply.bytes) else { panic!() };
    let cookie = Message::Cookie { host: NO_HOST, nonce, cookie: 99 }.encode(SENDER);
    take(&mut member, address(9), SocketDoor::Machine, &cookie);
    assert_eq!(member.poll_door(), door(SocketDoor::Machine));
    assert_eq!(take(&mut member, address(9), SocketDoor::Machine, &data(1, 0, 0)), Way::Other);
}
