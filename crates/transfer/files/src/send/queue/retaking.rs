//! What has changed at the sender takes its place in the queue again.

use std::sync::mpsc::{Receiver, TryRecvError};

use crate::content::source::SourceFile;
use fanfare_proto::ObjectKey;

use super::{Queue, SentObject, again::AGAIN_MAX};

impl Queue {
    /// Whether what failed at a receiver has been taken back, and another object is sent in its place.
    pub(in crate::send) fn is_withdrawn(&self, object: u16) -> bool {
        self.anew.has_withdrawn(object)
    }

    /// Whether a file that has changed is still read again, or waits for it.
    pub(in crate::send) fn reads_again(&self) -> bool {
        self.anew.is_busy()
    }

    /// A file has changed, and was enqueued under this key if it was. False where it is not sent again.
    pub(super) fn send_again(&mut self, file: &SourceFile, key: Option<ObjectKey>) -> bool {
        let anew = &mut self.anew;
        if !file.may_be_retaken() || self.carousel.is_repeating() || anew.count >= AGAIN_MAX {
            return false;
        }
        anew.count += 1;
        if let Some(key) = key {
            anew.withdrawn.insert(key.object.0);
            self.expected.remove(key.object);
        }
        anew.waiting.push_back((file.clone(), key.map(|key| key.object.0)));
        true
    }

    /// Takes what has been read again, and reads the next.
    pub(super) fn advance_again(&mut self) {
        match self.anew.running.as_ref().map(Receiver::try_recv) {
            Some(Err(TryRecvError::Empty)) => return,
            Some(Ok((files, lost))) => {
                self.anew.running = None;
                for path in lost {
                    self.note_changed(path);
                }
                self.insert_again(files);
            }
            Some(Err(TryRecvError::Disconnected)) => self.anew.running = None,
            None => {}
        }
        self.anew.start();
    }

    /// Before what comes last; of that, what has been sent already goes once more.
    fn insert_again(&mut self, files: Vec<SourceFile>) {
        if files.is_empty() {
            return;
        }
        for file in files {
            let at = self.to_come.iter().position(SourceFile::comes_last);
            self.total += 1 + u64::from(self.has_manifest(&file));
            self.bytes += file.size;
            self.to_come.insert(at.unwrap_or(self.to_come.len()), file);
        }
        if !self.to_come.iter().any(SourceFile::is_tree)
            && let Some(tree) = self.sent.iter().rev().find(|sent| sent.file.is_tree())
        {
            let tree = tree.file.clone();
            self.total += 1;
            self.to_come.push_back(tree);
        }
    }

    /// When everything is at all receivers: files that have changed since they were sent are sent again.
    /// Whether there are any.
    pub(in crate::send) fn check_again(&mut self) -> bool {
        let changed = |sent: &&SentObject| {
            !sent.is_manifest && sent.file.may_be_retaken() && !sent.file.is_unchanged()
        };
        let changed: Vec<_> =
            self.sent.iter().filter(changed).map(|s| (s.file.clone(), s.key)).collect();
        let new = |key: &ObjectKey| !self.is_withdrawn(key.object.0);
        let changed: Vec<_> = changed.into_iter().filter(|(_, key)| new(key)).collect();
        for (file, key) in changed {
            if self.send_again(&file, Some(key)) {
                self.total -= 1;
            }
        }
        self.anew.is_busy()
    }
}
