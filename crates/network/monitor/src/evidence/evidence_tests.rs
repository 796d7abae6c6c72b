use std::{io::Write as _, os::unix::net::UnixStream};

use super::*;

fn report(bytes_out: u64) -> String {
    json!({
        "sensor": "north", "every": 1.0,
        "interfaces": {"eth0": {"up": true, "in_bps": 1000, "out_bps": bytes_out}},
        "packets": {"dropped": 0},
    })
    .to_string()
}

fn at(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn evidence(adapt: Adapt) -> Evidence {
    let capacities = Capacities::from([("eth0".to_owned(), 128_000)]);
    Evidence::new(Sensors::default(), capacities, adapt)
}

fn look(evidence: &mut Evidence, millis: u64) -> Value {
    let mut document = json!({"alerts": {}, "alerts_raised": {}});
    evidence.add(at(millis), &mut document);
    document
}

#[test]
fn a_full_link_is_an_alert_and_brings_a_ceiling_that_rises_when_it_is_free_again() {
    let mut evidence = evidence(Adapt::Advise);
    assert!(evidence.sensors.tell(&report(127_000)));
    let first = look(&mut evidence, 0);
    assert_eq!(first["links"]["north/eth0"]["state"], "saturated");
    assert_eq!(first["alerts"]["link-full:north/eth0"]["cause"], "link-full");
    assert_eq!(first["advice"], json!({}), "one sample is none");
    let second = look(&mut evidence, 1000);
    assert_eq!(second["advice"]["north/eth0"]["ceiling_bps"], 108_800);
    assert_eq!(Advised::read(&second, |_| true), Some((108_800, Duration::from_secs(30))));
    assert_eq!(Advised::read(&second, |link| link == "other"), None);
    evidence.sensors.tell(&report(1000));
    let mut ceilings = Vec::new();
    for second in 2..40 {
        let document = look(&mut evidence, second * 1000);
        ceilings.push(document["advice"]["north/eth0"]["ceiling_bps"].as_u64());
    }
    assert!(ceilings.contains(&Some(119_680)) && ceilings.last() == Some(&None), "{ceilings:?}");
}

#[test]
fn switched_off_there_is_no_advice_and_an_unknown_capacity_gives_none() {
    let mut off = evidence(Adapt::Off);
    let mut unknown = Evidence::new(Sensors::default(), Capacities::new(), Adapt::Advise);
    for evidence in [&mut off, &mut unknown] {
        evidence.sensors.tell(&report(127_000));
        look(evidence, 0);
        let document = look(evidence, 1000);
        assert_eq!((&document["advice"], evidence.ceiling()), (&json!({}), None));
    }
}

#[test]
fn reports_come_by_a_socket_of_this_user_and_what_is_none_ends_the_connection() {
    let path = std::env::temp_dir().join(format!("fanfare-sensors-{}", std::process::id()));
    let sensors = Sensors::listen(&path).unwrap();
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&path).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let mut stream = UnixStream::connect(&path).unwrap();
    writeln!(stream, "{}", report(5)).unwrap();
    writeln!(stream, "no report").unwrap();
    // It is closed: what was written before has been read.
    let mut end = [0];
    assert_eq!(std::io::Read::read(&mut stream, &mut end).unwrap_or(0), 0);
    let known = sensors.known();
    assert_eq!(known["north"].0["interfaces"]["eth0"]["out_bps"], 5);
    assert!(!known["north"].1);
    drop(sensors);
    assert!(!path.exists());
}

#[test]
fn a_loopback_and_a_speed_that_is_that_or_more_are_full_only_where_their_capacity_was_given() {
    let interface = |speed: u64, loopback: bool| {
        let mut told = json!({"up": true, "in_bps": speed, "out_bps": 0, "speed_bps": speed});
        if loopback {
            told["loopback"] = json!(true);
        }
        told
    };
    let report = json!({
        "sensor": "north", "every": 1.0, "interfaces": {},
        "agents": {"192.0.2.1:161": {"interfaces": {
            "lo": interface(10_000_000, true),
            "ten": interface(u32::MAX.into(), false),
            "eth0": interface(512_000, false),
        }}},
    });
    let state = |capacities: Capacities| {
        let mut evidence = Evidence::new(Sensors::default(), capacities, Adapt::Off);
        assert!(evidence.sensors.tell(&report.to_string()));
        let links = look(&mut evidence, 0)["links"].clone();
        ["lo", "ten", "eth0"].map(|name| links[format!("192.0.2.1:161/{name}")]["state"].clone())
    };
    assert_eq!(state(Capacities::new()), [json!(null), json!("unknown"), json!("saturated")]);
    let given = [("lo", 1_000_000), ("ten", 10_000_000_000), ("eth0", 1_000_000)];
    let given = given.map(|(name, capacity)| (name.to_owned(), capacity));
    assert_eq!(state(given.into()), [json!("saturated"), json!("good"), json!("good")]);
}
