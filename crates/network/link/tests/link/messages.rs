//! Messages of each class, once and in order.

use super::*;

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
