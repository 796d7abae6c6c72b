//! The node at work: its groups, a thread for what each tells, and one for each gateway between them.

use std::{
    path::Path,
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    thread::{self, Scope, ScopedJoinHandle},
    time::{Duration, Instant},
};

use fanfare_command::config::{GatewayPlan, gateway_options};
use fanfare_command::json::{GatewayLine, Line, Sent};
use fanfare_command::local::server::{self, Served, Server};
use fanfare_node::{
    gateway::{Ear, Gateway, GatewayEvent},
    group::{Group, GroupEvent, GroupEvents, GroupHandle},
    messaging::{GroupIndex, Subscription},
    proto::Time,
};

use super::plan::{GroupPlan, NodePlan, clashes, same};
use crate::{
    bridge::metrics::CrossingMetrics,
    group::{
        drop_notice::DropNotice,
        events,
        gateway::{self, GatewayReporter},
    },
    monitor::ask::Answers,
    monitoring::{self, MonitorPlan},
};
use fanfare_command::{Exit, Failure, Output, OutputArgs, interrupt};
use fanfare_monitor::group::GroupPage;

/// How often a gateway says how far it is; all else comes at once.
const POLL: Duration = Duration::from_millis(500);

/// One of its groups.
struct Member {
    /// Where there are several.
    name: Option<String>,
    group: Group,
    monitor: Option<MonitorPlan>,
    output: Output,
}

impl Member {
    fn name(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.group.address().to_string())
    }
}

/// A gateway, and what its sides are called.
struct Carrier {
    gateway: Gateway,
    names: Vec<String>,
}

impl Carrier {
    fn line(&self) -> GatewayLine {
        gateway::line(&self.gateway, &self.names, 0)
    }
}

/// Runs until Ctrl-C.
pub(crate) fn run(plan: NodePlan, output: &Output) -> Exit {
    serve(plan, output).unwrap_or_else(|failure| fanfare_command::give_up(output, &failure))
}

fn serve(plan: NodePlan, output: &Output) -> Result<Exit, Failure> {
    let NodePlan { socket, groups, gateways, output: shown } = plan;
    let socket = socket.to_be_made();
    let mut members = join_all(groups, &gateways, shown)?;
    let monitors = members.iter_mut().filter_map(|member| {
        let name = member.name();
        Some((name, member.monitor.as_mut()?))
    });
    monitoring::keep_apart(monitors);
    let events = members.iter_mut().filter_map(|member| member.group.take_events());
    let events: Vec<GroupEvents> = events.collect();
    let served =
        |member: &Member| Served { name: member.name.clone(), group: member.group.handle() };
    let server = Server::listen(&socket, members.iter().map(served).collect())?;
    let watched = members.iter().enumerate().filter_map(|(place, member)| {
        let server = server.clone();
        let ways = move || server.ways(place);
        let plan = member.monitor.as_ref()?;
        Some(monitoring::open(plan, &member.group, &member.output, ways))
    });
    let pages = watched.collect::<Result<Vec<GroupPage>, Failure>>();
    let pages = pages.inspect_err(|_| server::close(&socket))?;
    let result = thread::scope(|scope| {
        // All are followed before anybody subscribes: what is kept comes at once.
        let followed = members.iter().zip(events).enumerate();
        let followed: Vec<ScopedJoinHandle<'_, ()>> = followed
            .map(|(place, (member, events))| {
                let (server, output) = (&server, &member.output);
                let answers = Answers::new(member.group.handle(), member.monitor.is_some());
                scope.spawn(move || follow(place, answers, &events, server, output))
            })
            .collect();
        let (running, ended) = sync_channel(0);
        let looked_after: Vec<(GroupHandle, &Output)> =
            members.iter().map(|member| (member.group.handle(), &member.output)).collect();
        scope.spawn(move || watch_drops(&looked_after, &ended));
        let begun = begin(&socket, &gateways, &members, &server, output, scope);
        if begun.is_err() {
            members.iter().for_each(|member| member.group.stopper().stop());
        }
        // A panic in a thread has said so already; the other groups go on.
        followed.into_iter().for_each(|thread| drop(thread.join()));
        drop::<SyncSender<()>>(running);
        begun.map(|ears| ears.iter().for_each(Ear::close))
    });
    server::close(&socket);
    drop(pages);
    result?;
    drop(members);
    if !interrupt::is_asked() {
        let text = "node (all groups): have ended. Start it again";
        return Err(Failure::new(Exit::Failed, "group.ended", text));
    }
    if output.is_json() {
        output.event(&Line::early_result(Exit::Interrupted as u8));
    }
    Ok(Exit::Interrupted)
}

/// The groups; a fault in one of them is that of all, as long as nothing runs.
fn join_all(
    groups: Vec<GroupPlan>,
    gateways: &[GatewayPlan],
    shown: OutputArgs,
) -> Result<Vec<Member>, Failure> {
    let of = |name: Option<&str>, failure: Failure| match name {
        Some(name) => failure.of_group(name),
        None => failure,
    };
    if let Some((number, failure)) = clashes(&groups).into_iter().next() {
        return Err(of(groups[number].name.as_deref(), failure));
    }
    // The file alone is right in this; the command line may have added an id.
    for place in gateways.iter().flat_map(|gateway| &gateway.groups) {
        let GroupPlan { name, node_id, cache_dir, .. } = &groups[*place];
        let remembers = gateway_options::remembers(node_id.as_deref(), cache_dir.is_some());
        remembers.map_err(|failure| of(name.as_deref(), failure))?;
    }
    let mut members: Vec<Member> = Vec::new();
    for plan in groups {
        let (name, monitor) = (plan.name.clone(), plan.monitor.clone());
        let group = join(plan).map_err(|failure| of(name.as_deref(), failure))?;
        let place = |group: &Group| {
            let there = || group.interface().map(|i| i.name.clone());
            (group.address(), group.awaited().map(str::to_owned).or_else(there))
        };
        // An interface may be given by name here, by address there.
        if let Some(other) = members.iter().find(|other| place(&other.group) == place(&group)) {
            let failure = same(&group.address().to_string(), &other.name());
            return Err(of(name.as_deref(), failure));
        }
        let output = match &name {
            Some(name) => Output::of_group(shown, name),
            None => Output::new(shown),
        };
        members.push(Member { name, group, monitor, output });
    }
    Ok(members)
}

/// Joins one, and asks for what it is to ask for.
fn join(plan: GroupPlan) -> Result<Group, Failure> {
    let group = plan.builder.await_interface().join(plan.options)?;
    // Before there is a socket: who asks for the history is given it whole.
    for filter in plan.filters {
        group.keep(Subscription::new(filter))?;
    }
    Ok(group)
}

/// Begins its gateways, and says where it is; gives by what the gateways are told to end.
fn begin<'scope, 'env: 'scope>(
    socket: &Path,
    gateways: &[GatewayPlan],
    members: &[Member],
    server: &'env Server,
    output: &'env Output,
    scope: &'scope Scope<'scope, 'env>,
) -> Result<Vec<Ear>, Failure> {
    let carriers: Vec<Carrier> =
        gateways.iter().map(|gateway| open(gateway, members, server)).collect::<Result<_, _>>()?;
    let ears = carriers.iter().filter_map(|carrier| carrier.gateway.ear(GroupIndex(0))).collect();
    members.iter().for_each(|member| interrupt::stop_on_interrupt(member.group.stopper()));
    for Member { group, output, .. } in members {
        events::show_start(group, "in group", output);
    }
    for carrier in &carriers {
        output.text(&format!("gateway between {}", carrier.names.join(", ")));
    }
    output.text(&format!("programs speak to it at {}", socket.display()));
    for carrier in carriers {
        scope.spawn(move || carry(carrier, server, output));
    }
    Ok(ears)
}

fn open(settings: &GatewayPlan, members: &[Member], server: &Server) -> Result<Carrier, Failure> {
    let sides = || settings.groups.iter().map(|place| &members[*place]);
    let handles: Vec<GroupHandle> = sides().map(|member| member.group.handle()).collect();
    let names = sides().map(Member::name).collect();
    let seed = handles.iter().fold(0, |seed, group| seed << 16 ^ u64::from(group.id().0));
    let gateway = Gateway::among(handles, settings.routes(), settings.times, seed)?;
    for (side, place) in settings.groups.iter().enumerate() {
        let side = GroupIndex(side as u8);
        let Some(ear) = gateway.ear(side) else { continue };
        for subscription in gateway.subscriptions(side) {
            server.attach(*place, subscription, ear.clone())?;
        }
    }
    Ok(Carrier { gateway, names })
}

/// Hands out what a group tells, until it ends.
fn follow(
    place: usize,
    mut answers: Answers,
    events: &GroupEvents,
    server: &Server,
    output: &Output,
) {
    loop {
        answers.on_time(Instant::now());
        let next = match answers.due() {
            None => events.recv(),
            Some(due) => events.next_event(due.saturating_duration_since(Instant::now())),
        };
        let event = match next {
            Ok(event) => event,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        match event {
            GroupEvent::Message(message) if answers.is_question(&message) => {
                answers.on_question(&message, Instant::now());
            }
            GroupEvent::Message(message) => server.hand_out(place, message),
            // Told to whom it concerns; what the node says of it, `watch_drops` says.
            GroupEvent::Dropped(gap) => _ = server.tell_gap(place, &gap),
            // What says that there is room for more: to clients only what they asked for is said.
            GroupEvent::Sent { key } => output.event(&Line::Sent(Sent { id: key.object.0 })),
            event => {
                server.tell_members(place, &event);
                events::show(&event, output);
            }
        }
    }
    if !interrupt::is_asked() {
        output.warn("group.ended", "this group has ended; the others go on");
    }
}

/// Says when messages of a group are gone before programs and gateways have taken them: a program that does not read
/// is told of it no sooner than it reads again.
fn watch_drops(members: &[(GroupHandle, &Output)], ended: &Receiver<()>) {
    let begun = Instant::now();
    let mut notices = vec![DropNotice::default(); members.len()];
    while ended.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
        let now = Time::ZERO + begun.elapsed();
        for ((group, output), notice) in members.iter().zip(&mut notices) {
            // One that has ended has said so.
            let Ok(status) = group.status() else { continue };
            let dropped = status.losses.dropped;
            if let Some(new) = notice.on_count(now, dropped) {
                let text = format!(
                    "{new} messages were gone from the cache before programs took them ({dropped} so \
                     far). Let them read faster, or raise --cache and --keep"
                );
                output.warn("messages.dropped", text);
            }
        }
    }
}

/// Carries between groups until it is told to end.
fn carry(mut carrier: Carrier, server: &Server, output: &Output) {
    let mut reporter = GatewayReporter::new(false, CrossingMetrics::none());
    loop {
        match carrier.gateway.next_event(POLL) {
            Ok(GatewayEvent::NotPublished(side, why)) => {
                let name = &carrier.names[usize::from(side.0)];
                output.warn("message.unpublished", format!("in {name}: {why}"));
            }
            Ok(GatewayEvent::Group(..)) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        let mut line = None;
        reporter.look(|| line.insert(carrier.line()).clone(), output);
        line.iter().for_each(|line| server.set_gateway(line));
    }
    let line = carrier.line();
    for way in &line.ways {
        gateway::show(&format!("{} to {}", way.from, way.to), &way.way, output);
    }
    output.event(&Line::Gateway(line));
}
