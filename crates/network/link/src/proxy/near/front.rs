//! What a client says, until it is known where it wants to go.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::spawn_blocking,
    time::timeout,
};

use super::{Front, Near};
use crate::proxy::{
    code::Code,
    destination::Destination,
    event::Event,
    http_connect,
    http_forward::RequestBody,
    relay::drain,
    socks5::{self, Handshake, Request, Step},
};

/// A client says within this time where it wants to go.
const PATIENCE: Duration = Duration::from_secs(10);
const CHUNK: usize = 1024;

/// How a client is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Socks,
    Http,
    /// A plain request: what it hears is its server's answer.
    HttpRequest,
    Silent,
}

impl Style {
    pub(super) fn reply(self, code: Code, bound: Option<SocketAddr>) -> Vec<u8> {
        match self {
            Self::Socks => socks5::reply(code, bound),
            Self::Http => http_connect::reply(code).into_bytes(),
            Self::HttpRequest => http_connect::reply_to_request(code).into_bytes(),
            Self::Silent => Vec::new(),
        }
    }
}

/// What was asked for, and what is said to the other end.
type Wanted = (Request, FromClient);

/// What a client says to the other end.
#[derive(Debug, Default)]
pub(super) struct FromClient {
    /// What it has said already.
    pub(super) first: Vec<u8>,
    /// Where it ends; none: where the client ends it.
    pub(super) body: Option<RequestBody>,
    /// Something has come behind its end.
    pub(super) is_passed: bool,
}

impl Near {
    pub(super) async fn serve(
        self: Arc<Self>,
        mut tcp: TcpStream,
        client: SocketAddr,
        front: Front,
    ) {
        let (asked, style) = match front {
            Front::Forward(to) => {
                (Ok(Some((Request::Connect(to), FromClient::default()))), Style::Silent)
            }
            Front::Transparent => {
                // Its local address is where the client meant to connect to.
                let to = tcp.local_addr().ok().map(Destination::from);
                let wanted = to.map(|to| (Request::Connect(to), FromClient::default()));
                (Ok(wanted), Style::Silent)
            }
            Front::Socks => (timeout(PATIENCE, self.socks(&mut tcp)).await, Style::Socks),
            Front::Http => (timeout(PATIENCE, self.http(&mut tcp)).await, Style::Http),
        };
        match asked {
            Ok(Some((Request::Connect(to), said))) => {
                let style = match said.body {
                    Some(_) => Style::HttpRequest,
                    None => style,
                };
                self.connect(tcp, client, to, said, style).await;
            }
            Ok(Some((Request::Associate(from), _))) => self.associate(tcp, client, from).await,
            Ok(None) => self.refuse(client, "bad_request"),
            Err(_) => self.refuse(client, "too_slow"),
        }
    }

    fn refuse(&self, client: SocketAddr, reason: &'static str) {
        self.options.listener.tell(Event::Refused { client, reason });
    }

    async fn socks(&self, tcp: &mut TcpStream) -> Option<Wanted> {
        let mut handshake = Handshake::new(self.options.users.is_some());
        let mut next = None;
        loop {
            match next.take().unwrap_or_else(|| handshake.step()) {
                Step::More => {
                    let mut bytes = Vec::with_capacity(CHUNK);
                    if tcp.read_buf(&mut bytes).await.ok()? == 0 {
                        return None;
                    }
                    handshake.on_bytes(&bytes);
                }
                Step::Answer(answer) => tcp.write_all(&answer).await.ok()?,
                Step::Check { user, password } => {
                    next = Some(handshake.on_checked(self.check(user, password).await));
                }
                Step::Ask(request) => {
                    let first = handshake.into_rest();
                    let said = FromClient { first, ..FromClient::default() };
                    return Some((request, said));
                }
                Step::Close(answer) => {
                    say_good_bye(tcp, &answer).await;
                    return None;
                }
            }
        }
    }

    async fn check(&self, user: Vec<u8>, password: Vec<u8>) -> bool {
        let Some(users) = self.options.users.clone() else { return false };
        // It takes some 20 ms of processor.
        spawn_blocking(move || users.check(&user, &password)).await.unwrap_or(false)
    }

    async fn http(&self, tcp: &mut TcpStream) -> Option<Wanted> {
        let mut bytes = Vec::new();
        loop {
            match http_connect::read(&bytes) {
                http_connect::Step::More => {
                    bytes.reserve(CHUNK);
                    if tcp.read_buf(&mut bytes).await.ok()? == 0 {
                        return None;
                    }
                }
                http_connect::Step::Close(answer) => {
                    say_good_bye(tcp, answer.as_bytes()).await;
                    return None;
                }
                http_connect::Step::Connect { destination, credentials, head } => {
                    self.admit(tcp, credentials).await?;
                    let first = bytes.split_off(head);
                    let said = FromClient { first, ..FromClient::default() };
                    return Some((Request::Connect(destination), said));
                }
                http_connect::Step::Forward { request, credentials, head } => {
                    self.admit(tcp, credentials).await?;
                    let (mut first, mut body) = (request.head, request.body);
                    let part = body.take(&bytes[head..]);
                    first.extend_from_slice(&bytes[head..head + part]);
                    let is_passed = head + part < bytes.len();
                    let said = FromClient { first, body: Some(body), is_passed };
                    return Some((Request::Connect(request.destination), said));
                }
            }
        }
    }

    /// Asks a client for its password that has not given the right one, where there are users.
    async fn admit(&self, tcp: &mut TcpStream, credentials: Option<String>) -> Option<()> {
        if self.options.users.is_some() && !self.knows(credentials).await {
            say_good_bye(tcp, http_connect::ask_password().as_bytes()).await;
            return None;
        }
        Some(())
    }

    async fn knows(&self, credentials: Option<String>) -> bool {
        let known = credentials.as_deref().and_then(http_connect::user_and_password);
        match known {
            Some((user, password)) => self.check(user, password).await,
            None => false,
        }
    }

    /// Answers a client whose connection could not be had.
    pub(super) async fn turn_down(&self, tcp: &mut TcpStream, style: Style, code: Code) {
        say_good_bye(tcp, &style.reply(code, None)).await;
    }
}

/// Says it, and leaves the client time to read it: closing with unread bytes would reset.
async fn say_good_bye(tcp: &mut TcpStream, answer: &[u8]) {
    if tcp.write_all(answer).await.is_err() || tcp.shutdown().await.is_err() {
        return;
    }
    drain(tcp).await;
}
