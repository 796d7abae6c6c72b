//! Who counts as a sender, and what each sender is told.

use super::{Harness, RECEIVER, Script};
use crate::{config::ReceiverConfig, time::Duration};
use alloc::string::String;
use fanfare_wire::{InstanceId, NodeId};

const SECOND: Duration = Duration::from_secs(1);

fn other() -> Script {
    Script { id: NodeId(9), ..Script::new() }
}

#[test]
fn a_roll_call_is_answered_once_there_is_a_status() {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    rig.hear(&script.roll_call(&[]));
    rig.pass(SECOND);
    assert!(rig.sent.is_empty());
    assert!(rig.senders.set_status(rig.now, &mut rig.rng, b"here".to_vec(), true));
    rig.pass(SECOND);
    rig.hear(&script.roll_call(&[]));
    rig.pass(SECOND);
    rig.hear(&script.roll_call(&[RECEIVER]));
    rig.pass(SECOND);
    assert_eq!(rig.acks(), ["16 here", "16 here"]);
}

#[test]
fn a_sender_with_a_status_of_its_own_is_told_that_one() {
    let (mut rig, mut one, mut two) =
        (Harness::new(ReceiverConfig::default()), Script::new(), other());
    assert!(rig.senders.set_status(rig.now, &mut rig.rng, b"ready".to_vec(), false));
    rig.hear(&one.roll_call(&[]));
    rig.hear(&two.roll_call(&[]));
    rig.pass(SECOND);
    assert_eq!(rig.acks(), ["16 ready", "16 ready"]);
    let to_two = ((NodeId(9), InstanceId(1)), b"of two".to_vec());
    assert!(rig.senders.set_status_to(rig.now, &mut rig.rng, to_two, true));
    rig.pass(SECOND);
    assert_eq!(rig.acks(), ["16 of two"], "the other is not told");
    rig.hear(&one.roll_call(&[]));
    rig.pass(SECOND);
    assert_eq!(rig.acks(), ["16 ready"]);
    assert!(rig.senders.set_status(rig.now, &mut rig.rng, b"busy".to_vec(), true));
    rig.pass(SECOND);
    let mut told = rig.acks();
    told.sort();
    assert_eq!(told, ["16 busy", "16 of two"]);
    two.instance = 2;
    rig.hear(&two.roll_call(&[]));
    rig.pass(SECOND);
    rig.hear(&two.roll_call(&[]));
    rig.pass(SECOND);
    assert_eq!(rig.acks(), ["16 busy"], "another life");
    let unknown = ((NodeId(77), InstanceId(1)), b"x".to_vec());
    assert!(!rig.senders.set_status_to(rig.now, &mut rig.rng, unknown, true));
}

#[test]
fn a_node_that_sends_only_application_commands_is_not_a_sender() {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    for _ in 0..10 {
        rig.hear(&script.application(b"FNDR probe"));
        rig.pass(SECOND);
    }
    rig.pass(SECOND * 100);
    let told = rig.told();
    assert!(told.len() == 10 && told.iter().all(|event| event.starts_with("Command")), "{told:?}");
}

#[test]
fn a_node_that_calls_the_roll_is_a_sender() {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    (0..4).for_each(|_| rig.hear(&script.roll_call(&[])));
    assert_eq!(rig.told(), [String::from("sender")]);
}
