//! Both sides in one process over loopback: what clients of SOCKS5 and HTTP CONNECT see.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use fanfare_crypto::Identity;
use fanfare_link::proxy::{
    Carrier, Event, Far, FarOptions, Front, Listener, Near, NearOptions, Optimism, Peering, Policy,
    Sending, Via, limits::Rate, users::Users,
};
use fanfare_link::{Node, NodeOptions, Peer};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream, UdpSocket},
    time::timeout,
};

#[path = "proxy/limits.rs"]
mod limits;

/// Longer than anything takes: a test that waits so long has failed.
const LONG: Duration = Duration::from_secs(20);

fn loopback() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

fn node(seed: u8) -> (Node, [u8; 32]) {
    let identity = Arc::new(Identity::from_seed([seed; 32]));
    let key = identity.public().0;
    (Node::start(NodeOptions::new(identity, loopback())).unwrap(), key)
}

type Events = Arc<Mutex<Vec<Event>>>;

fn listener() -> (Listener, Events) {
    let events = Events::default();
    let told = events.clone();
    (Listener::new(move |event| told.lock().unwrap().push(event)), events)
}

struct Both {
    near: Arc<Near>,
    socks: SocketAddr,
    near_node: Node,
    far_node: Node,
    events: Events,
}

/// A near and a far side, linked; the far side allows this.
async fn both(allow: &[&str], change: impl FnOnce(&mut NearOptions)) -> Both {
    both_changed(allow, change, |_| {}).await
}

async fn both_changed(
    allow: &[&str],
    change: impl FnOnce(&mut NearOptions),
    change_far: impl FnOnce(&mut FarOptions),
) -> Both {
    let ((near_node, near_key), (far_node, far_key)) = (node(1), node(2));
    far_node.peers().add(fanfare_crypto::PublicKey(near_key), "near");
    let (far_listener, events) = listener();
    let mut far_options = FarOptions::new(far_key);
    let rules = allow.iter().map(|rule| rule.parse().unwrap()).collect();
    far_options.policy = Policy { allow: rules, deny: Vec::new() };
    far_options.listener = far_listener;
    far_options.connect_timeout = Duration::from_secs(5);
    change_far(&mut far_options);
    let far = Far::new(far_options);
    let link = near_node.dial(Peer {
        name: "far".to_owned(),
        key: fanfare_crypto::PublicKey(far_key),
        addresses: vec![far_node.address().unwrap()],
    });
    let accepted = timeout(LONG, far_node.accept()).await.unwrap().unwrap();
    tokio::spawn(far.serve(Peering::start(accepted, far_key, Sending::default())));
    assert!(link.connected(LONG).await.is_some());
    let mut options = NearOptions::new(near_key, Via::Peer("far".to_owned()));
    change(&mut options);
    let near = Near::new(options);
    near.add(Peering::start(link, near_key, Sending::default()));
    let socks = near.listen(loopback(), Front::Socks).await.unwrap();
    Both { near, socks, near_node, far_node, events }
}

impl Both {
    async fn end(self) {
        self.near_node.close().await;
        self.far_node.close().await;
    }

    /// A client of SOCKS5 that asks for this: its connection and the code.
    async fn ask(&self, to: SocketAddr) -> (TcpStream, u8) {
        let SocketAddr::V4(to) = to else { panic!("IPv4") };
        let ip = to.ip().octets();
        let request = [&[5, 1, 0, 1][..], &ip, &to.port().to_be_bytes()].concat();
        self.ask_for(&request).await
    }

    async fn ask_for(&self, request: &[u8]) -> (TcpStream, u8) {
        let mut tcp = TcpStream::connect(self.socks).await.unwrap();
        tcp.write_all(&[5, 1, 0]).await.unwrap();
        let mut method = [0; 2];
        tcp.read_exact(&mut method).await.unwrap();
        assert_eq!(method, [5, 0]);
        tcp.write_all(request).await.unwrap();
        let mut reply = [0; 10];
        timeout(LONG, tcp.read_exact(&mut reply)).await.expect("a reply").unwrap();
        (tcp, reply[1])
    }
}

async fn all(tcp: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    timeout(LONG, tcp.read_to_end(&mut bytes)).await.expect("an end").unwrap();
    bytes
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n * 7 + n / 251) as u8).collect()
}

#[tokio::test]
async fn a_client_that_half_closes_still_gets_its_whole_answer() {
    for carrier in [Carrier::Quic, Carrier::Norm] {
        half_close(carrier).await;
    }
}

async fn half_close(carrier: Carrier) {
    let server = TcpListener::bind(loopback()).await.unwrap();
    let address = server.local_addr().unwrap();
    let both = both(&["127.0.0.1"], |o| o.carrier = carrier).await;
    let (question, answer) = (pattern(300_000), pattern(10_000_000));
    let expected = (question.clone(), answer.clone());
    let served = tokio::spawn(async move {
        let (mut tcp, _) = server.accept().await.unwrap();
        assert_eq!(all(&mut tcp).await, expected.0);
        tcp.write_all(&expected.1).await.unwrap();
    });
    let (mut tcp, code) = both.ask(address).await;
    assert_eq!(code, 0);
    tcp.write_all(&question).await.unwrap();
    tcp.shutdown().await.unwrap();
    assert!(all(&mut tcp).await == answer, "the answer is not what was sent");
    served.await.unwrap();
    both.end().await;
}

#[tokio::test]
async fn a_reset_of_one_end_is_a_reset_of_the_other() {
    for carrier in [Carrier::Quic, Carrier::Norm] {
        resets(carrier).await;
    }
}

async fn resets(carrier: Carrier) {
    let server = TcpListener::bind(loopback()).await.unwrap();
    let address = server.local_addr().unwrap();
    let both = both(&["127.0.0.1"], |o| o.carrier = carrier).await;
    let zero = Some(Duration::ZERO);
    for near_resets in [true, false] {
        let (mut near, code) = both.ask(address).await;
        assert_eq!(code, 0);
        let (mut far, _) = server.accept().await.unwrap();
        near.write_all(b"x").await.unwrap();
        far.read_exact(&mut [0]).await.unwrap();
        let (gone, mut left) = if near_resets { (near, far) } else { (far, near) };
        socket2::SockRef::from(&gone).set_linger(zero).unwrap();
        drop(gone);
        let error = timeout(LONG, left.read(&mut [0])).await.expect("an end").unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    }
    both.end().await;
}

#[tokio::test]
async fn refusals_have_the_codes_of_rfc_1928() {
    for carrier in [Carrier::Quic, Carrier::Norm] {
        refusals(carrier).await;
    }
}

async fn refusals(carrier: Carrier) {
    let both =
        both(&["127.0.0.1:1-1000", "nowhere.invalid", "192.0.2.0/24"], |o| o.carrier = carrier)
            .await;
    // Nobody listens on the ports from 1 to 1000 of a test machine but services; 1 is none.
    assert_eq!(both.ask("127.0.0.1:1".parse().unwrap()).await.1, 5);
    assert_eq!(both.ask("127.0.0.1:2000".parse().unwrap()).await.1, 2);
    assert_eq!(both.ask("10.9.9.9:80".parse().unwrap()).await.1, 2);
    assert_eq!(both.ask_for(b"\x05\x01\x00\x03\x0fnowhere.invalid\x00\x50").await.1, 4);
    assert_eq!(both.ask_for(b"\x05\x02\x00\x01\x7f\x00\x00\x01\x00\x50").await.1, 7);
    assert_eq!(both.ask_for(b"\x05\x01\x00\x09").await.1, 8);
    both.end().await;
}

#[tokio::test]
async fn a_destination_that_has_taken_a_connection_is_believed_to_take_another_until_it_does_not() {
    for carrier in [Carrier::Quic, Carrier::Norm] {
        believed(carrier, Optimism::Known).await;
    }
}

#[tokio::test]
async fn without_optimism_every_connection_has_the_far_sides_code() {
    believed(Carrier::Norm, Optimism::Never).await;
}

async fn believed(carrier: Carrier, optimism: Optimism) {
    let server = TcpListener::bind(loopback()).await.unwrap();
    let address = server.local_addr().unwrap();
    let both = both(&["127.0.0.1"], |o| {
        (o.carrier, o.optimism, o.long_road) = (carrier, optimism, Duration::ZERO);
    })
    .await;
    for _ in 0..2 {
        let (mut near, code) = both.ask(address).await;
        assert_eq!(code, 0);
        near.write_all(b"x").await.unwrap();
        let (mut far, _) = server.accept().await.unwrap();
        timeout(LONG, far.read_exact(&mut [0])).await.expect("the first byte").unwrap();
    }
    drop(server);
    if optimism == Optimism::Known {
        let (mut near, code) = both.ask(address).await;
        assert_eq!(code, 0, "it is believed to be there");
        let error = timeout(LONG, near.read(&mut [0])).await.expect("an end").unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    }
    assert_eq!(both.ask(address).await.1, 5, "it is not believed any more");
    both.end().await;
}

#[tokio::test]
async fn the_address_of_cloud_metadata_is_refused_even_when_all_is_allowed() {
    let both = both(&["any"], |_| {}).await;
    assert_eq!(both.ask("169.254.169.254:80".parse().unwrap()).await.1, 2);
    assert_eq!(both.ask("127.0.0.1:22".parse().unwrap()).await.1, 2);
    // "localhost" is a name: what counts is what it is resolved to.
    assert_eq!(both.ask_for(b"\x05\x01\x00\x03\x09localhost\x00\x16").await.1, 2);
    let reasons: Vec<_> = both.events.lock().unwrap().iter().filter_map(reason).collect();
    assert_eq!(reasons, ["special_address"; 3]);
    both.end().await;
}

fn reason(event: &Event) -> Option<&'static str> {
    match event {
        Event::Reply { reason, .. } => *reason,
        _ => None,
    }
}

#[tokio::test]
async fn http_connect_carries_a_connection_and_says_why_not() {
    let server = TcpListener::bind(loopback()).await.unwrap();
    let address = server.local_addr().unwrap();
    let both = both(&["127.0.0.1"], |_| {}).await;
    let http = both.near.listen(loopback(), Front::Http).await.unwrap();
    let mut tcp = TcpStream::connect(http).await.unwrap();
    // What follows the head belongs to the connection.
    tcp.write_all(format!("CONNECT {address} HTTP/1.1\r\n\r\nping").as_bytes()).await.unwrap();
    let (mut far, _) = server.accept().await.unwrap();
    let mut ping = [0; 4];
    far.read_exact(&mut ping).await.unwrap();
    far.write_all(b"pong").await.unwrap();
    drop(far);
    assert_eq!(all(&mut tcp).await, b"HTTP/1.1 200 Connection established\r\n\r\npong");
    let mut refused = TcpStream::connect(http).await.unwrap();
    refused.write_all(b"CONNECT 10.0.0.1:80 HTTP/1.1\r\n\r\n").await.unwrap();
    assert!(all(&mut refused).await.starts_with(b"HTTP/1.1 403"));
    both.end().await;
}

/// What a server hears of one connection, until it has all of this; then it answers and closes.
async fn heard_and_answered(server: &TcpListener, until: &str, answer: &[u8]) -> String {
    let (mut far, _) = timeout(LONG, server.accept()).await.expect("a connection").unwrap();
    let mut heard = Vec::new();
    while !String::from_utf8_lossy(&heard).ends_with(until) {
        let mut part = [0; 4096];
        let count = timeout(LONG, far.read(&mut part)).await.expect("a request").unwrap();
        assert!(count > 0, "it ended: {:?}", String::from_utf8_lossy(&heard));
        heard.extend_from_slice(&part[..count]);
    }
    far.write_all(answer).await.unwrap();
    far.shutdown().await.unwrap();
    // What is still to come, if anything is, until its end or reset: it has answered already.
    let mut part = [0; 4096];
    while let Ok(count @ 1..) = timeout(LONG, far.read(&mut part)).await.expect("an end") {
        heard.extend_from_slice(&part[..count]);
    }
    String::from_utf8(heard).unwrap()
}

#[tokio::test]
async fn plain_http_requests_reach_their_server_and_nothing_behind_them_does() {
    let server = TcpListener::bind(loopback()).await.unwrap();
    let address = server.local_addr().unwrap();
    let next = format!("GET http://{address}/secret HTTP/1.1\r\nCookie: x\r\n\r\n");
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
    for (carrier, optimism) in [
        (Carrier::Norm, Optimism::Known),
        (Carrier::Quic, Optimism::Known),
        (Carrier::Norm, Optimism::Always),
    ] {
        let change = |o: &mut NearOptions| (o.carrier, o.optimism) = (carrier, optimism);
        let both = both(&["127.0.0.1"], change).await;
        let http = both.near.listen(loopback(), Front::Http).await.unwrap();
        for (method, fields, body) in [
            ("GET", "", ""),
            ("POST", "Content-Length: 4\r\n", "ping"),
            ("PUT", "Transfer-Encoding: chunked\r\n", "4\r\nping\r\n0\r\n\r\n"),
        ] {
            let head = format!("{method} http://{address}/a?b HTTP/1.1\r\n{fields}\r\n");
            let mut tcp = TcpStream::connect(http).await.unwrap();
            // Some of the body comes with the head, the rest later, and then what is not its own.
            let (first, rest) = body.split_at(body.len().min(3));
            tcp.write_all(format!("{head}{first}").as_bytes()).await.unwrap();
            let written = async {
                tcp.write_all(format!("{rest}{next}").as_bytes()).await.unwrap();
                all(&mut tcp).await
            };
            let until = if body.is_empty() { "\r\n\r\n" } else { body };
            let (heard, answered) =
                tokio::join!(heard_and_answered(&server, until, answer), written);
            let expected = format!(
                "{method} /a?b HTTP/1.1\r\nHost: {address}\r\n{fields}Connection: close\r\n\r\n{body}"
            );
            assert_eq!((heard, answered), (expected, answer.to_vec()), "{carrier:?} {method}");
        }
        both.end().await;
    }
}

#[tokio::test]
async fn a_plain_http_request_hears_why_its_server_cannot_be_had() {
    for optimism in [Optimism::Known, Optimism::Always] {
        let both = both(&["127.0.0.1:1-1000"], |o| o.optimism = optimism).await;
        let http = both.near.listen(loopback(), Front::Http).await.unwrap();
        for (target, status, text) in [
            ("http://10.0.0.1/", "403", "no rule allows"),
            ("http://127.0.0.1:1/", "502", "refused the connection"),
            ("https://127.0.0.1:1/", "501", "CONNECT"),
            ("/", "400", "http_proxy"),
        ] {
            let mut tcp = TcpStream::connect(http).await.unwrap();
            tcp.write_all(format!("GET {target} HTTP/1.1\r\n\r\n").as_bytes()).await.unwrap();
            let answer = String::from_utf8(all(&mut tcp).await).unwrap();
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{target}: {answer}");
            assert!(answer.contains(text), "{target}: {answer}");
        }
        both.end().await;
    }
}

#[tokio::test]
async fn with_users_only_right_passwords_get_through() {
    let server = TcpListener::bind(loopback()).await.unwrap();
    let port = server.local_addr().unwrap().port();
    let line = Users::line("anna", b"secret", [3; 16]).unwrap();
    let both = both(&["127.0.0.1"], |o| o.users = Some(Users::parse(&line).unwrap())).await;
    for (password, answer) in [("secret", 0), ("wrong!", 1)] {
        let mut tcp = TcpStream::connect(both.socks).await.unwrap();
        let auth = [&b"\x05\x01\x02\x01\x04anna\x06"[..], password.as_bytes()].concat();
        tcp.write_all(&auth).await.unwrap();
        let mut said = [0; 4];
        tcp.read_exact(&mut said).await.unwrap();
        assert_eq!(said, [5, 2, 1, answer]);
        if answer == 0 {
            let [high, low] = port.to_be_bytes();
            tcp.write_all(&[5, 1, 0, 1, 127, 0, 0, 1, high, low]).await.unwrap();
            let mut reply = [0; 10];
            tcp.read_exact(&mut reply).await.unwrap();
            assert_eq!(reply[1], 0);
        } else {
            assert_eq!(tcp.read(&mut said).await.unwrap(), 0);
        }
    }
    both.end().await;
}

#[tokio::test]
async fn datagrams_are_relayed_and_fragments_and_strangers_are_not() {
    let echo = UdpSocket::bind(loopback()).await.unwrap();
    let port = echo.local_addr().unwrap().port();
    tokio::spawn(async move {
        let mut buffer = vec![0; 2000];
        while let Ok((len, from)) = echo.recv_from(&mut buffer).await {
            echo.send_to(&buffer[..len], from).await.unwrap();
        }
    });
    let both = both(&["127.0.0.1"], |_| {}).await;
    let mut control = TcpStream::connect(both.socks).await.unwrap();
    control.write_all(&[5, 1, 0, 5, 3, 0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
    let mut reply = [0; 12];
    control.read_exact(&mut reply).await.unwrap();
    assert_eq!(reply[..4], [5, 0, 5, 0]);
    let relay = SocketAddr::from(([127, 0, 0, 1], u16::from_be_bytes([reply[10], reply[11]])));
    let client = UdpSocket::bind(loopback()).await.unwrap();
    let [high, low] = port.to_be_bytes();
    let head = |fragment| [0, 0, fragment, 1, 127, 0, 0, 1, high, low];
    client.send_to(&[&head(0)[..], b"one"].concat(), relay).await.unwrap();
    let mut buffer = vec![0; 2000];
    let (len, _) = timeout(LONG, client.recv_from(&mut buffer)).await.expect("echo").unwrap();
    assert_eq!(&buffer[..len], [&head(0)[..], b"one"].concat());
    let stranger = UdpSocket::bind(loopback()).await.unwrap();
    stranger.send_to(&[&head(0)[..], b"foreign"].concat(), relay).await.unwrap();
    client.send_to(&[&head(1)[..], b"fragment"].concat(), relay).await.unwrap();
    client.send_to(&[&head(0)[..], &[7; 1800]].concat(), relay).await.unwrap();
    client.send_to(&[&head(0)[..], b"two"].concat(), relay).await.unwrap();
    let (len, _) = timeout(LONG, client.recv_from(&mut buffer)).await.expect("echo").unwrap();
    assert_eq!(&buffer[..len], [&head(0)[..], b"two"].concat());
    both.end().await;
}

#[tokio::test]
async fn a_reader_that_reads_nothing_does_not_hold_up_others() {
    for carrier in [Carrier::Quic, Carrier::Norm] {
        slow_reader(carrier).await;
    }
}

async fn slow_reader(carrier: Carrier) {
    let server = TcpListener::bind(loopback()).await.unwrap();
    let address = server.local_addr().unwrap();
    let both = both(&["127.0.0.1"], |o| o.carrier = carrier).await;
    // More than all buffers on the way hold.
    tokio::spawn(async move {
        loop {
            let (mut tcp, _) = server.accept().await.unwrap();
            tokio::spawn(async move { tcp.write_all(&pattern(40_000_000)).await });
        }
    });
    let (slow, code) = both.ask(address).await;
    assert_eq!(code, 0);
    let (mut quick, _) = both.ask(address).await;
    assert_eq!(all(&mut quick).await.len(), 40_000_000);
    drop(slow);
    both.end().await;
}

#[tokio::test]
async fn a_peer_that_is_gone_is_told_with_code_1_and_falls_back_only_when_that_was_asked_for() {
    let server = TcpListener::bind(loopback()).await.unwrap();
    let address = server.local_addr().unwrap();
    let gone = both(&["127.0.0.1"], |o| o.wait_link = Duration::from_millis(50)).await;
    gone.far_node.close().await;
    assert_eq!(gone.ask(address).await.1, 1);
    gone.end().await;
    let (told, events) = listener();
    let direct = both(&["127.0.0.1"], |o| {
        o.wait_link = Duration::from_millis(50);
        o.fallback = fanfare_link::proxy::Fallback::Direct;
        o.listener = told;
    });
    let direct = direct.await;
    direct.far_node.close().await;
    // Loopback is not reached directly either: a client of another machine may ask.
    assert_eq!(direct.ask(address).await.1, 2);
    let fallen = |event: &Event| matches!(event, Event::Fallback { .. });
    assert!(events.lock().unwrap().iter().any(fallen));
    direct.end().await;
}

#[tokio::test]
async fn requests_of_a_peer_beyond_its_burst_are_refused() {
    // However slow this machine is, no more comes meanwhile.
    let rate = Rate { each_second: 0.01, burst: 100.0 };
    let both = both_changed(&["127.0.0.1:1"], |_| {}, |far| far.rate = rate).await;
    let mut codes = Vec::new();
    for _ in 0..110 {
        codes.push(both.ask("127.0.0.1:1".parse().unwrap()).await.1);
    }
    assert!(codes[..100].iter().all(|code| *code == 5), "{codes:?}");
    assert!(codes[100..].iter().all(|code| *code == 1), "{codes:?}");
    both.end().await;
}
