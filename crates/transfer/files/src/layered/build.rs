//! What a sender over layers is to do.

use std::{io, net::SocketAddr, sync::mpsc::sync_channel, time::Duration};

use crate::content::source::SourceFile;
use fanfare_fec::fountain::Shape;
use fanfare_node::{Clock, Stopper, Waker};
use fanfare_proto::congestion::layered::{Scheme, SendPattern, SourceConfig};
use fanfare_wire::Alc;

use super::{
    error::{LayeredError, OBJECT_MAX},
    packet,
    send::{LayeredSender, Plan},
};
use crate::{
    builder::{EVENTS, TransferBuilder},
    event::Outbox,
    transfer::Transfer,
    transfer_error::TransferError,
};

/// The longest info: beside it, a description has the announcement of 128 listed layers with answers
/// to sixteen questions.
const INFO_MAX: usize = 512;
/// A receiver of the lowest layer alone that loses so much still gets all of it, and so much longer
/// than it needs: its beginning takes a while.
const LOST: f64 = 0.1;
const BEGINNING: Duration = Duration::from_secs(10);

/// How to send over layers.
#[derive(Debug, Clone)]
pub struct LayeredOptions {
    /// Rates of the layers, headers included.
    pub layers: Scheme,
    /// All receivers adapt once in each.
    pub interval: Duration,
    /// For how long; by default as long as a receiver of the lowest layer alone needs that loses a
    /// tenth.
    pub lasting: Option<Duration>,
}

impl TransferBuilder {
    /// Sends one file over layers: opens everything, encodes the file, and starts the node's thread.
    ///
    /// # Errors
    /// When the file, the layers or the network do not allow it.
    pub fn send_layered(
        mut self,
        file: &SourceFile,
        options: &LayeredOptions,
    ) -> Result<Transfer, TransferError> {
        let name = file.name.clone();
        let network = &mut self.network;
        let group = network.address();
        let ip = group.ip();
        if !ip.is_multicast() {
            return Err(LayeredError::Unicast(ip).into());
        }
        if file.packed_files().is_some() || file.comes_last() {
            return Err(LayeredError::Many.into());
        }
        if file.size > OBJECT_MAX {
            return Err(LayeredError::Long(name, file.size).into());
        }
        let info = file.announcement().encode();
        if info.len() > INFO_MAX {
            return Err(LayeredError::Name(name).into());
        }
        let endpoint = network.open_endpoint(false)?;
        let symbol = packet::symbol(endpoint.interface(), ip, network.overhead());
        let sealed = network.seal()?;
        let shape = Shape::new(file.size, symbol).map_err(|_| LayeredError::Empty(name.clone()))?;
        let config = source_config(group, &shape, options)?;
        let (id, instance, seed) = network.choose();
        let gone = || io::Error::from(io::ErrorKind::InvalidData);
        let of = name.clone();
        let unreadable = |error| LayeredError::Unreadable(of.clone(), error);
        let content = file.open().ok_or_else(|| unreadable(gone()))?;
        let lasting = options.lasting.unwrap_or_else(|| lasting(&shape, &config));
        let id = (id, instance);
        let plan = Plan { name, shape, file: content, info, config, lasting, id, seed };
        // What was described cannot change any more: commands go nowhere.
        let (commands, _) = sync_channel(1);
        let (to_application, events) = sync_channel(EVENTS);
        let stopper = Stopper::new(Waker::new()?);
        let (group, interface) = (endpoint.group(), endpoint.interface().cloned());
        let reach = (stopper.clone(), Outbox::new(to_application));
        let sender = LayeredSender::prepare(plan, Clock::start(), (endpoint, sealed), reach);
        let sender = sender.map_err(unreadable)?;
        let thread = std::thread::Builder::new().name("fanfare-layers".into());
        let thread = thread.spawn(move || sender.run())?;
        let (events, thread) = (Some(events), Some(thread));
        let awaited = None;
        Ok(Transfer { id: id.0, group, interface, awaited, stopper, commands, events, thread })
    }
}

fn source_config(
    group: SocketAddr,
    shape: &Shape,
    options: &LayeredOptions,
) -> Result<SourceConfig, LayeredError> {
    let count = options.layers.layers().map_err(LayeredError::Layers)?.count();
    let first =
        packet::nth(group.ip(), 1).filter(|_| packet::nth(group.ip(), count as u8).is_some());
    let Some(first) = first else { return Err(LayeredError::Groups(group.ip(), count)) };
    let packet = usize::from(shape.symbol()) + Alc::HEADER + packet::headers(first);
    Ok(SourceConfig {
        scheme: options.layers.clone(),
        send_pattern: SendPattern::Pairs,
        interval: options.interval,
        every: 1,
        packet: packet as u16,
        object: shape.object(),
        group: SocketAddr::new(first, group.port()),
        rtt: Duration::ZERO,
    })
}

/// As long as a receiver of the lowest layer alone needs.
fn lasting(shape: &Shape, config: &SourceConfig) -> Duration {
    let base = config.scheme.layers().map_or(1.0, |layers| layers.sum(1));
    let packets = shape.all() as f64;
    let seconds = packets * 8.0 * f64::from(config.packet) / base / (1.0 - LOST);
    Duration::from_secs_f64(seconds) + BEGINNING
}
