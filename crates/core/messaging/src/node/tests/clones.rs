//! Nodes whose disks or memories are copied, restored or set back at random moments: what is acknowledged has been taken.

use super::*;
use fanfare_proto::rng::Rng;

/// Groups in an ordinary run; `FANFARE_CLONES` asks for more.
const GROUPS: u64 = 60;
/// Subscribers, by their place on the bus.
const SUBSCRIBERS: [usize; 2] = [1, 2];

/// Beginning of a life on a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LifeBeginning {
    /// Begins as another life.
    Anew,
    /// Goes on as the life that wrote it, as versions before did.
    Continued,
    /// Begins as that life, beside the one that is there, of which it has nothing: two nodes with one id and instance.
    Beside,
}

/// Content of a durable cache: its node's own messages.
#[derive(Debug, Clone)]
struct CacheContent {
    node: NodeId,
    instance: InstanceId,
    /// Object, description, bytes.
    own: Vec<(ObjectKey, Vec<u8>, Vec<u8>)>,
}

/// One group, and what was published there.
struct CloneScene {
    bus: Bus,
    rng: Rng,
    beginning: LifeBeginning,
    disks: Vec<CacheContent>,
    /// Each with who published it, by its place on the bus.
    published: Vec<(usize, ObjectKey, Vec<u8>)>,
    publishers: Vec<usize>,
    /// Crashed.
    dead: Vec<usize>,
}

impl CloneScene {
    fn new(seed: u64, beginning: LifeBeginning) -> Self {
        let mut bus = Bus::new(3);
        bus.verifies = true;
        for node in SUBSCRIBERS {
            bus.nodes[node].0.config.verifies = true;
            bus.subscribe(node, "#");
        }
        let rng = Rng::new(seed);
        let (disks, published, dead) = (Vec::new(), Vec::new(), Vec::new());
        Self { bus, rng, beginning, disks, published, publishers: vec![0], dead }
    }

    fn pick(&mut self, count: usize) -> usize {
        self.rng.below(count as u64) as usize
    }

    fn run(&mut self, seconds: u64, loss: u64) {
        let Self { bus, rng, dead, .. } = self;
        let is_dead = |node| dead.contains(&node);
        bus.run(seconds, &mut |from, to, _| is_dead(from) || is_dead(to) || rng.below(100) < loss);
    }

    fn publish(&mut self) {
        let place = self.pick(self.publishers.len());
        let publisher = self.publishers[place];
        let length = if self.pick(4) == 0 { 3_000 } else { 20 };
        let mut content = bytes(length);
        content[..8].copy_from_slice(&(self.published.len() as u64).to_be_bytes());
        let options = Options { hash: Some(hash_of(&content)), ..Options::default() };
        let key = self.bus.publish(publisher, "a", &content, options).key;
        self.bus.nodes[publisher].0.watch(key);
        self.published.push((publisher, key, content));
    }

    fn save(&mut self) {
        let place = self.pick(self.publishers.len());
        let (node, storage) = &mut self.bus.nodes[self.publishers[place]];
        let (id, instance) = node.own_incarnation();
        let own = node.publisher.own().map(|(key, own)| {
            let stored = own.message.content.is_none();
            let bytes = storage.get(*key).filter(|_| stored).unwrap_or_default();
            (*key, own.message.encode(), bytes.to_vec())
        });
        let own = own.collect();
        self.disks.push(CacheContent { node: id, instance, own });
    }

    /// A node starts on a disk from before: in the place of one that has crashed, or on another machine.
    fn start(&mut self) {
        if self.disks.is_empty() {
            return;
        }
        let disk = self.pick(self.disks.len());
        let disk = self.disks[disk].clone();
        let place = self.bus.join();
        if self.pick(2) == 0 && self.beginning != LifeBeginning::Beside {
            self.dead.push(self.publishers.remove(0));
        }
        self.publishers.push(place);
        let mut session = session(place);
        // Who starts it gives the id, or it draws one.
        let is_given = self.beginning != LifeBeginning::Anew || self.pick(2) == 0;
        session.node_id =
            if is_given { disk.node } else { NodeId(self.rng.next_u64() as u32 | 1 << 20) };
        let instance = match self.beginning {
            LifeBeginning::Anew => InstanceId(self.rng.next_u64() as u16),
            LifeBeginning::Continued | LifeBeginning::Beside => disk.instance,
        };
        session.sender.as_mut().unwrap().instance_id = instance;
        let (config, seed) = (self.bus.nodes[place].0.config, self.rng.next_u64());
        let mut node = GroupNode::new(config, session, seed, self.bus.now);
        let mut storage = MemoryStorage::new(1 << 20);
        let next = disk.own.iter().map(|(key, ..)| key.object.0 + 1).max().unwrap_or(0);
        if self.beginning == LifeBeginning::Continued {
            node.session().sender().resume_at(ObjectTransportId(next));
        }
        // Half of them begin at the first number, as who has set it by force.
        if self.beginning == LifeBeginning::Beside && self.pick(2) == 0 {
            node.session().sender().resume_at(ObjectTransportId(next));
        }
        for (key, info, bytes) in
            disk.own.into_iter().filter(|_| self.beginning == LifeBeginning::Anew)
        {
            let (size, age) = (bytes.len() as u64, Duration::ZERO);
            assert!(node.restore_own(self.bus.now, key, &info, size, age, &mut storage));
            storage.put(key, bytes);
        }
        self.bus.nodes[place] = (node, storage);
    }

    /// Messages that a subscriber has acknowledged, and how many of these it was not given.
    fn acknowledged(&self) -> (usize, usize) {
        let (mut acknowledged, mut lost) = (0, 0);
        for node in SUBSCRIBERS {
            let taken = &self.bus.taken[node];
            for (publisher, key, content) in &self.published {
                let said = self.bus.standings(*publisher, *key);
                if said.contains(&(node as u32 + 1, Standing::Holds)) {
                    acknowledged += 1;
                    lost += usize::from(!taken.contains(content));
                }
            }
        }
        (acknowledged, lost)
    }
}

/// Messages acknowledged, and of these not taken, in so many groups.
fn play(groups: u64, beginning: LifeBeginning) -> (usize, usize) {
    let (mut acknowledged, mut lost) = (0, 0);
    for seed in 0..groups {
        let mut scene = CloneScene::new(seed, beginning);
        let loss = [0, 5, 20][scene.pick(3)];
        for _ in 0..6 + scene.pick(8) {
            match scene.pick(6) {
                0 => scene.save(),
                1 => scene.start(),
                _ => scene.publish(),
            }
            let seconds = scene.rng.below(6);
            scene.run(seconds, loss);
        }
        scene.run(60, loss);
        if beginning == LifeBeginning::Anew {
            let events = scene.bus.events.iter().flatten();
            let twins = events.filter(|event| matches!(event, Event::Twin { .. })).count();
            assert_eq!(twins, 0, "seed {seed}: their instances differ");
        }
        let (said, not_taken) = scene.acknowledged();
        (acknowledged, lost) = (acknowledged + said, lost + not_taken);
        assert_eq!(not_taken, 0, "{beginning:?}, seed {seed}: of {said} acknowledged");
    }
    (acknowledged, lost)
}

#[test]
fn nothing_is_acknowledged_that_was_not_taken_when_disks_are_copied_or_set_back() {
    play_as_asked(LifeBeginning::Anew);
}

#[test]
fn nothing_is_acknowledged_that_was_not_taken_when_a_life_is_continued_from_a_copy() {
    play_as_asked(LifeBeginning::Continued);
}

#[test]
fn nothing_is_acknowledged_that_was_not_taken_when_two_nodes_have_one_id_and_instance() {
    play_as_asked(LifeBeginning::Beside);
}

fn play_as_asked(beginning: LifeBeginning) {
    let asked = std::env::var("FANFARE_CLONES").ok().and_then(|count| count.parse().ok());
    let groups = asked.unwrap_or(GROUPS);
    let (acknowledged, lost) = play(groups, beginning);
    std::println!("{beginning:?}, {groups} groups: {acknowledged} acknowledged, {lost} not taken");
    assert!(acknowledged as u64 > groups && lost == 0);
}
