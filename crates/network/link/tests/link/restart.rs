//! The other process is started anew.

use super::*;

/// Ends this node, and waits until the other one has lost it; where it listened.
async fn end(node: Node, events: &mut tokio::sync::broadcast::Receiver<Event>) -> SocketAddr {
    let address = node.address().unwrap();
    node.close().await;
    drop(node);
    until(events, "lost").await;
    address
}

/// Another process with node 2's key, as soon as the system gives its port.
async fn begin_again(address: SocketAddr) -> Node {
    loop {
        let options = options(2, address);
        options.peers.add(key(1), "node 1");
        match Node::start(options) {
            Ok(node) => return node,
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

#[tokio::test]
async fn a_link_goes_on_when_the_other_process_is_started_anew_and_tells_it() {
    let (one, two) = (node(1, 0), node(2, 0));
    let (near, _) = pair(&one, &two).await;
    let mut events = near.events();
    let address = end(two, &mut events).await;
    let again = begin_again(address).await;
    until(&mut events, "restarted").await;
    let far = timeout(LONG, again.accept()).await.unwrap().unwrap();
    near.send(Class::ReliableSequenced, b"anew", Options::default()).unwrap();
    assert_eq!(recv(&far).await.bytes, b"anew");
    one.close().await;
    again.close().await;
}

#[tokio::test]
async fn what_was_for_a_process_that_is_gone_does_not_come_to_the_next_one() {
    let (one, two) = (node(1, 0), node(2, 0));
    let (near, _) = pair(&one, &two).await;
    let mut events = near.events();
    let address = end(two, &mut events).await;
    send_one_of_each_class(&near);
    let again = begin_again(address).await;
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
