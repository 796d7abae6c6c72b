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
