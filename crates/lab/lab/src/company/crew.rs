//! All programs of one system on the hosts of a lab: they start, are killed, and come back.

use super::traffic;
use crate::{
    error::LabError,
    lab::Lab,
    peer::{
        messaging::{
            HostSlot, MessagingSoftware, ServerSlot,
            client::{self, Arrival, ArrivalLog, MessagingClient},
        },
        program::Program,
    },
    process::Usage,
    wait::WakeEvent,
};
use std::{
    io,
    path::Path,
    sync::{Arc, mpsc::Sender},
};

/// Where they run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) fleet: &'a dyn MessagingSoftware,
    pub(super) lab: &'a Lab,
    pub(super) directory: &'a Path,
    pub(super) wake_event: &'a Arc<WakeEvent>,
    /// What is to be there after a crash is kept on disk.
    pub(super) keeps: bool,
}

impl Place<'_> {
    /// Starts the server, if there is one: again, too.
    pub(super) fn serve(self) -> Result<Option<Program>, LabError> {
        let Self { directory, wake_event, keeps, .. } = self;
        let host = &self.lab.hosts()[0];
        self.fleet.serve(ServerSlot { host, directory, wake_event, keeps })
    }
}

/// All of them.
#[derive(Debug)]
pub(super) struct Crew<'a> {
    place: Place<'a>,
    pub(super) server: Option<Program>,
    clients: Vec<Option<MessagingClient>>,
    arrivals: Sender<Arrival>,
    /// What those have used that were killed.
    spent: Usage,
}

impl<'a> Crew<'a> {
    /// Starts all but the one that comes later.
    pub(super) fn start(
        place: Place<'a>,
        arrivals: Sender<Arrival>,
        later: Option<usize>,
    ) -> Result<Self, LabError> {
        let server = place.serve()?;
        let (clients, spent) = (place.lab.hosts().iter().map(|_| None).collect(), Usage::default());
        let mut crew = Self { place, server, clients, arrivals, spent };
        for number in (0..crew.clients.len()).filter(|number| Some(*number) != later) {
            crew.join(number, false)?;
        }
        Ok(crew)
    }

    /// Starts one; `history`: it wants what was published before.
    pub(super) fn join(&mut self, number: usize, history: bool) -> Result<(), LabError> {
        let Place { fleet, lab, directory, keeps, .. } = self.place;
        let (hosts, wants) = (lab.hosts(), traffic::wants(number));
        let (host, server) = (&hosts[number], &hosts[0]);
        let slot =
            HostSlot { host, number, server, hosts, wants: &wants, directory, keeps, history };
        let hearing = ArrivalLog { host: number, arrivals: self.arrivals.clone() };
        self.clients[number] = Some(fleet.start(slot, hearing)?);
        Ok(())
    }

    /// Kills one, or the server.
    pub(super) fn kill(&mut self, client: Option<usize>) {
        let used = match client {
            Some(number) => self.clients[number].take().map(|mut client| client.used()),
            None => self.server.take().map(|server| server.usage_of_group()),
        };
        // Dropped, they are killed.
        self.spent.cpu += used.unwrap_or_default().cpu;
    }

    /// Publishes; a program that is gone says nothing any more.
    pub(super) fn publish(&mut self, number: usize, topic: &str, text: &str) -> io::Result<()> {
        match &mut self.clients[number] {
            Some(client) => client.publish(topic, text),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// What all programs together have used.
    pub(super) fn used(&mut self) -> Usage {
        let server = self.server.as_ref().map(Program::usage_of_group);
        let clients = self.clients.iter_mut().flatten().map(MessagingClient::used);
        let add = |all: Usage, one: Usage| Usage {
            cpu: all.cpu + one.cpu,
            memory: all.memory + one.memory,
        };
        clients.chain(server).fold(self.spent, add)
    }

    /// What has ended by itself, if anything.
    pub(super) fn ended(&mut self) -> Option<String> {
        match &self.server {
            Some(server) if server.has_closed() => Some("its server has ended".to_owned()),
            _ => client::ended(self.clients.iter_mut().flatten()),
        }
    }
}
