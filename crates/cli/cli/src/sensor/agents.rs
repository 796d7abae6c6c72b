//! SNMP agents: each is asked in a thread of its own, as one that is slow must not hold up the others.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use fanfare_command::{Exit, Failure};
use fanfare_monitor::sensor::snmp::{Agent, AgentReport};

/// What is known of each agent: what it told last, or why it told nothing.
type Known = BTreeMap<String, Result<AgentReport, String>>;

/// All agents.
#[derive(Debug, Default, Clone)]
pub(crate) struct Agents {
    known: Arc<Mutex<Known>>,
}

impl Agents {
    /// Begins to ask them, until the program ends.
    pub(crate) fn start(
        all: &[SocketAddr],
        community: &str,
        every: Duration,
    ) -> Result<Self, Failure> {
        let agents = Self::default();
        for address in all {
            let failed = |text: String| Failure::new(Exit::Resource, "snmp.failed", text);
            let mut agent = Agent::new(*address, community, every)
                .map_err(|error| failed(error.to_string()))?;
            let own = agents.clone();
            let asks = move || {
                loop {
                    let told = agent.read().map_err(|error| error.to_string());
                    let is_silent = told.is_err();
                    own.lock().insert(agent.address().to_string(), told);
                    if is_silent {
                        thread::sleep(every);
                    }
                }
            };
            let started = thread::Builder::new().name("snmp".to_owned()).spawn(asks);
            started.map_err(|error| failed(format!("snmp ({address}): {error}")))?;
        }
        Ok(agents)
    }

    /// What they told last, and why some did not.
    pub(crate) fn known(&self) -> (BTreeMap<String, AgentReport>, Vec<String>) {
        let mut told = BTreeMap::new();
        let mut missing = Vec::new();
        for (address, known) in &*self.lock() {
            match known {
                Ok(report) => drop(told.insert(address.clone(), report.clone())),
                Err(why) => missing.push(why.clone()),
            }
        }
        (told, missing)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
