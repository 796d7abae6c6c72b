//! Ends whose addresses change.

use super::*;

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
