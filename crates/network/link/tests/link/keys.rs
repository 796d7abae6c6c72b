//! Who gets no link.

use super::*;

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
