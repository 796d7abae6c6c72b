//! Two nodes of one process over loopback.

mod addresses;
mod before_the_answer;
mod first_packet;
mod keys;
mod messages;
mod restart;

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

fn options(n: u8, address: SocketAddr) -> NodeOptions {
    let mut options = NodeOptions::new(identity(n), address);
    options.patience =
        Patience { keep_alive: Duration::from_millis(200), lost: Duration::from_secs(2) };
    options
}

fn node(n: u8, port: u16) -> Node {
    Node::start(options(n, SocketAddr::from(([127, 0, 0, 1], port)))).unwrap()
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

fn send_one_of_each_class(link: &Link) {
    for class in Class::ALL {
        link.send(class, class.name().as_bytes(), Options::default()).unwrap();
    }
}

async fn recv_one_of_each_class(link: &Link) {
    let mut came = Vec::new();
    for _ in Class::ALL {
        came.push(recv(link).await.class);
    }
    came.sort();
    assert_eq!(came, Class::ALL);
}
