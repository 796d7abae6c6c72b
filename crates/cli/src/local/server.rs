//! The socket at the node: a thread for each client, one that hands out what comes.
//!
//! `members`: who is told who comes and goes

mod members;

use std::{
    collections::BTreeMap,
    fs, io,
    io::{BufRead, BufReader, Read, Write},
    net::Shutdown,
    os::unix::{
        fs::{FileTypeExt, PermissionsExt},
        net::{UnixListener, UnixStream},
    },
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    time::Duration,
};

use fanfare_node::{
    gateway::Ear,
    group::{Body, GroupError, GroupHandle, Message},
    messaging::{Options, Subscription, SubscriptionId, description::PRIORITY_DEFAULT},
};

use super::{LINE_MAX, MESSAGE_MAX, Request, unhex};
use crate::{
    exit::{Exit, Failure},
    group_args,
    json::{
        Cancelled, GatewayLine, Line, Published, StreamLine, Subscribed, Unsubscribed, tag_text,
    },
    subscribe::{self, message_line},
    units,
};

/// Clients at once.
const CLIENTS_MAX: usize = 256;
/// Lines that wait for a client; one that is slower is let go.
const LINES_MAX: usize = 1024;
/// Subscriptions of a client: each is asked of every message.
const SUBSCRIPTIONS_MAX: usize = 1024;
/// Of a request that is wrong, as much is told again.
const QUOTED_MAX: usize = 60;
/// Its user and its group may speak to the node.
const MODE: u32 = 0o660;

/// One client's connection.
#[derive(Debug)]
struct Client {
    lines: SyncSender<String>,
    stream: UnixStream,
}

impl Client {
    /// Gives it a line, or lets it go: who reads too slowly must not hold up others.
    fn tell(&self, line: String) {
        if self.lines.try_send(line).is_err() {
            // Its thread sees the end, and cleans up.
            let _ = self.stream.shutdown(Shutdown::Both);
        }
    }
}

/// Who wants what comes by a subscription.
#[derive(Debug, Clone)]
enum Subscriber {
    Client(Arc<Client>),
    /// A gateway of this node.
    Gateway(Ear),
}

/// A subscription: the place of its group among the node's, and its number there.
type Key = (usize, SubscriptionId);
type Subscribers = BTreeMap<Key, Subscriber>;

/// A group of the node, for clients.
#[derive(Debug)]
pub(crate) struct Served {
    /// What it is called, where the node has several.
    pub(crate) name: Option<String>,
    pub(crate) group: GroupHandle,
}

/// What all clients share.
#[derive(Debug)]
pub(crate) struct Server {
    groups: Vec<Served>,
    /// Held while one is added: its first messages may come before its number is known.
    subscribers: Mutex<Subscribers>,
    /// Who wants to know who comes and goes in a group, each once.
    watchers: Mutex<Vec<(usize, Arc<Client>)>>,
    /// What the node's gateways have carried, as far as they have said.
    gateways: Mutex<Vec<GatewayLine>>,
    clients: AtomicUsize,
}

impl Server {
    /// Listens at `path`. A socket that nobody listens at any more gives way.
    pub(crate) fn listen(path: &Path, groups: Vec<Served>) -> Result<Arc<Self>, Failure> {
        let listener = bind(path)?;
        let server = Arc::new(Self {
            groups,
            subscribers: Mutex::default(),
            watchers: Mutex::default(),
            gateways: Mutex::default(),
            clients: AtomicUsize::new(0),
        });
        let accepting = server.clone();
        std::thread::Builder::new()
            .name("fanfare-socket".into())
            .spawn(move || accepting.accept(&listener))
            .map_err(|error| refused(path, &error))?;
        Ok(server)
    }

    fn accept(self: Arc<Self>, listener: &UnixListener) {
        for client in listener.incoming() {
            // Out of descriptors, perhaps: others may leave.
            let Ok(client) = client else {
                std::thread::park_timeout(Duration::from_millis(100));
                continue;
            };
            if self.clients.fetch_add(1, Ordering::Relaxed) >= CLIENTS_MAX {
                self.clients.fetch_sub(1, Ordering::Relaxed);
                let full = Failure::new(
                    Exit::Resource,
                    "socket.full",
                    format!("clients ({CLIENTS_MAX}): more than this node takes. Try again later"),
                );
                let _ = writeln!(&client, "{}", error_line(&full));
                continue;
            }
            let server = self.clone();
            let thread = std::thread::Builder::new().name("fanfare-client".into());
            let begun = thread.spawn(move || {
                server.serve(client);
                server.clients.fetch_sub(1, Ordering::Relaxed);
            });
            if begun.is_err() {
                self.clients.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    fn serve(&self, stream: UnixStream) {
        let (Ok(reading), Ok(writing)) = (stream.try_clone(), stream.try_clone()) else { return };
        let (lines, waiting) = sync_channel(LINES_MAX);
        let writer = std::thread::spawn(move || write_lines(writing, &waiting));
        let client = Arc::new(Client { lines, stream });
        let mut subscriptions = Vec::new();
        let mut requests = BufReader::new(reading);
        while let Some(request) = next_line(&mut requests) {
            match self.answer(&request, &client, &mut subscriptions) {
                Ok(answer) => answer.into_iter().for_each(|line| client.tell(line)),
                Err(failure) => client.tell(error_line(&failure)),
            }
        }
        for (place, id) in subscriptions {
            self.subscribers().remove(&(place, id));
            // When the node has ended, so have its subscriptions.
            let _ = self.groups[place].group.unsubscribe(id);
        }
        self.stop_watching(&client);
        drop(client);
        let _ = writer.join();
    }

    fn subscribers(&self) -> MutexGuard<'_, Subscribers> {
        self.subscribers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(
        &self,
        request: &str,
        client: &Arc<Client>,
        subscriptions: &mut Vec<Key>,
    ) -> Result<Option<String>, Failure> {
        let request = serde_json::from_str(request).map_err(|error| {
            let text = format!("request ({}): {error}. See docs/node.md", quoted(request));
            Failure::usage("request.invalid", text)
        })?;
        match request {
            Request::Publish { .. } => self.publish(request).map(Some),
            Request::Subscribe { ref within, .. } => {
                let place = self.place(within.as_deref())?;
                if subscriptions.len() >= SUBSCRIPTIONS_MAX {
                    return Err(too_many_subscriptions());
                }
                let (filter, subscription) = subscribe::subscription_of(request)?;
                let mut subscribers = self.subscribers();
                let id = self.taken(place, self.groups[place].group.subscribe(subscription))?;
                subscribers.insert((place, id), Subscriber::Client(client.clone()));
                subscriptions.push((place, id));
                // Before its first message: that waits for the lock.
                let told = Line::Subscribed(Subscribed { filter, subscription: id.0 });
                client.tell(self.text(place, &told));
                Ok(None)
            }
            Request::Unsubscribe { subscription, within } => {
                let key = (self.place(within.as_deref())?, SubscriptionId(subscription));
                self.unsubscribe(key, subscriptions).map(Some)
            }
            Request::Cancel { tag, within } => {
                self.cancel(self.place(within.as_deref())?, tag).map(Some)
            }
            Request::Members { within } => {
                self.watch(self.place(within.as_deref())?, client)?;
                Ok(None)
            }
            Request::Status { within } => self.status(self.place(within.as_deref())?).map(Some),
        }
    }

    /// Which group is meant.
    fn place(&self, within: Option<&str>) -> Result<usize, Failure> {
        let Some(wanted) = within else { return Ok(0) };
        let names = || self.groups.iter().filter_map(|served| served.name.as_deref());
        names().position(|name| name == wanted).ok_or_else(|| {
            let known: Vec<&str> = names().collect();
            let known = match known[..] {
                [] => String::from("Its only group has no name: leave it out"),
                _ => format!("There are: {}", known.join(", ")),
            };
            let text = format!("in ({wanted}): this node has no group of that name. {known}");
            Failure::usage("group.unknown", text)
        })
    }

    /// A line about one of the groups, with its name where it has one.
    fn text(&self, place: usize, line: &Line) -> String {
        match &self.groups[place].name {
            Some(name) => StreamLine::within(line, name).to_text(),
            None => line.to_text(),
        }
    }

    /// What a group says, or why not, with its name.
    fn taken<T>(&self, place: usize, answer: Result<T, GroupError>) -> Result<T, Failure> {
        answer.map_err(|error| match &self.groups[place].name {
            Some(name) => Failure::from(error).of_group(name),
            None => error.into(),
        })
    }

    fn status(&self, place: usize) -> Result<String, Failure> {
        let Served { name, group } = &self.groups[place];
        let names = self.groups.iter().filter_map(|served| served.name.clone());
        let gateways = self.gateways.lock().unwrap_or_else(PoisonError::into_inner);
        let is_in =
            |gateway: &&GatewayLine| name.as_ref().is_some_and(|n| gateway.groups.contains(n));
        let gateways = gateways.iter().filter(is_in).cloned().collect();
        Ok(self.text(
            place,
            &Line::status(&self.taken(place, group.status())?, (names.collect(), gateways)),
        ))
    }

    fn unsubscribe(&self, key: Key, subscriptions: &mut Vec<Key>) -> Result<String, Failure> {
        let (place, id) = key;
        let Some(at) = subscriptions.iter().position(|own| *own == key) else {
            let text = format!(
                "subscription ({}): is none of this connection. Give the number that the answer had",
                id.0
            );
            return Err(Failure::usage("request.invalid", text));
        };
        subscriptions.swap_remove(at);
        self.subscribers().remove(&key);
        self.taken(place, self.groups[place].group.unsubscribe(id))?;
        Ok(self.text(place, &Line::Unsubscribed(Unsubscribed { subscription: id.0 })))
    }

    fn cancel(&self, place: usize, tag: u64) -> Result<String, Failure> {
        let messages = self.taken(place, self.groups[place].group.cancel(tag))? as u64;
        let line = Line::Cancelled(Cancelled { tag, tag_text: tag_text(tag), messages });
        Ok(self.text(place, &line))
    }

    /// What one of the node's gateways has carried by now.
    pub(crate) fn set_gateway(&self, line: &GatewayLine) {
        let mut gateways = self.gateways.lock().unwrap_or_else(PoisonError::into_inner);
        match gateways.iter_mut().find(|known| known.groups == line.groups) {
            Some(known) => known.clone_from(line),
            None => gateways.push(line.clone()),
        }
    }

    /// Subscribes for a gateway.
    pub(crate) fn attach(
        &self,
        place: usize,
        subscription: Subscription,
        ear: Ear,
    ) -> Result<(), Failure> {
        let mut subscribers = self.subscribers();
        let id = self.taken(place, self.groups[place].group.subscribe(subscription))?;
        subscribers.insert((place, id), Subscriber::Gateway(ear));
        Ok(())
    }

    fn publish(&self, request: Request) -> Result<String, Failure> {
        let Request::Publish { topic, text, hex, priority, expiry_ms, tag, replace, within } =
            request
        else {
            return Ok(String::new());
        };
        let place = self.place(within.as_deref())?;
        let bytes = match (text, hex) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(hex)) => unhex(&hex).ok_or_else(|| {
                let text = format!(
                    "hex ({}): has no even number of hexadecimal digits. Write two for each byte",
                    quoted(&hex)
                );
                Failure::usage("request.invalid", text)
            })?,
            (text, _) => {
                let given = if text.is_some() { "text and hex" } else { "neither text nor hex" };
                let text = format!("message ({given}): has not one content. Give one of the two");
                return Err(Failure::usage("request.invalid", text));
            }
        };
        if expiry_ms == Some(0) {
            return Err(units::no_expiry("0 ms"));
        }
        if replace && tag.is_none() {
            let text = "replace (true): there is no tag by which it replaces. Give a tag, too";
            return Err(Failure::usage("request.invalid", text));
        }
        let options = Options {
            priority: group_args::priority(priority.unwrap_or(PRIORITY_DEFAULT))?,
            expiry: expiry_ms.map(Duration::from_millis),
            tag,
            replaces: replace,
            ..Options::default()
        };
        let size = bytes.len() as u64;
        let (parsed, body) = (group_args::topic(&topic)?, Body::new(bytes));
        let published = self.groups[place].group.publish(parsed, body, options, false);
        let key = self.taken(place, published)?;
        Ok(self.text(place, &Line::Published(Published { topic, id: key.object.0, size })))
    }

    /// A message of a group, for whoever subscribed so.
    pub(crate) fn hand_out(&self, place: usize, message: Box<Message>) {
        let subscriber = self.subscribers().get(&(place, message.subscription)).cloned();
        match subscriber {
            Some(Subscriber::Client(client)) => {
                let line = Line::Message(message_line(&message, MESSAGE_MAX, None));
                client.tell(self.text(place, &line));
            }
            Some(Subscriber::Gateway(ear)) => ear.hear(message),
            None => {}
        }
    }
}

/// Takes the name of the socket at `path` away: who comes now finds nobody.
pub(crate) fn close(path: &Path) {
    let _ = fs::remove_file(path);
}

fn bind(path: &Path) -> Result<UnixListener, Failure> {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    if is_socket {
        if UnixStream::connect(path).is_ok() {
            let text = format!(
                "socket ({}): another node listens there. Stop it, or give another --socket",
                path.display()
            );
            return Err(Failure::new(Exit::Resource, "socket.in_use", text));
        }
        close(path);
    }
    let listener = UnixListener::bind(path).map_err(|error| refused(path, &error))?;
    fs::set_permissions(path, fs::Permissions::from_mode(MODE))
        .map_err(|error| refused(path, &error))?;
    Ok(listener)
}

fn refused(path: &Path, error: &io::Error) -> Failure {
    let exit = match error.kind() {
        io::ErrorKind::PermissionDenied => Exit::Permission,
        _ => Exit::Resource,
    };
    let text = format!(
        "socket ({}): cannot be made ({error}). Give a --socket in a directory that this user can \
         write to",
        path.display()
    );
    Failure::new(exit, "socket.refused", text)
}

/// The next request; `None` at the end, or when a line is longer than any request.
fn next_line(requests: &mut BufReader<UnixStream>) -> Option<String> {
    let mut line = Vec::new();
    let read = requests.by_ref().take(LINE_MAX).read_until(b'\n', &mut line).ok()?;
    let whole = line.pop() == Some(b'\n');
    (read > 0 && whole).then(|| String::from_utf8_lossy(&line).into_owned())
}

fn write_lines(mut stream: UnixStream, lines: &Receiver<String>) {
    for line in lines {
        if writeln!(stream, "{line}").is_err() {
            return;
        }
    }
}

fn too_many_subscriptions() -> Failure {
    let text = format!(
        "subscriptions ({SUBSCRIPTIONS_MAX}): a connection has no more. End some, or use patterns that match \
         more"
    );
    Failure::new(Exit::Resource, "subscriptions.full", text)
}

/// The beginning of what a client wrote.
fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn error_line(failure: &Failure) -> String {
    Line::Error(Line::message(failure.code, failure.to_string())).to_text()
}
