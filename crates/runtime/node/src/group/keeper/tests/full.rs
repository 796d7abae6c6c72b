//! Disks that fill up, and are given room.

use std::sync::mpsc::Receiver;

use super::{
    writer::{Batch, Reopen},
    *,
};

/// A thread's writer, without the thread, on a disk that can be filled.
struct Stage {
    _scratch: Scratch,
    disk: Disk,
    writer: Writer,
    condition: SharedCondition,
}

impl Stage {
    fn new() -> Self {
        let (scratch, disk) = (Scratch::new(), Disk::default());
        let files = Arc::new(Files::open(scratch.path()).unwrap());
        let condition = SharedCondition::default();
        let first = tables(&disk).unwrap();
        first.identity(SELF).unwrap();
        let again = disk.clone();
        let reopen = Box::new(move || {
            tables(&again).map_err(|_| OpenFailure::Unusable(io::ErrorKind::StorageFull.into()))
        });
        let waker = Waker::new().unwrap();
        let writer = Writer::new((first, reopen as Reopen), files, condition.clone(), waker);
        Self { _scratch: scratch, disk, writer, condition }
    }

    fn set_full(&self, full: bool) {
        let mut platter = self.disk.0.lock().unwrap();
        (platter.left, platter.full) = (full.then_some(0), full);
    }

    fn put_own(&mut self, object: u16) -> Result<(), Fault> {
        let (reply, answer): (_, Receiver<Result<(), Fault>>) = sync_channel(1);
        let mut batch = Batch::default();
        batch.add(Order::Change(own(object)));
        batch.add(Order::Barrier(reply));
        self.writer.write(batch);
        answer.try_recv().unwrap()
    }

    fn change(&mut self, changes: impl IntoIterator<Item = Change>) {
        let mut batch = Batch::default();
        changes.into_iter().for_each(|change| batch.add(Order::Change(change)));
        self.writer.write(batch);
    }

    fn news(&self) -> Option<News> {
        self.condition.lock().unwrap().poll_news()
    }

    /// What another life finds.
    fn left(self) -> Kept {
        drop(self.writer);
        tables(&self.disk).unwrap().load().unwrap()
    }
}

fn put(object: u16) -> Change {
    let (key, record) = others(object);
    Change::Put(key, Box::new(record))
}

fn remove(object: u16) -> Change {
    Change::Remove(others(object).0, None)
}

fn objects(kept: &Kept) -> Vec<(u32, u16)> {
    kept.records.iter().map(|(key, _)| (key.sender.0, key.object.0)).collect()
}

#[test]
fn a_full_disk_refuses_what_comes_and_keeps_what_is_there() {
    let disk = Disk::default();
    let tables = tables(&disk).unwrap();
    tables.identity(SELF).unwrap();
    tables.apply(&[own(0)]).unwrap();
    {
        let mut platter = disk.0.lock().unwrap();
        (platter.left, platter.full) = (Some(0), true);
    }
    assert_eq!(tables.apply(&[own(1)]), Err(Fault::Full));
    drop(tables);
    disk.0.lock().unwrap().left = None;
    let again = super::tables(&disk).unwrap();
    assert_eq!(again.load().unwrap().next, 1);
    again.apply(&[own(1)]).unwrap();
    assert_eq!(again.load().unwrap().records.len(), 2);
}

#[test]
fn when_there_is_room_again_publishing_goes_on_and_what_came_meanwhile_is_written() {
    let mut stage = Stage::new();
    stage.put_own(0).unwrap();
    stage.change([put(0), put(1)]);
    stage.set_full(true);
    assert_eq!(stage.put_own(1), Err(Fault::Full));
    assert_eq!(stage.news(), Some(News::NotDurable("the disk is full".into())));
    stage.change([put(2), put(3), remove(0)]);
    stage.change([remove(2)]);
    assert_eq!(stage.put_own(1), Err(Fault::Full), "not what redb says of itself");
    stage.writer.catch_up();
    assert_eq!(stage.news(), None, "told once");
    stage.set_full(false);
    stage.put_own(1).unwrap();
    stage.writer.catch_up();
    assert_eq!(objects(&stage.left()), [(7, 0), (7, 1), (8, 1), (8, 3)]);
}

#[test]
fn what_was_refused_is_written_at_the_end_at_the_latest() {
    let mut stage = Stage::new();
    stage.set_full(true);
    stage.change([put(0)]);
    stage.set_full(false);
    let (orders, to_do) = sync_channel(1);
    drop(orders);
    let Stage { disk, writer, .. } = stage;
    writer.run(&to_do);
    assert_eq!(objects(&tables(&disk).unwrap().load().unwrap()), [(8, 0)]);
}

#[test]
fn a_message_whose_file_cannot_be_made_durable_is_counted_and_holds_up_no_other() {
    let mut stage = Stage::new();
    let (key, record) = others(1);
    let long = Record { content: Vec::new(), file: Some("not-there".into()), ..record };
    stage.change([put(0), Change::Put(key, Box::new(long)), put(2)]);
    assert!(matches!(stage.news(), Some(News::NotDurable(_))));
    stage.writer.catch_up();
    stage.condition.lock().unwrap().on_mended();
    assert_eq!(stage.news(), Some(News::Durable { unkept: 1 }));
    assert_eq!(objects(&stage.left()), [(8, 0), (8, 2)]);
}

#[test]
fn a_disk_that_falls_behind_is_told_once_until_it_has_caught_up() {
    let (orders, to_do) = sync_channel(1);
    let condition = SharedCondition::default();
    let mut keeper = Keeper { orders: Some(orders), condition, mark: None, thread: None };
    let (key, record) = others(0);
    for _ in 0..5 {
        keeper.put(key, record.clone());
    }
    assert!(matches!(keeper.news(), Some(News::NotDurable(why)) if why.contains("slower")));
    keeper.put(key, record);
    assert_eq!(keeper.news(), None);
    // The thread has its turn.
    assert!(matches!(to_do.try_recv(), Ok(Order::Change(Change::Put(..)))));
    assert_eq!(keeper.news(), None);
    let Ok(Order::Mark(mark)) = to_do.try_recv() else { panic!("a mark") };
    mark.store(true, Ordering::Release);
    assert_eq!(keeper.news(), Some(News::Durable { unkept: 5 }));
}
