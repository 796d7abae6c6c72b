//! Two nodes of one process over loopback.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use fanfare_link::{
    Class, Event, Link, Message, Node, NodeOptions, Options, Peer,
    liveness::Patience,
    seal::{Identity, PublicKey},
};
use tokio::{net::UdpSocket, time::timeout};

/// Longer than anything takes: a test that waits so long has failed.
const LONG: Duration = Duration::from_secs(20);

fn identity(n: u8) -> Arc<Identity> {
    Arc::new(Identity::from_seed([n; 32]))
}

fn key(n: u8) -> PublicKey {
    identity(n).public()
}

fn node(n: u8, port: u16) -> Node {
    let mut options = NodeOptions::new(identity(n), SocketAddr::from(([127, 0, 0, 1], port)));
    options.patience =
        Patience { keep_alive: Duration::from_millis(200), lost: Duration::from_secs(2) };
    Node::start(options).unwrap()
}

fn peer(n: u8, address: SocketAddr) -> Peer {
    Peer { name: format!("node {n}"), key: key(n), addresses: vec![address] }
}

/// Node 1 dials node 2: both ends of the link.
async fn pair(one: &Node, two: &Node) -> (Link, Link) {
    two.peers().add(key(1), "node 1");
    let near = one.dial(peer(2, two.address().unwrap()));
    let far = timeout(LONG, two.accept()).await.unwrap().unwrap();
    assert!(near.connected(LONG).await.is_some());
    (near, far)
}

async fn recv(link: &Link) -> Message {
    timeout(LONG, link.recv()).await.expect("a message")
}

async fn until(link: &mut tokio::sync::broadcast::Receiver<Event>, name: &str) -> Event {
    loop {
        let event = timeout(LONG, link.recv()).await.expect(name).unwrap();
        if event.name() == name {
            return event;
        }
    }
}

#[tokio::test]
async fn messages_of_each_class_arrive_and_sequenced_ones_in_order() {
    let (one, two) = (node(1, 0), node(2, 0));
    let (near, far) = pair(&one, &two).await;
    for class in Class::ALL {
        let sent: Vec<Vec<u8>> = (0..50u8).map(|n| vec![n; 1 + usize::from(n) * 40]).collect();
        for bytes in &sent {
            near.send(class, bytes, Options { tag: 5, ..Options::default() }).unwrap();
        }
        let mut came = Vec::new();
        for _ in &sent {
            let message = recv(&far).await;
            assert_eq!((message.class, message.tag), (class, 5));
            came.push(message.bytes);
        }
        if !class.is_sequenced() {
            came.sort();
        }
        assert_eq!(came, sent, "{class}");
    }
    assert!(near.flushed(LONG).await);
    let [sent, _] = near.counts();
    let [_, received] = far.counts();
    assert_eq!(sent.class(Class::ReliableSequenced).acknowledged, 50);
    assert_eq!(received.tags()[&5].received, 200);
    one.close().await;
    two.close().await;
}

#[tokio::test]
async fn a_large_message_arrives_whole_and_the_other_way_too() {
    let (one, two) = (node(1, 0), node(2, 0));
    let (near, far) = pair(&one, &two).await;
    let large: Vec<u8> = (0..3_000_000u32).map(|n| (n % 251) as u8).collect();
    far.send(Class::ReliableUnsequenced, &large, Options::default()).unwrap();
    assert_eq!(recv(&near).await.bytes, large);
    one.close().await;
    two.close().await;
}

#[tokio::test]
async fn a_key_that_is_not_listed_gets_no_link_and_is_counted() {
    let (one, two) = (node(1, 0), node(2, 0));
    let link = one.dial(peer(2, two.address().unwrap()));
    let mut events = link.events();
    until(&mut events, "failed").await;
    assert!(link.connected(Duration::ZERO).await.is_none());
    assert!(two.peers().refused() > 0 && two.links().is_empty());
    one.close().await;
    two.close().await;
}

#[tokio::test]
async fn a_node_with_another_key_than_the_one_named_is_refused() {
    let (one, two) = (node(1, 0), node(2, 0));
    two.peers().add(key(1), "node 1");
    let link = one.dial(Peer { key: key(3), ..peer(2, two.address().unwrap()) });
    let mut events = link.events();
    until(&mut events, "failed").await;
    assert!(two.links().is_empty());
    one.close().await;
    two.close().await;
}

#[tokio::test]
async fn a_link_goes_on_when_the_other_process_is_started_anew_and_tells_it() {
    let (one, two) = (node(1, 0), node(2, 0));
    let (near, _) = pair(&one, &two).await;
    let mut events = near.events();
    let address = two.address().unwrap();
    two.close().await;
    drop(two);
    until(&mut events, "lost").await;
    let again = loop {
        let mut options = NodeOptions::new(identity(2), address);
        options.peers.add(key(1), "node 1");
        options.patience =
            Patience { keep_alive: Duration::from_millis(200), lost: Duration::from_secs(2) };
        match Node::start(options) {
            Ok(node) => break node,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    until(&mut events, "restarted").await;
    let far = timeout(LONG, again.accept()).await.unwrap().unwrap();
    near.send(Class::ReliableSequenced, b"anew", Options::default()).unwrap();
    assert_eq!(recv(&far).await.bytes, b"anew");
    one.close().await;
    again.close().await;
}

/// Passes datagrams on between a client and a server, from another port when it is told to.
async fn forwarder(server: SocketAddr) -> (SocketAddr, tokio::sync::mpsc::Sender<()>) {
    let front = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = front.local_addr().unwrap();
    let (sender, mut receiver) = tokio::sync::mpsc::channel::<()>(1);
    tokio::spawn(async move {
        let mut back = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let (mut client, mut one, mut two) = (None, vec![0; 65_536], vec![0; 65_536]);
        loop {
            tokio::select! {
                Ok((len, from)) = front.recv_from(&mut one) => {
                    client = Some(from);
                    let _ = back.send_to(&one[..len], server).await;
                }
                Ok((len, _)) = back.recv_from(&mut two) => if let Some(client) = client {
                    let _ = front.send_to(&two[..len], client).await;
                },
                told = receiver.recv() => match told {
                    Some(()) => back = UdpSocket::bind("127.0.0.1:0").await.unwrap(),
                    None => return,
                },
            }
        }
    });
    (address, sender)
}

#[tokio::test]
async fn a_client_whose_address_changes_keeps_its_connection() {
    let (one, two) = (node(1, 0), node(2, 0));
    two.peers().add(key(1), "node 1");
    let (road, rebind) = forwarder(two.address().unwrap()).await;
    let near = one.dial(peer(2, road));
    let far = timeout(LONG, two.accept()).await.unwrap().unwrap();
    let (mut here, before) = (far.events(), near.connected(LONG).await.unwrap());
    rebind.send(()).await.unwrap();
    near.send(Class::ReliableSequenced, b"from elsewhere", Options::default()).unwrap();
    assert_eq!(recv(&far).await.bytes, b"from elsewhere");
    let Event::Moved { from, to } = until(&mut here, "moved").await else { panic!("moved") };
    assert_ne!(from, to);
    far.send(Class::ReliableSequenced, b"to there", Options::default()).unwrap();
    assert_eq!(recv(&near).await.bytes, b"to there");
    assert_eq!(near.connected(LONG).await.unwrap().epoch, before.epoch);
    one.close().await;
    two.close().await;
}

/// Passes datagrams on between a client and a server; of the server's not those after the handshake, until
/// it is told to.
async fn without_answers(server: SocketAddr) -> (SocketAddr, tokio::sync::watch::Sender<bool>) {
    let road = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let front = road.local_addr().unwrap();
    let (open, opened) = tokio::sync::watch::channel(false);
    tokio::spawn(async move {
        let (mut client, mut bytes) = (None, vec![0; 65_536]);
        while let Ok((len, from)) = road.recv_from(&mut bytes).await {
            let to = if from == server { client } else { Some(server) };
            client = if from == server { client } else { Some(from) };
            let held = from == server && bytes[0] & 0x80 == 0 && !*opened.borrow();
            if let Some(to) = to.filter(|_| !held) {
                let _ = road.send_to(&bytes[..len], to).await;
            }
        }
    });
    (front, open)
}

#[tokio::test]
async fn messages_arrive_before_the_answer_and_count_when_it_is_there() {
    let (one, two) = (node(1, 0), node(2, 0));
    two.peers().add(key(1), "node 1");
    let (road, open) = without_answers(two.address().unwrap()).await;
    let near = one.dial(peer(2, road));
    for class in Class::ALL {
        near.send(class, class.name().as_bytes(), Options::default()).unwrap();
    }
    let far = timeout(LONG, two.accept()).await.unwrap().unwrap();
    let mut came = Vec::new();
    for _ in Class::ALL {
        came.push(recv(&far).await.class);
    }
    came.sort();
    assert_eq!(came, Class::ALL);
    assert!(near.connected(Duration::ZERO).await.is_none());
    assert_eq!(near.waiting(), 4);
    open.send(true).unwrap();
    assert!(near.flushed(LONG).await && near.connected(LONG).await.is_some());
    let [sent, _] = near.counts();
    assert_eq!(Class::ALL.map(|class| sent.class(class).acknowledged), [1, 1, 0, 0]);
    near.send(Class::ReliableSequenced, b"behind", Options::default()).unwrap();
    assert_eq!(recv(&far).await.bytes, b"behind", "nothing comes twice");
    one.close().await;
    two.close().await;
}

#[tokio::test]
async fn messages_to_an_end_that_refuses_the_key_wait_until_it_accepts_it() {
    let (one, two) = (node(1, 0), node(2, 0));
    let near = one.dial(peer(2, two.address().unwrap()));
    let mut events = near.events();
    for class in Class::ALL {
        near.send(class, class.name().as_bytes(), Options::default()).unwrap();
    }
    for _ in 0..2 {
        let Event::Failed(why) = until(&mut events, "failed").await else { panic!() };
        assert!(why.contains("does not accept this key"), "{why}");
        assert!(near.connected(Duration::ZERO).await.is_none() && two.links().is_empty());
        assert!(!near.flushed(Duration::ZERO).await && near.waiting() == 4);
        let [sent, _] = near.counts();
        assert_eq!(Class::ALL.map(|class| sent.class(class).acknowledged), [0; 4]);
    }
    two.peers().add(key(1), "node 1");
    let far = timeout(LONG, two.accept()).await.unwrap().unwrap();
    let mut came = Vec::new();
    for _ in Class::ALL {
        came.push(recv(&far).await.class);
    }
    came.sort();
    assert_eq!(came, Class::ALL);
    assert!(near.flushed(LONG).await);
    one.close().await;
    two.close().await;
}

#[tokio::test]
async fn when_both_ends_dial_at_once_each_message_arrives_once() {
    for _ in 0..3 {
        let (one, two) = (node(1, 0), node(2, 0));
        two.peers().add(key(1), "node 1");
        one.peers().add(key(2), "node 2");
        let near = one.dial(peer(2, two.address().unwrap()));
        let far = two.dial(peer(1, one.address().unwrap()));
        // And once more when the road has broken: both dial again.
        for times in 1..=2 {
            for n in 0..20u8 {
                for link in [&near, &far] {
                    link.send(Class::ReliableSequenced, &[n], Options::default()).unwrap();
                }
            }
            for link in [&near, &far] {
                for n in 0..20u8 {
                    assert_eq!(recv(link).await.bytes, [n]);
                }
                assert!(link.flushed(LONG).await);
                let [sent, received] = link.counts();
                let sent = sent.class(Class::ReliableSequenced);
                assert_eq!((sent.acknowledged, sent.cancelled), (20 * times, 0));
                assert_eq!(received.class(Class::ReliableSequenced).received, 20 * times);
            }
            near.connected(LONG).await.unwrap().connection.close(9u32.into(), b"test");
        }
        one.close().await;
        two.close().await;
    }
}

#[tokio::test]
async fn what_was_for_a_process_that_is_gone_does_not_come_to_the_next_one() {
    let (one, two) = (node(1, 0), node(2, 0));
    let (near, _) = pair(&one, &two).await;
    let mut events = near.events();
    let address = two.address().unwrap();
    two.close().await;
    drop(two);
    until(&mut events, "lost").await;
    for class in Class::ALL {
        near.send(class, b"for the one before", Options::default()).unwrap();
    }
    let again = loop {
        let options = NodeOptions::new(identity(2), address);
        options.peers.add(key(1), "node 1");
        match Node::start(options) {
            Ok(node) => break node,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    until(&mut events, "restarted").await;
    near.send(Class::ReliableSequenced, b"for this one", Options::default()).unwrap();
    let far = timeout(LONG, again.accept()).await.unwrap().unwrap();
    assert_eq!(recv(&far).await.bytes, b"for this one");
    assert!(near.flushed(LONG).await);
    let [sent, _] = near.counts();
    assert_eq!(Class::ALL.map(|class| sent.class(class).cancelled), [1; 4]);
    one.close().await;
    again.close().await;
}

#[tokio::test]
async fn messages_that_were_under_way_go_again_over_the_next_connection_once() {
    let (one, two) = (node(1, 0), node(2, 0));
    let (near, far) = pair(&one, &two).await;
    let mut events = near.events();
    let first = near.connected(LONG).await.unwrap();
    for n in 0..20u8 {
        near.send(Class::ReliableSequenced, &[n], Options::default()).unwrap();
    }
    // As when the road breaks: neither end has ended the link.
    first.connection.close(9u32.into(), b"test");
    let Event::Connected { resumed, .. } = until(&mut events, "connected").await else { panic!() };
    assert!(resumed);
    for n in 0..20u8 {
        assert_eq!(recv(&far).await.bytes, [n]);
    }
    assert!(near.flushed(LONG).await);
    one.close().await;
    two.close().await;
}

#[tokio::test]
async fn a_deadline_ends_the_retries_of_a_message_and_nobody_waits_for_it() {
    let one = node(1, 0);
    // Nobody listens there yet.
    let place = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = place.local_addr().unwrap();
    let near = one.dial(peer(2, address));
    let deadline = Some(Duration::from_millis(1));
    let options = Options { deadline, ..Options::default() };
    near.send(Class::ReliableSequenced, b"late", options).unwrap();
    near.send(Class::ReliableSequenced, b"lasting", Options::default()).unwrap();
    drop(place);
    let two = node(2, address.port());
    two.peers().add(key(1), "node 1");
    let far = timeout(LONG, two.accept()).await.unwrap().unwrap();
    assert_eq!(recv(&far).await.bytes, b"lasting");
    let [sent, _] = near.counts();
    assert_eq!(sent.class(Class::ReliableSequenced).expired, 1);
    one.close().await;
    two.close().await;
}

#[tokio::test]
async fn norm_that_is_not_sealed_is_dropped_and_counted() {
    let (one, two) = (node(1, 0), node(2, 0));
    let (near, _) = pair(&one, &two).await;
    let stranger = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let to = two.address().unwrap();
    stranger.send_to(&[0x12; 60], to).await.unwrap();
    stranger.send_to(&[0x08; 60], to).await.unwrap();
    stranger.send_to(&[0x17; 60], to).await.unwrap();
    near.send(Class::ReliableSequenced, b"x", Options::default()).unwrap();
    assert!(near.flushed(LONG).await);
    assert_eq!(two.dropped(), [1, 1, 1, 0]);
    one.close().await;
    two.close().await;
}

const EARLY: Options = Options { priority: 0, tag: 0, replace: false, deadline: None, early: true };

/// Node 1 in a process of its own each time: its tickets are in this file.
fn with_tickets(tickets: &std::path::Path) -> Node {
    let mut options = NodeOptions::new(identity(1), SocketAddr::from(([127, 0, 0, 1], 0)));
    options.tickets = Some(tickets.to_owned());
    Node::start(options).unwrap()
}

fn file(name: &str) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("fanfare-{name}-{}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

/// What is sent by the process of node 1 that is started now, and how often the other end has it.
async fn sends_once(tickets: &std::path::Path, two: &Node, address: SocketAddr, text: &str) {
    let one = with_tickets(tickets);
    let near = one.dial(peer(2, address));
    near.send(Class::ReliableSequenced, text.as_bytes(), EARLY).unwrap();
    let far = match two.links().first() {
        Some(far) => far.clone(),
        None => timeout(LONG, two.accept()).await.unwrap().unwrap(),
    };
    assert_eq!(recv(&far).await.bytes, text.as_bytes());
    assert!(near.flushed(LONG).await, "{text}");
    // Behind it comes nothing but this.
    near.send(Class::ReliableSequenced, b"the next", Options::default()).unwrap();
    assert_eq!(recv(&far).await.bytes, b"the next");
    one.close().await;
}

#[tokio::test]
async fn a_message_goes_with_the_first_packet_of_the_next_process_and_arrives_once() {
    let (tickets, two) = (file("next"), node(2, 0));
    two.peers().add(key(1), "node 1");
    let address = two.address().unwrap();
    for (text, taken) in [("first", 0), ("second", 1), ("third", 2)] {
        sends_once(&tickets, &two, address, text).await;
        let early = two.early();
        assert_eq!((early.taken, early.refused), (taken, 0), "{text}");
    }
    two.close().await;
    std::fs::remove_file(&tickets).unwrap();
}

#[tokio::test]
async fn a_ticket_that_the_other_end_does_not_know_any_more_costs_nothing_but_time() {
    let (tickets, two) = (file("anew"), node(2, 0));
    two.peers().add(key(1), "node 1");
    let address = two.address().unwrap();
    sends_once(&tickets, &two, address, "before").await;
    two.close().await;
    drop(two);
    let again = loop {
        let options = NodeOptions::new(identity(2), address);
        options.peers.add(key(1), "node 1");
        match Node::start(options) {
            Ok(node) => break node,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    sends_once(&tickets, &again, address, "after").await;
    assert_eq!((again.early().taken, again.early().refused), (0, 1));
    // And there is a new one now.
    sends_once(&tickets, &again, address, "and on").await;
    assert_eq!(again.early().taken, 1);
    again.close().await;
    std::fs::remove_file(&tickets).unwrap();
}

#[tokio::test]
async fn an_answer_comes_back_before_there_is_a_connection() {
    let (tickets, two) = (file("answer"), node(2, 0));
    two.peers().add(key(1), "node 1");
    sends_once(&tickets, &two, two.address().unwrap(), "before").await;
    // From here on QUIC does not pass: only first packets, and what answers them.
    let server = two.address().unwrap();
    let road = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let front = road.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut client, mut bytes) = (None, vec![0; 65_536]);
        while let Ok((len, from)) = road.recv_from(&mut bytes).await {
            let to = if from == server { client } else { Some(server) };
            client = if from == server { client } else { Some(from) };
            if bytes[0] & 0x40 == 0
                && let Some(to) = to
            {
                let _ = road.send_to(&bytes[..len], to).await;
            }
        }
    });
    let one = with_tickets(&tickets);
    let near = one.dial(peer(2, front));
    near.send(Class::ReliableUnsequenced, b"a question", EARLY).unwrap();
    let far = two.links().first().unwrap().clone();
    assert_eq!(recv(&far).await.bytes, b"a question");
    far.send(Class::ReliableUnsequenced, b"an answer", EARLY).unwrap();
    assert_eq!(recv(&near).await.bytes, b"an answer");
    assert!(near.connected(Duration::ZERO).await.is_none());
    one.close().await;
    two.close().await;
    std::fs::remove_file(&tickets).unwrap();
}
