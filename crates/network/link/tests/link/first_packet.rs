//! Messages with the first packet, by a ticket.

use super::*;

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
