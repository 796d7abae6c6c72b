//! Messages that go before the other end has said that it accepts this one.

use super::*;

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
    send_one_of_each_class(&near);
    let far = timeout(LONG, two.accept()).await.unwrap().unwrap();
    recv_one_of_each_class(&far).await;
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
    send_one_of_each_class(&near);
    for _ in 0..2 {
        let (Event::Failed(why) | Event::Refused(why)) = until(&mut events, "failed").await else {
            panic!()
        };
        assert!(why.contains("does not accept this key"), "{why}");
        assert!(near.connected(Duration::ZERO).await.is_none() && two.links().is_empty());
        assert!(!near.flushed(Duration::ZERO).await && near.waiting() == 4);
        let [sent, _] = near.counts();
        assert_eq!(Class::ALL.map(|class| sent.class(class).acknowledged), [0; 4]);
    }
    two.peers().add(key(1), "node 1");
    let far = timeout(LONG, two.accept()).await.unwrap().unwrap();
    recv_one_of_each_class(&far).await;
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
