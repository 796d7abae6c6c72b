//! Sender and receiver of a session begin and end one by one, where an application wants that.

use crate::{
    config::{FeedbackPath, ReceiverConfig, SenderConfig},
    receiver::RemoteSenders,
    sender::Sender,
    session::Session,
    time::Time,
};

impl Session {
    /// Begins to send. A sender before it is forgotten: what it has not closed in the storage is the
    /// driver's to close.
    pub fn start_sender(&mut self, now: Time, config: SenderConfig) {
        self.advance(now);
        let now = self.now;
        self.sender = Some(Sender::new(self.node_id, self.unicast, config, now, &mut self.rng));
    }

    /// Sends no more, and says nothing of it.
    pub fn stop_sender(&mut self) {
        self.sender = None;
    }

    /// Whether it sends.
    #[must_use]
    pub fn is_sender(&self) -> bool {
        self.sender.is_some()
    }

    /// Begins to receive. What a receiver before it has not closed is the driver's to close.
    pub fn start_receiver(&mut self, config: ReceiverConfig) {
        let receiver = RemoteSenders::new(self.node_id, self.feedback, self.unicast, config);
        self.receiver = Some(receiver);
    }

    /// Receives no more.
    pub fn stop_receiver(&mut self) {
        self.receiver = None;
    }

    /// Whether it receives.
    #[must_use]
    pub fn is_receiver(&self) -> bool {
        self.receiver.is_some()
    }

    /// Where feedback goes from now on.
    pub fn set_feedback(&mut self, feedback: FeedbackPath) {
        self.feedback = feedback;
        if let Some(receiver) = &mut self.receiver {
            receiver.set_feedback(feedback);
        }
    }

    /// Whether what this node sends is heard by its own receiver. False at first: the same id at
    /// another address is then reported.
    pub fn set_hears_itself(&mut self, hears: bool) {
        self.hears_itself = hears;
    }
}
