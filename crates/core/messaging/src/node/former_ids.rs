//! Earlier lives of nodes. A node that starts again on its cache has another id, and says for a while which ids it had
//! before: nobody is to wait for those. But its cache may be a copy, and who had such an id may be there still. So each
//! announcement that names them calls on them, too: who is there answers, and stays what it is.

use super::GroupNode;
use crate::membership::{former_ids::FormerIds, state::State};
use fanfare_proto::{Duration, NodeId, Time};
use fanfare_wire::ext::Extensions;

/// Time within which a node says that it is not gone, if others say that it is.
const ANSWER: Duration = Duration::from_millis(100);
/// Earlier lives of others that are remembered.
const LIVES_MAX: usize = 256;

impl GroupNode {
    /// Tells others for a minute that this node had these ids in earlier lives: they need not wait for them any
    /// longer. The newest is first, and the first four are told. Of a node that still speaks with such an id they
    /// believe nothing of it.
    pub fn set_former_ids(&mut self, now: Time, formers: impl IntoIterator<Item = NodeId>) {
        self.advance(now);
        self.former_ids = FormerIds::new(self.now, self.session.node_id(), formers);
    }

    /// Somebody announces itself, and says what it was before.
    pub(super) fn on_former_ids(
        &mut self,
        from: NodeId,
        extensions: &Extensions<'_>,
        state: &State,
    ) {
        if self.config.one_source {
            self.earlier_lives.extend(extensions.formers());
            while self.earlier_lives.len() > LIVES_MAX {
                self.earlier_lives.pop_first();
            }
        }
        // Who is not called on may be there, and silent.
        for former in extensions.formers().filter(|former| state.called.contains(former)) {
            if former == self.session.node_id() {
                self.trickle.on_greeting(self.now, ANSWER, &mut self.rng);
            } else if self.members.on_successor(self.now, former, from) && self.holders.watches() {
                // Who waits for it asks it, too: it may be out of the other's reach.
                self.trickle.on_call(self.now, &mut self.rng);
            }
        }
    }
}
