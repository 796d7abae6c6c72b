use super::*;

const NOW: Duration = Duration::from_secs(10);

/// Columns of both tables: true is the extension.
type Told<'v> = &'v [(bool, u32, u32, Value)];

fn table(told: Told<'_>) -> Table {
    let mut table = Table::default();
    for (more, column, row, value) in told {
        let name = [prefix(*more, *column), vec![*row]].concat();
        table.on_value(&name, value, NOW);
    }
    table
}

fn text(text: &str) -> Value {
    Value::Text(text.as_bytes().to_vec())
}

#[test]
fn columns_become_rows_and_long_counters_win() {
    let mut table = table(&[
        (true, 1, 2, text("eth0")),
        (true, 6, 2, Value::Number(1 << 40)),
        (false, 10, 2, Value::Number(5)),
        (false, 16, 2, Value::Number(6)),
        (false, 13, 2, Value::Number(1)),
        (false, 14, 2, Value::Number(2)),
        (true, 15, 2, Value::Number(1000)),
        (false, 8, 2, Value::Number(2)),
        (true, 6, 3, Value::Absent),
    ]);
    table.on_value(&UPTIME.to_vec(), &Value::Number(250), NOW);
    let report = table.finish(None).report;
    let expected = Interface {
        up: Some(false),
        speed_bps: Some(1_000_000_000),
        in_bytes: Some(1 << 40),
        out_bytes: Some(6),
        drops: Some(3),
        ..Interface::default()
    };
    assert_eq!(report.interfaces, BTreeMap::from([("eth0".to_owned(), expected)]));
    assert_eq!((report.uptime, report.missing), (Some(2.5), None));
}

#[test]
fn an_agent_that_shows_nothing_says_so() {
    assert!(Table::default().finish(None).report.missing.is_some());
}

#[test]
fn an_interface_is_called_by_its_name_else_by_its_description_else_by_its_number() {
    let cases: [(Told<'_>, &[&str]); 7] = [
        (&[(true, 1, 1, text("ge1")), (false, 2, 1, text("Gigabit port 1"))], &["ge1"]),
        (&[(false, 2, 1, text("lo")), (false, 2, 2, text("port2"))], &["lo", "port2"]),
        (&[(true, 1, 1, text("")), (false, 2, 1, text("vmac0"))], &["vmac0"]),
        (&[(false, 2, 1, text("Intel NIC\0"))], &["Intel NIC"]),
        (&[(false, 2, 1, text(" \0")), (false, 10, 1, Value::Number(1))], &["#1"]),
        // Two of the same name have their descriptions, and two of the same description numbers.
        (
            &[
                (true, 1, 1, text("port")),
                (true, 1, 2, text("port")),
                (false, 2, 1, text("left")),
                (false, 2, 2, text("right")),
            ],
            &["port", "right"],
        ),
        (&[(false, 2, 7, text("port")), (false, 2, 9, text("port"))], &["#9", "port"]),
    ];
    for (told, expected) in cases {
        let report = table(told).finish(None).report;
        assert_eq!(report.interfaces.keys().collect::<Vec<_>>(), expected, "{told:?}");
    }
}

#[test]
fn an_agent_with_the_old_table_only_has_names_speeds_counters_and_what_leads_nowhere() {
    let report = table(&[
        (false, 2, 1, text("lo")),
        (false, 3, 1, Value::Number(24)),
        (false, 5, 1, Value::Number(10_000_000)),
        (false, 2, 2, text("wlan")),
        (false, 3, 2, Value::Number(71)),
        (false, 5, 2, Value::Number(512_000)),
        (false, 10, 2, Value::Number(77)),
        (false, 16, 2, Value::Number(78)),
    ])
    .finish(None)
    .report;
    let wlan = &report.interfaces["wlan"];
    assert_eq!(
        (wlan.speed_bps, wlan.in_bytes, wlan.out_bytes),
        (Some(512_000), Some(77), Some(78))
    );
    assert_eq!((wlan.loopback, report.interfaces["lo"].loopback), (false, true));
}

#[test]
fn rates_are_those_between_two_renewals_and_a_long_counter_that_is_not_served_is_passed_over() {
    for (long, short, expected) in [
        // Long and short, short alone, and a long one that stays at 0.
        (Some((1000, 6000)), Some((1000, 6000)), Some(8000)),
        (None, Some((1000, 6000)), Some(8000)),
        (Some((0, 0)), Some((1000, 6000)), Some(8000)),
        (Some((1000, 6000)), None, Some(8000)),
        (None, None, None),
    ] {
        let at = |second: bool| {
            let pick = |pair: (u64, u64)| Value::Number(if second { pair.1 } else { pair.0 });
            let mut told = vec![(true, 1, 1, text("eth0"))];
            told.extend(long.map(|pair| (true, 6, 1, pick(pair))));
            told.extend(short.map(|pair| (false, 10, 1, pick(pair))));
            table(&told)
        };
        // They were told at the same time, and are five seconds apart at the agent.
        let before = at(false).finish(Some(Duration::from_secs(3)));
        let mut now = at(true).finish(Some(Duration::from_secs(8)));
        now.measure(&before);
        assert_eq!(now.report.interfaces["eth0"].in_bps, expected, "{long:?} {short:?}");
    }
}

#[test]
fn the_busiest_counters_are_watched_by_the_names_that_they_were_told_by() {
    let at = |grown: u64| {
        table(&[
            (true, 1, 1, text("old")),
            (true, 6, 1, Value::Number(1 << 40)),
            (false, 2, 2, text("busy")),
            (false, 16, 2, Value::Number(100 + grown)),
        ])
        .finish(None)
    };
    let (old, busy) = ([prefix(true, 6), vec![1]].concat(), [prefix(false, 16), vec![2]].concat());
    assert_eq!(at(0).busiest(None), [old.clone(), busy.clone()]);
    assert_eq!(at(9).busiest(Some(&at(0))), [busy, old]);
    assert!(at(0).is_as(&at(0)) && !at(9).is_as(&at(0)));
    assert!(!at(0).is_as(&TableSnapshot::default()));
}
