//! The socket at the node: two threads for each client, one that hands out what comes.
//!
//! `members`: who is told who comes and goes

mod members;

use std::{
    collections::BTreeMap,
    fs, io,
    io::{BufRead, BufReader, Write},
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use fanfare_udp::os::local::{UnixListener, UnixStream, is_socket, restrict};

use crate::json::{
    Cancelled, GatewayLine, Line, Published, Subscribed, Unsubscribed, WayLine, tag_text,
};
use fanfare_node::{
    gateway::Ear,
    group::{Gap, Gate, GroupError, GroupHandle, Message, Watch},
    messaging::{Options, Subscription, SubscriptionId, description::PRIORITY_DEFAULT},
};

use super::{
    mailbox::{self, Delivery, Mailbox, mailbox},
    request::{LINE_MAX, Request},
    requests::{self, Content, End, Requests, quoted},
    subscription::subscription_of,
    topics,
};
use crate::{Exit, Failure, units};

/// Clients at once.
const CLIENTS_MAX: usize = 256;
/// Subscriptions of a client: each is asked of every message, and some of each may wait.
const SUBSCRIPTIONS_MAX: usize = 256;
/// Its user and its group may speak to the node.
const MODE: u32 = 0o660;

/// Who wants what comes by a subscription.
#[derive(Debug, Clone)]
enum Subscriber {
    /// Whose messages go there; long content follows its line where that is so.
    Client(Mailbox, bool),
    /// A gateway of this node.
    Gateway(Ear),
}

/// A subscription: the place of its group among the node's, and its number there.
type Key = (usize, SubscriptionId);
type Subscribers = BTreeMap<Key, Subscriber>;

/// What its thread knows of a client.
struct Client {
    mailbox: Mailbox,
    /// For each group of the node: how many of its messages are in the mailbox at once.
    gates: BTreeMap<usize, Gate>,
    subscriptions: Vec<Key>,
}

/// A group of the node, for clients.
#[derive(Debug)]
pub struct Served {
    /// What it is called, where the node has several.
    pub name: Option<String>,
    /// The group itself.
    pub group: GroupHandle,
}

/// What all clients share.
#[derive(Debug)]
pub struct Server {
    groups: Vec<Served>,
    /// Held while one is added: its first messages may come before its number is known.
    subscribers: Mutex<Subscribers>,
    /// Who wants to know who comes and goes in a group, each once.
    watchers: Mutex<Vec<(usize, Mailbox)>>,
    /// What the node's gateways have carried, as far as they have said.
    gateways: Mutex<Vec<GatewayLine>>,
    clients: AtomicUsize,
}

impl Server {
    /// Listens at `path`. A socket that nobody listens at any more gives way.
    pub fn listen(path: &Path, groups: Vec<Served>) -> Result<Arc<Self>, Failure> {
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
        let (mailbox, letters) = mailbox();
        let writer = std::thread::spawn(move || letters.write_to(&writing));
        let mut client = Client { mailbox, gates: BTreeMap::new(), subscriptions: Vec::new() };
        let mut requests = Requests::of(BufReader::new(reading));
        while client.mailbox.reserve() {
            match requests.next() {
                Ok(line) => {
                    let request = read(&line);
                    let content = self.content(&request, &mut requests);
                    let Ok(content) = content else { break };
                    match request.and_then(|request| self.answer(request, content, &mut client)) {
                        Ok(answer) => {
                            answer.into_iter().for_each(|line| client.mailbox.answer(line));
                        }
                        Err(failure) => client.mailbox.answer(error_line(&failure)),
                    }
                }
                Err(End::TooLong) => {
                    client.mailbox.answer(error_line(&too_long()));
                    break;
                }
                Err(End::Gone) => break,
            }
        }
        for (place, id) in std::mem::take(&mut client.subscriptions) {
            self.subscribers().remove(&(place, id));
            // When the node has ended, so have its subscriptions.
            let _ = self.groups[place].group.unsubscribe(id);
        }
        self.stop_watching(&client.mailbox);
        drop(client);
        let _ = writer.join();
    }

    fn subscribers(&self) -> MutexGuard<'_, Subscribers> {
        self.subscribers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes that follow a request, where some do.
    fn content(
        &self,
        request: &Result<Request, Failure>,
        requests: &mut Requests<impl BufRead>,
    ) -> Result<Option<Content>, End> {
        let Ok(Request::Publish { bytes: Some(bytes), within, .. }) = request else {
            return Ok(None);
        };
        // Of what will be refused for its group nothing is taken.
        let place = self.place(within.as_deref()).ok();
        let max = place.map_or(0, |place| self.groups[place].group.message_max());
        requests.content(*bytes, max).map(Some)
    }

    /// What is said to a request; `None` when that is said already.
    fn answer(
        &self,
        request: Request,
        content: Option<Content>,
        client: &mut Client,
    ) -> Result<Option<String>, Failure> {
        match request {
            Request::Publish { .. } => self.publish(request, content).map(Some),
            Request::Subscribe { ref within, raw, .. } => {
                let place = self.place(within.as_deref())?;
                let (filter, subscription) = subscription_of(request)?;
                if client.subscriptions.len() >= SUBSCRIPTIONS_MAX {
                    return Err(too_many_subscriptions());
                }
                let group = &self.groups[place].group;
                let gate = client.gates.entry(place).or_insert_with(|| group.gate());
                let mut subscribers = self.subscribers();
                let id = self.taken(place, group.subscribe_through(subscription, gate))?;
                let subscriber = Subscriber::Client(client.mailbox.clone(), raw);
                subscribers.insert((place, id), subscriber);
                client.subscriptions.push((place, id));
                // Before its first message: that waits for the lock.
                let told = Line::Subscribed(Subscribed { filter, subscription: id.0 });
                client.mailbox.answer(self.text(place, &told));
                Ok(None)
            }
            Request::Unsubscribe { subscription, within } => {
                let key = (self.place(within.as_deref())?, SubscriptionId(subscription));
                self.unsubscribe(key, &mut client.subscriptions).map(Some)
            }
            Request::Cancel { tag, within } => {
                self.cancel(self.place(within.as_deref())?, tag).map(Some)
            }
            Request::Members { within } => {
                self.watch(self.place(within.as_deref())?, &client.mailbox)?;
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
        mailbox::text(self.groups[place].name.as_deref(), line)
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
        let gateways = self.gateways_in(name.as_deref());
        Ok(self.text(
            place,
            &Line::status(&self.taken(place, group.status())?, (names.collect(), gateways)),
        ))
    }

    /// The gateways into and out of a group.
    fn gateways_in(&self, name: Option<&str>) -> Vec<GatewayLine> {
        let gateways = self.gateways.lock().unwrap_or_else(PoisonError::into_inner);
        let is_in = |gateway: &&GatewayLine| {
            name.is_some_and(|name| gateway.groups.iter().any(|group| group == name))
        };
        gateways.iter().filter(is_in).cloned().collect()
    }

    /// Counters of the node's gateways into a group and out of it, by its place.
    #[must_use]
    pub fn ways(&self, place: usize) -> Vec<WayLine> {
        let name = self.groups.get(place).and_then(|served| served.name.as_deref());
        let ways = self.gateways_in(name).into_iter().flat_map(|gateway| gateway.ways);
        let is_end = |way: &WayLine| name.is_some_and(|name| way.from == name || way.to == name);
        ways.filter(is_end).collect()
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
    pub fn set_gateway(&self, line: &GatewayLine) {
        let mut gateways = self.gateways.lock().unwrap_or_else(PoisonError::into_inner);
        match gateways.iter_mut().find(|known| known.groups == line.groups) {
            Some(known) => known.clone_from(line),
            None => gateways.push(line.clone()),
        }
    }

    /// Subscribes for a gateway.
    pub fn attach(
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

    fn publish(&self, request: Request, content: Option<Content>) -> Result<String, Failure> {
        let Request::Publish {
            topic, text, hex, priority, expiry_ms, tag, replace, within, ..
        } = request
        else {
            return Ok(String::new());
        };
        let place = self.place(within.as_deref())?;
        if expiry_ms == Some(0) {
            return Err(units::no_expiry("0 ms"));
        }
        if replace && tag.is_none() {
            let text = "replace (true): there is no tag by which it replaces. Give a tag, too";
            return Err(Failure::usage("request.invalid", text));
        }
        let options = Options {
            priority: topics::priority(priority.unwrap_or(PRIORITY_DEFAULT))?,
            expiry: expiry_ms.map(Duration::from_millis),
            tag,
            replaces: replace,
            ..Options::default()
        };
        let parsed = topics::topic(&topic)?;
        let body = requests::body_of(text, hex, content)?;
        let size = body.len();
        let published = self.groups[place].group.publish(parsed, body, options, Watch::Pace);
        let key = self.taken(place, published)?;
        Ok(self.text(
            place,
            &Line::Published(Published { topic, id: key.object.0, size, messages: None }),
        ))
    }

    /// A message of a group, for whoever subscribed so.
    pub fn hand_out(&self, place: usize, message: Box<Message>) {
        let within = self.groups[place].name.clone();
        match self.subscriber(place, message.subscription) {
            Some(Subscriber::Client(mailbox, raw)) => {
                mailbox.deliver(Delivery { within, raw, message });
            }
            Some(Subscriber::Gateway(ear)) => ear.hear(message),
            None => {}
        }
    }

    /// Messages of a group were gone before their turn: told to who subscribed so. False when that is no
    /// client.
    pub fn tell_gap(&self, place: usize, gap: &Gap) -> bool {
        let subscriber = self.subscriber(place, gap.subscription);
        let Some(Subscriber::Client(mailbox, _)) = subscriber else { return false };
        mailbox.tell_gap(self.groups[place].name.clone(), gap.clone());
        true
    }

    fn subscriber(&self, place: usize, id: SubscriptionId) -> Option<Subscriber> {
        self.subscribers().get(&(place, id)).cloned()
    }
}

/// Takes the name of the socket at `path` away: who comes now finds nobody.
pub fn close(path: &Path) {
    let _ = fs::remove_file(path);
}

fn bind(path: &Path) -> Result<UnixListener, Failure> {
    if is_socket(path) {
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
    restrict(path, MODE).map_err(|error| refused(path, &error))?;
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

fn read(line: &str) -> Result<Request, Failure> {
    serde_json::from_str(line).map_err(|error| {
        let text = format!("request ({}): {error}. See docs/reference/node.md", quoted(line));
        Failure::usage("request.invalid", text)
    })
}

fn too_long() -> Failure {
    let text = format!(
        "request (more than {LINE_MAX} bytes): is longer than a line may be, and the connection ends. \
         Let long content follow its line, with \"bytes\""
    );
    Failure::usage("request.too_long", text)
}

fn too_many_subscriptions() -> Failure {
    let text = format!(
        "subscriptions ({SUBSCRIPTIONS_MAX}): a connection has no more. End some, or use patterns that match \
         more"
    );
    Failure::new(Exit::Resource, "subscriptions.full", text)
}

fn error_line(failure: &Failure) -> String {
    Line::Error(Line::message(failure.code, failure.to_string())).to_text()
}
