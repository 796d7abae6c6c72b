//! Do other machines hear us, and we them?

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use super::exchange::{ENOUGH, PEERS_MAX};
use super::finding::Finding;
use super::peer::{Hears, PeerReport};

/// Silence of a peer that did not say good-bye, after which it is told.
const SILENCE: Duration = Duration::from_secs(1);
/// Losses of which repair makes nothing much, in percent.
const HARMLESS_LOSS: u32 = 10;

/// One finding for each peer; one that says so when there is none.
pub(crate) fn judge(group: SocketAddr, waited: Duration, reports: &[PeerReport]) -> Vec<Finding> {
    if reports.is_empty() {
        let seen = format!(
            "nobody else was heard in {} s: this tested this machine only",
            waited.as_secs_f64()
        );
        let advice = format!(
            "run it on the second machine at the same time: fanfare doctor --group {group} --peer-wait 30s"
        );
        return vec![Finding::warn("peers.none", seen, advice)];
    }
    reports.iter().map(|report| judge_peer(group, report)).collect()
}

/// The machine `with` that was to be heard was not, though others may have been. `own`: this machine.
pub(crate) fn judge_absent(
    (group, with, own): (SocketAddr, IpAddr, Option<IpAddr>),
    waited: Duration,
    others: &[PeerReport],
) -> Finding {
    let own = own.map_or_else(|| "THIS-HOST".to_owned(), |own| own.to_string());
    let others = match others.len() {
        0 => String::new(),
        1 => ", though another was".to_owned(),
        count => format!(", though {count} others were"),
    };
    Finding::bad(
        "peers.absent",
        format!(
            "{with} was not heard in {} s, neither by multicast nor by unicast{others}",
            waited.as_secs_f64()
        ),
        format!(
            "run it there at the same time: fanfare doctor --with {own} --group {group}; then look \
             at its firewall, and at the way to it (ping {with})"
        ),
    )
}

/// More doctors than are remembered, or somebody who invents them.
pub(crate) fn judge_ignored(probes: u64) -> Option<Finding> {
    (probes > 0).then(|| {
        Finding::warn(
            "peers.many",
            format!("{probes} probes came from more machines than the {PEERS_MAX} told here"),
            "run it on fewer machines at a time, or see who sends: tcpdump -n udp",
        )
    })
}

fn judge_peer(group: SocketAddr, report: &PeerReport) -> Finding {
    let seen = sentence(report);
    let ip = group.ip();
    if report.heard == 0 {
        return Finding::bad(
            "peers.deaf",
            format!("{seen}; it reaches us by unicast only"),
            format!(
                "look on the way from there to here: firewall here, {ip} on switches (snooping, \
                 storm control), client isolation of the access point"
            ),
        );
    }
    let Some(hears) = report.hears_us else {
        if report.our_probes < ENOUGH || report.heard < ENOUGH {
            return Finding::ok("peers.brief", format!("{seen}; too short to judge"));
        }
        return Finding::bad(
            "peers.one_way",
            seen,
            format!(
                "look on the way from here to there: its firewall (nft list ruleset, there), {ip} \
                 on switches, client isolation of the access point"
            ),
        );
    };
    if let Some(finding) = judge_length(&seen, report) {
        return finding;
    }
    if report.duplicates > 0 {
        return Finding::warn(
            "peers.duplicates",
            format!("{seen}; {} came twice", report.duplicates),
            "look for a loop in the network (spanning tree, bonded ports, two cables to one switch)",
        );
    }
    if !report.left && report.silent_for > SILENCE {
        return Finding::warn(
            "peers.stopped",
            format!("{seen}; silent for the last {} s", report.silent_for.as_secs()),
            "if it still runs there: look for snooping without a querier, rate limits, radio",
        );
    }
    if hears.missed_lately >= ENOUGH {
        return Finding::warn(
            "peers.stalled",
            format!("{seen}; it stopped hearing us: none of the last {}", hears.missed_lately),
            format!(
                "if it still runs there: let it answer queries (fanfare doctor, there: firewall, \
                 querier), and look for {ip} on switches (snooping, storm control)"
            ),
        );
    }
    if is_lossy(report.heard, report.of) || is_lossy(hears.heard, hears.of) {
        return Finding::warn(
            "peers.loss",
            seen,
            "see the warnings on both machines; else send slower (--rate), with parity in advance \
             (--parity), or use a cable",
        );
    }
    Finding::ok("peers.ok", seen)
}

/// Its full-length probes do not arrive, though short ones do: something on the way has a smaller MTU.
fn judge_length(seen: &str, report: &PeerReport) -> Option<Finding> {
    let PeerReport { name, address, heard, mtu, full, .. } = report;
    let ip = address.ip();
    (*mtu > 0 && *full == 0 && *heard >= ENOUGH).then(|| {
        Finding::warn(
            "peers.mtu",
            format!(
                "{seen}; of its packets of {mtu} bytes, its MTU, none arrives: something between {name} and \
                 this machine has a smaller MTU, or this interface has"
            ),
            format!(
                "give all machines and switches the same MTU (ip link show; ping -M do -s {} {ip}), or send \
                 with a shorter --segment",
                mtu.saturating_sub(if ip.is_ipv4() { 28 } else { 48 })
            ),
        )
    })
}

/// `lab-02 (10.0.0.7): we hear 25 of 25, it hears us 24 of 25, round trip 0.4 ms`.
fn sentence(report: &PeerReport) -> String {
    let PeerReport { name, address, heard, of, hears_us, our_probes, rtt, .. } = report;
    let Hears { heard: theirs, of: ours, .. } =
        hears_us.unwrap_or(Hears { heard: 0, of: *our_probes, missed_lately: 0 });
    let mut text = format!(
        "{name} ({}): we hear {heard} of {of}, it hears us {theirs} of {ours}",
        address.ip()
    );
    if let Some(rtt) = rtt {
        text.push_str(&format!(", round trip {:.1} ms", rtt.as_secs_f64() * 1e3));
    }
    text
}

/// More than a tenth lost, and more than one: of few probes one may be an accident.
fn is_lossy(heard: u32, of: u32) -> bool {
    let lost = of.saturating_sub(heard);
    lost > 1 && lost * 100 > of * HARMLESS_LOSS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> PeerReport {
        PeerReport {
            name: "lab-02".to_owned(),
            address: "10.0.0.7:41000".parse().unwrap(),
            heard: 25,
            of: 25,
            hears_us: Some(Hears { heard: 24, of: 25, missed_lately: 0 }),
            our_probes: 25,
            rtt: Some(Duration::from_micros(412)),
            duplicates: 0,
            unicast: 0,
            silent_for: Duration::from_millis(90),
            left: false,
            mtu: 1500,
            full: 5,
        }
    }

    fn judged(report: PeerReport) -> Finding {
        let group = "239.255.42.1:6003".parse().unwrap();
        judge(group, Duration::from_secs(5), &[report]).remove(0)
    }

    #[test]
    fn a_peer_whose_long_packets_never_arrive_has_a_smaller_mtu_on_the_way() {
        let group = "239.255.42.1:6003".parse().unwrap();
        let judged = |full, mtu, heard| {
            let report = PeerReport { full, mtu, heard, ..report() };
            judge(group, Duration::from_secs(5), &[report]).remove(0)
        };
        for (full, mtu, heard, found) in [
            (0, 9000, 20, true),
            (0, 1500, 20, true),
            (1, 9000, 20, false),
            (0, 0, 20, false),
            (0, 9000, 1, false),
        ] {
            let finding = judged(full, mtu, heard);
            assert_eq!(finding.code == "peers.mtu", found, "{finding}");
            assert!(!found || finding.seen.contains("its MTU, none arrives"), "{finding}");
        }
    }

    #[test]
    fn a_good_peer_is_told_in_both_directions() {
        assert_eq!(
            judged(report()).to_string(),
            "ok    peers       lab-02 (10.0.0.7): we hear 25 of 25, it hears us 24 of 25, \
             round trip 0.4 ms"
        );
    }

    #[test]
    fn nobody_means_that_only_this_machine_was_tested() {
        let group = "239.255.42.1:6003".parse().unwrap();
        let findings = judge(group, Duration::from_secs(5), &[]);
        assert_eq!(findings.len(), 1);
        assert_eq!(
            findings[0].to_string(),
            "warn  peers       nobody else was heard in 5 s: this tested this machine only; do: run \
             it on the second machine at the same time: fanfare doctor --group 239.255.42.1:6003 \
             --peer-wait 30s"
        );
    }

    #[test]
    fn a_machine_that_was_to_be_heard_and_was_not_is_bad() {
        let at = |text: &str| text.parse().unwrap();
        let where_ = ("239.255.42.1:6003".parse().unwrap(), at("10.0.0.9"), Some(at("10.0.0.2")));
        let finding = judge_absent(where_, Duration::from_secs(30), &[report()]);
        assert_eq!(
            finding.to_string(),
            "bad   peers       10.0.0.9 was not heard in 30 s, neither by multicast nor by unicast, \
             though another was; do: run it there at the same time: fanfare doctor --with 10.0.0.2 \
             --group 239.255.42.1:6003; then look at its firewall, and at the way to it (ping \
             10.0.0.9)"
        );
    }

    #[test]
    fn a_peer_that_never_hears_us_is_bad_once_there_was_time() {
        let one_way = PeerReport { hears_us: None, rtt: None, ..report() };
        let finding = judged(one_way.clone());
        assert_eq!(finding.code, "peers.one_way");
        assert_eq!(finding.seen, "lab-02 (10.0.0.7): we hear 25 of 25, it hears us 0 of 25");
        assert_eq!(judged(PeerReport { our_probes: 4, ..one_way }).code, "peers.brief");
    }

    #[test]
    fn more_peers_than_are_remembered_are_told() {
        assert_eq!(judge_ignored(0), None);
        assert_eq!(judge_ignored(9).unwrap().code, "peers.many");
    }

    #[test]
    fn a_peer_that_reaches_us_by_unicast_only_is_bad() {
        let finding = judged(PeerReport { heard: 0, of: 0, unicast: 7, ..report() });
        assert_eq!(finding.code, "peers.deaf");
    }

    #[test]
    fn repetitions_silence_and_loss_are_warned_of() {
        assert_eq!(judged(PeerReport { duplicates: 3, ..report() }).code, "peers.duplicates");
        let silent = PeerReport { silent_for: Duration::from_secs(9), ..report() };
        assert_eq!(judged(silent.clone()).code, "peers.stopped");
        assert_eq!(judged(PeerReport { left: true, ..silent }).code, "peers.ok");
        assert_eq!(judged(PeerReport { heard: 20, ..report() }).code, "peers.loss");
        let theirs = PeerReport {
            hears_us: Some(Hears { heard: 13, of: 25, missed_lately: 1 }),
            ..report()
        };
        assert_eq!(judged(theirs).code, "peers.loss");
        let stalled = Some(Hears { heard: 17, of: 25, missed_lately: 8 });
        assert_eq!(judged(PeerReport { hears_us: stalled, ..report() }).code, "peers.stalled");
    }
}
