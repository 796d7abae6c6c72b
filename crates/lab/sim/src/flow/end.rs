//! One end of a background flow.

use std::{any::Any, rc::Rc};

use fanfare_proto::{Ecn, Time};

/// A packet that an end wants to send.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// Bytes on the wire, all headers included.
    pub bytes: usize,
    /// Mark to send with.
    pub ecn: Option<Ecn>,
    /// What the other end is told.
    pub content: Rc<dyn Any>,
}

/// A packet that reaches an end.
#[derive(Debug)]
pub struct Incoming<'a> {
    /// Bytes on the wire.
    pub bytes: usize,
    /// Its mark.
    pub ecn: Option<Ecn>,
    /// What the other end tells.
    pub content: &'a dyn Any,
}

/// One end of a background flow: told what happens, asked what it wants to send.
pub trait End: core::fmt::Debug {
    /// A packet of the other end arrives.
    fn on_packet(&mut self, now: Time, packet: Incoming<'_>);
    /// The next packet that may go now. Asked again until there is none, after each packet that
    /// arrived and when the time of [`Self::next_timeout`] has come.
    fn poll_packet(&mut self, now: Time) -> Option<Outgoing>;
    /// When it wants to be asked again.
    fn next_timeout(&self) -> Option<Time>;
    /// Bytes that its application has received so far.
    fn delivered(&self) -> u64;
}
