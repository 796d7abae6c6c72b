use super::*;

fn node(id: u32, name: Option<&str>, facts: Facts) -> Node {
    let name = name.map(str::to_owned);
    Node { id, name, facts, age: Duration::from_secs(2), hop: 0, silent: false }
}

fn heard(who: u32, whom: u32, sevenths: u8) -> Heard {
    Heard { who, whom, sevenths }
}

fn view() -> GroupView {
    GroupView::new("239.255.42.2:6004".to_owned(), None, 1, 2000.0)
}

fn causes(document: &Value) -> Vec<String> {
    document["alerts"].as_object().unwrap().keys().cloned().collect()
}

#[test]
fn a_group_is_shown_with_its_nodes_and_who_hears_whom() {
    let facts =
        Facts { sent: Some(1000.0), processor: Some(0.5), hears: Some(1), ..Facts::default() };
    let seen = Seen {
        nodes: vec![
            node(1, Some("a"), facts),
            node(2, Some("b"), facts),
            node(3, Some("b"), facts),
        ],
        hearing: vec![heard(1, 2, 7), heard(2, 1, 6), heard(9, 1, 7)],
        ..Seen::default()
    };
    let document = view().document(Duration::from_secs(5), &seen);
    assert_eq!((&document["up"], &document["sent_bps"]), (&json!(3), &json!(3000.0)));
    assert_eq!(document["dropped"], json!({"unread": 0, "unkept": 0, "events": 0}));
    assert_eq!(document["nodes"]["1"]["state"], "this node");
    assert_eq!(document["nodes"]["1"]["heard_by"], 1, "9 is not known");
    assert_eq!(document["nodes"]["3"]["label"], "b (00000003)");
    assert_eq!(document["hearing"], json!({"1": {"2": 7}, "2": {"1": 6}}));
    assert!(!document.to_string().contains("null"), "{document}");
}

#[test]
fn silence_and_one_way_hearing_are_told_and_missing_words_are_not_taken_for_deafness() {
    let mut silent = node(2, Some("b"), Facts::default());
    silent.silent = true;
    let seen = Seen {
        nodes: vec![node(1, Some("a"), Facts::default()), silent, node(3, None, Facts::default())],
        hearing: vec![heard(1, 3, 7), heard(3, 1, 0), heard(1, 2, 7)],
        ..Seen::default()
    };
    let document = view().document(Duration::from_secs(5), &seen);
    assert_eq!(causes(&document), ["one-way:3", "silent:2"]);
    let text = &document["alerts"]["one-way:3"]["text"];
    assert_eq!(text, "00000003 does not hear a, which hears it");
    assert_eq!((&document["up"], &document["silent"]), (&json!(2), &json!(1)));
}

#[test]
fn a_number_beyond_its_bound_is_told_after_ten_seconds_and_until_it_is_back() {
    let mut view = view();
    let mut at = |second: u64, loss: f64| {
        let facts = Facts { loss: Some(loss), ..Facts::default() };
        let seen = Seen { nodes: vec![node(2, Some("b"), facts)], ..Seen::default() };
        causes(&view.document(Duration::from_secs(second), &seen)).len()
    };
    let told: Vec<usize> = (0..15).map(|second| at(second, 0.5)).collect();
    assert_eq!((told[9], told[10], told[14]), (0, 1, 1));
    assert_eq!(at(16, 0.0), 1, "it is held so that it can be read");
    assert_eq!(at(25, 0.0), 0);
}

#[test]
fn what_notes_take_is_measured_over_ten_seconds() {
    let mut view = view();
    for second in 0..=20 {
        let seen = Seen { notes: (second * 50, second), ..Seen::default() };
        view.document(Duration::from_secs(second), &seen);
    }
    assert_eq!(view.point(Duration::from_secs(20)), [20.0, 0.0, 400.0]);
}
