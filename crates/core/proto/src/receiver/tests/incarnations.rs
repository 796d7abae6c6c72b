//! A sender that restarts with a new instance id. Its earlier instance stays in view while peers
//! may still hold its objects.

use super::{CONFIRMED, Harness, Script, content};
use crate::{config::ReceiverConfig, stats::DropReason};
use alloc::string::String;
use core::net::SocketAddr;

/// A receiver that outlives senders, with object 0 whole and object 1 begun.
fn rig() -> (Harness, Script) {
    let config = ReceiverConfig { outlive_senders: true, ..ReceiverConfig::default() };
    let (mut rig, mut script) = (Harness::new(config), Script::new());
    (0..4).for_each(|symbol| rig.hear(&script.data(0, 40, 0, symbol)));
    rig.hear(&script.data(1, 95, 0, 0));
    assert!(rig.told().contains(&String::from("complete 0")));
    (rig, script)
}
fn incarnation(instance: u16) -> Script {
    Script { instance, sequence: 500, ..Script::new() }
}
/// It says so twice, a second apart.
fn restart(rig: &mut Harness, next: &mut Script) {
    rig.hear(&next.data(0, 10, 0, 0));
    rig.pass(CONFIRMED);
    rig.hear(&next.data(0, 10, 0, 0));
}

#[test]
fn objects_of_the_previous_instance_are_still_retransmitted_and_still_completed() {
    let (mut rig, mut script) = rig();
    restart(&mut rig, &mut incarnation(2));
    let told = rig.told();
    assert!(told.contains(&"reset".into()) && told.contains(&"complete 0".into()), "{told:?}");
    assert!(!told.iter().any(|event| event.starts_with("aborted")), "{told:?}");
    let held =
        |rig: &Harness, instance, object| rig.held(instance, object).map(|held| held.is_whole());
    assert_eq!((held(&rig, 1, 0), held(&rig, 2, 0)), (Some(true), Some(true)));
    // It was a forgery: the true one speaks on, and is believed at once.
    (1..4).for_each(|symbol| rig.hear(&script.data(1, 95, 0, symbol)));
    assert_eq!(held(&rig, 1, 1), Some(true));
    (0..6).for_each(|n| rig.hear(&script.data(1, 95, 1 + n / 3, (n % 3) as u16)));
    assert_eq!(rig.bytes(1), Some(&content(1, 95)[..]));
}

#[test]
fn repairs_from_a_senders_new_address_are_accepted_like_those_of_peers() {
    let (mut rig, mut script) = rig();
    rig.source = SocketAddr::from(([10, 0, 0, 9], 6003));
    (1..4).for_each(|symbol| rig.hear(&script.data(1, 95, 0, symbol)));
    assert_eq!(rig.held(1, 1).map(|held| held.is_whole()), Some(true));
    assert_eq!(rig.stats.dropped(DropReason::ForeignSource), 3);
    rig.pass(CONFIRMED);
    rig.hear(&script.data(2, 95, 0, 0));
    assert_eq!(rig.stats.dropped(DropReason::ForeignSource), 3, "it is there");
}

#[test]
fn an_instance_with_no_objects_here_is_replaced_by_the_next() {
    let config = ReceiverConfig { outlive_senders: true, ..ReceiverConfig::default() };
    let (mut rig, mut script) = (Harness::new(config), Script::new());
    rig.hear(&script.data(0, 95, 0, 0));
    restart(&mut rig, &mut incarnation(2));
    assert!(rig.told().contains(&"aborted 0 SenderGone".into()));
    assert_eq!(rig.held(1, 0), None);
}

#[test]
fn forged_instances_fill_a_few_places_and_replace_no_instance_with_more_objects() {
    let (mut rig, _) = rig();
    rig.source = SocketAddr::from(([10, 0, 0, 66], 6003));
    (2..40).for_each(|instance| restart(&mut rig, &mut incarnation(instance)));
    let incarnations = (1..40).filter(|instance| rig.held(*instance, 0).is_some());
    let incarnations: alloc::vec::Vec<u16> = incarnations.collect();
    assert!(
        incarnations.len() <= 4 && incarnations.contains(&1) && incarnations.contains(&39),
        "{incarnations:?}"
    );
    assert!(
        rig.stats.dropped(DropReason::Unconfirmed) + rig.stats.dropped(DropReason::ForeignSource)
            >= 38
    );
}
