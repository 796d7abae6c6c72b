use super::*;

fn scene<'m>(
    receivers: &'m BTreeMap<u64, Receiver>,
    limit: Option<(&'m str, Option<u64>)>,
) -> Scene<'m> {
    let now = Duration::from_secs(60);
    let limit_since = Duration::from_secs(50);
    Scene { now, receivers, total: Some(1 << 30), flowing: true, limit, limit_since, missing: &[] }
}

/// Thirty receivers that get on, at the sender's side 60 s after the start.
fn thirty() -> BTreeMap<u64, Receiver> {
    let one = |id: u64| Receiver {
        name: Some(format!("lab-{id}")),
        state: "receiving".to_owned(),
        bytes: Some(1 << 29),
        moved: Some(Duration::from_secs(59)),
        loss: 0.0005,
        free: Some(1 << 40),
        ..Receiver::default()
    };
    (1..=30).map(|id| (id, one(id))).collect()
}

fn causes(scene: &Scene<'_>) -> Vec<(&'static str, String)> {
    scene.find().into_iter().map(|alert| (alert.cause, alert.subject)).collect()
}

fn named(cause: &'static str, id: u64) -> (&'static str, String) {
    (cause, format!("lab-{id}"))
}

#[test]
fn where_all_get_on_nothing_is_said() {
    assert_eq!(causes(&scene(&thirty(), Some(("set", None)))), []);
}

#[test]
fn a_slow_machine_a_lossy_path_and_a_full_disk_are_told_apart() {
    let mut all = thirty();
    let slow = all.get_mut(&3).unwrap();
    (slow.loss, slow.overruns, slow.overran) = (0.2, 9, Some(Duration::from_secs(59)));
    all.get_mut(&5).unwrap().loss = 0.08;
    let full = all.get_mut(&9).unwrap();
    full.reported.insert("disk-full".to_owned(), ("image.iso".to_owned(), 1));
    let expected = [named("slow-machine", 3), named("lossy-path", 5), named("disk-full", 9)];
    assert_eq!(causes(&scene(&all, None)), expected);
}

#[test]
fn a_machine_that_was_behind_a_while_ago_is_not_blamed_for_loss_of_now() {
    let mut all = thirty();
    let one = all.get_mut(&3).unwrap();
    (one.loss, one.overruns, one.overran) = (0.2, 9, Some(Duration::from_secs(50)));
    assert_eq!(causes(&scene(&all, None)), [named("lossy-path", 3)]);
}

#[test]
fn what_limits_the_rate_is_evidence() {
    let all = thirty();
    assert_eq!(causes(&scene(&all, Some(("overrun", Some(4))))), [named("slow-machine", 4)]);
    assert_eq!(causes(&scene(&all, Some(("path", Some(4))))), [named("narrow-path", 4)]);
    assert_eq!(causes(&scene(&all, Some(("queue", Some(4))))), []);
}

#[test]
fn a_path_that_limits_the_rate_for_a_moment_is_not_narrow() {
    let all = thirty();
    let limit_since = Duration::from_secs(56);
    let moment = Scene { limit_since, ..scene(&all, Some(("path", Some(4)))) };
    assert_eq!(causes(&moment), []);
}

#[test]
fn where_most_get_no_further_nobody_is_called_silent() {
    let mut all = thirty();
    all.values_mut().for_each(|one| one.moved = Some(Duration::from_secs(48)));
    assert_eq!(causes(&scene(&all, None)), []);
}

#[test]
fn nobody_is_called_silent_while_the_others_hardly_get_further() {
    let mut all = thirty();
    for (_, one) in all.iter_mut().filter(|(id, _)| **id < 10) {
        // The others have got three thousandths of everything since.
        (one.moved, one.middle_then) = (Some(Duration::from_secs(40)), (1 << 29) - (3 << 20));
    }
    assert_eq!(causes(&scene(&all, None)), []);
    all.get_mut(&4).unwrap().middle_then = (1 << 29) - (11 << 20);
    assert_eq!(causes(&scene(&all, None)), [named("silent", 4)]);
}

#[test]
fn nobody_is_called_silent_when_all_are_told_of_rarely() {
    let mut all = thirty();
    for (id, one) in &mut all {
        // Ages up to 15 s: reports come each 15 s, one receiver after the other.
        (one.moved, one.middle_then) = (Some(Duration::from_millis(60_000 - id * 500)), 0);
    }
    assert_eq!(causes(&scene(&all, None)), []);
    all.get_mut(&4).unwrap().moved = Some(Duration::from_secs(30));
    assert_eq!(causes(&scene(&all, None)), [named("silent", 4)]);
}

#[test]
fn whose_disk_is_full_is_not_called_silent_too() {
    let mut all = thirty();
    let full = all.get_mut(&9).unwrap();
    full.reported.insert("disk-full".to_owned(), ("image.iso".to_owned(), 1));
    full.moved = Some(Duration::from_secs(20));
    assert_eq!(causes(&scene(&all, None)), [named("disk-full", 9)]);
}

#[test]
fn loss_of_all_is_one_alert_and_no_receiver_is_blamed() {
    let mut all = thirty();
    all.values_mut().for_each(|one| one.loss = 0.05);
    assert_eq!(causes(&scene(&all, Some(("loss", Some(2))))), [("loss-everywhere", String::new())]);
}

#[test]
fn of_two_receivers_one_can_be_to_blame() {
    let mut two: BTreeMap<u64, Receiver> = thirty().into_iter().take(2).collect();
    two.get_mut(&2).unwrap().loss = 0.05;
    assert_eq!(causes(&scene(&two, None)), [named("lossy-path", 2)]);
}

#[test]
fn a_disk_with_too_little_room_is_told_before_it_is_full() {
    let mut all = thirty();
    all.get_mut(&6).unwrap().free = Some(1 << 20);
    let early = Scene { flowing: false, ..scene(&all, None) };
    let alerts = early.find();
    assert_eq!(alerts[0].text, "lab-6 has 1.0 MiB free, and 1.0 GiB are to come");
}

#[test]
fn who_has_everything_is_not_blamed_any_more() {
    let mut all = thirty();
    let done = all.get_mut(&3).unwrap();
    (done.loss, done.outcome) = (0.3, Some("complete".to_owned()));
    done.moved = Some(Duration::ZERO);
    assert_eq!(causes(&scene(&all, Some(("overrun", Some(3))))), []);
}

#[test]
fn who_does_not_get_further_is_silent() {
    let mut all = thirty();
    let one = all.get_mut(&8).unwrap();
    (one.moved, one.middle_then) = (Some(Duration::from_secs(48)), 1 << 28);
    let alerts = scene(&all, None).find();
    assert_eq!(alerts[0].text, "lab-8 has not got further for 12 s");
}

#[test]
fn who_is_expected_and_not_heard_is_named() {
    let missing = ["host-9".to_owned()];
    let none = BTreeMap::new();
    let waiting = Scene { missing: &missing, flowing: false, ..scene(&none, None) };
    assert_eq!(causes(&waiting), [("missing", "host-9".to_owned())]);
}
