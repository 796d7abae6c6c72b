//! The paper's figures, and what is not measured here.

/// The paper's Table 5.4: mean latency of positions within 5 s, within 10 s, and of all, in ms.
const PUBLISHED: [(&str, [&str; 3]); 8] = [
    ("fanfare", ["95 (DisService, reliable)", "95", "8755"]),
    ("nats", ["1832", "5206", "13,998"]),
    ("nats-core", ["1832", "5206", "13,998"]),
    ("zeromq-norm", ["105", "222", "27,266"]),
    ("redis", ["1883", "3859", "50,874"]),
    ("redis-streams", ["1883 (its channels)", "3859", "50,874"]),
    ("rabbitmq", ["2219", "4425", "15,750"]),
    ("cyclonedds", ["4174 (OpenDDS)", "5005", "5068"]),
];

/// What is left out, and why: said in the table, so that nobody looks for it.
pub(super) const LEFT_OUT: &str = "Left out: TamTam (seed 002: mean 2559 ms within 5 s, 4364 within 10 s), \
    Edgware, GDEM, RTI-DDS and OpenDDS (no package, or none that may be used); priorities; the LAN, the \
    cooperative radio and several companies, which are in the simulator's tables.";

/// What the paper has of a system.
pub(super) fn of(system: &str) -> [&'static str; 3] {
    PUBLISHED.iter().find(|(name, _)| *name == system).map_or([""; 3], |(_, figures)| *figures)
}
