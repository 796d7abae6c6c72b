//! Clients that say too little, or want too much.

use super::*;
use tokio::{task::JoinSet, time::Instant};

const ASSOCIATE: [u8; 10] = [5, 3, 0, 1, 0, 0, 0, 0, 0, 0];

/// How long a client is listened to that says these bytes, one every three seconds.
async fn dribble(front: Front, bytes: &[u8]) -> (Duration, Events) {
    let (told, events) = listener();
    let mut options = NearOptions::new([1; 32], Via::Refuse);
    options.listener = told;
    let near = Near::new(options);
    let address = near.listen(loopback(), front).await.unwrap();
    let (begun, tcp) = (Instant::now(), TcpStream::connect(address).await.unwrap());
    let (mut read, mut write) = tcp.into_split();
    let bytes = bytes.to_vec();
    tokio::spawn(async move {
        for byte in bytes {
            tokio::time::sleep(Duration::from_secs(3)).await;
            // It is cut off in the middle.
            if write.write_all(&[byte]).await.is_err() {
                return;
            }
        }
        tokio::time::sleep(LONG).await;
    });
    let mut rest = Vec::new();
    // Closed with unread bytes it is a reset.
    let _ = timeout(LONG * 10, read.read_to_end(&mut rest)).await.expect("it is cut off");
    (begun.elapsed(), events)
}

#[tokio::test(start_paused = true)]
async fn a_client_that_says_a_byte_now_and_then_is_cut_off_after_ten_seconds() {
    let http = b"CONNECT 10.88.0.2:80 HTTP/1.1\r\n\r\n";
    for (front, bytes) in [
        (Front::Socks, &[][..]),
        (Front::Socks, &[5, 1, 0, 5, 1, 0, 1, 10, 88, 0, 2, 0, 80]),
        (Front::Http, &[]),
        (Front::Http, http),
    ] {
        let (after, events) = dribble(front.clone(), bytes).await;
        let second = Duration::from_secs(1);
        assert!(after >= 10 * second && after < 11 * second, "{front:?}: {after:?}");
        let slow = |event: &Event| matches!(event, Event::Refused { reason: "too_slow", .. });
        assert_eq!(events.lock().unwrap().iter().filter(|event| slow(event)).count(), 1);
    }
}

#[tokio::test]
async fn there_are_no_more_relays_of_datagrams_than_allowed_and_places_come_back() {
    let both = both(&["127.0.0.1"], |o| o.associations_max = 2).await;
    let (one, code) = both.ask_for(&ASSOCIATE).await;
    let (_two, other) = both.ask_for(&ASSOCIATE).await;
    assert_eq!((code, other), (0, 0));
    assert_eq!(both.ask_for(&ASSOCIATE).await.1, 1);
    drop(one);
    let freed = async { while both.ask_for(&ASSOCIATE).await.1 != 0 {} };
    timeout(LONG, freed).await.expect("its place is free again");
    both.end().await;
}

#[tokio::test]
async fn requests_beyond_those_that_may_wait_for_a_link_are_refused_at_once() {
    let both = both(&["127.0.0.1"], |o| {
        (o.waiting_max, o.wait_link) = (2, Duration::from_secs(3600));
    });
    let both = Arc::new(both.await);
    both.far_node.close().await;
    let mut asking = JoinSet::new();
    for _ in 0..3 {
        let both = both.clone();
        asking.spawn(async move { both.ask(SocketAddr::from(([127, 0, 0, 1], 9))).await.1 });
    }
    // Whoever comes third; the others go on waiting.
    assert_eq!(timeout(LONG, asking.join_next()).await.unwrap().unwrap().unwrap(), 1);
    let another = timeout(Duration::from_millis(200), asking.join_next()).await;
    assert!(another.is_err(), "{another:?}");
}

#[tokio::test]
async fn without_file_descriptors_new_clients_wait_and_none_is_lost() {
    let server = TcpListener::bind(loopback()).await.unwrap();
    let address = server.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut tcp, _) = server.accept().await.unwrap();
            tokio::spawn(async move {
                let mut bytes = [0; 5];
                tcp.read_exact(&mut bytes).await.unwrap();
                tcp.write_all(&bytes).await.unwrap();
            });
        }
    });
    let (told, events) = listener();
    let both = both(&["127.0.0.1"], |o| (o.descriptors, o.listener) = (2, told)).await;
    let (mut one, _) = both.ask(address).await;
    let (mut two, _) = both.ask(address).await;
    let mut late = Box::pin(async {
        let (mut three, code) = both.ask(address).await;
        assert_eq!(code, 0);
        three.write_all(b"three").await.unwrap();
        assert_eq!(all(&mut three).await, b"three");
    });
    assert!(timeout(Duration::from_millis(300), &mut late).await.is_err(), "it waits");
    let exhausted = |event: &&Event| matches!(event, Event::Exhausted);
    assert_eq!(events.lock().unwrap().iter().filter(exhausted).count(), 1, "told once");
    for (tcp, word) in [(&mut one, b"one.."), (&mut two, b"two..")] {
        tcp.write_all(word).await.unwrap();
        assert_eq!(all(tcp).await, word);
    }
    drop((one, two));
    timeout(LONG, late).await.expect("the third has its turn");
    both.end().await;
}
