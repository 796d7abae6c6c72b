//! Counters of bridges and gateways, for Prometheus and as JSON. There is no page for people.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::{Value, json};

use crate::{Access, ListenError, PageFile, Pages, Server, exposition};

/// Serves the counters; it ends when this is dropped.
#[derive(Debug)]
pub struct CrossingPage {
    shown: Arc<Shown>,
    server: Server,
}

#[derive(Debug)]
struct Shown(Mutex<Value>);

impl CrossingPage {
    /// Serves at `address`; port 0 takes any that is free.
    ///
    /// # Errors
    /// The address is open to others, or the system says no.
    pub fn start(address: SocketAddr, access: Access) -> Result<Self, ListenError> {
        let shown = Arc::new(Shown(Mutex::new(document(&json!([])))));
        let server = Server::start_pages(address, access, shown.clone())?;
        Ok(Self { shown, server })
    }

    /// Shows these from now on: a list of ways, each with `from`, `to` and counters.
    pub fn show(&self, ways: &Value) {
        *self.shown.lock() = document(ways);
    }

    /// Address of the metrics.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/metrics", self.server.address())
    }
}

fn document(ways: &Value) -> Value {
    json!({"version": env!("CARGO_PKG_VERSION"), "kind": "bridge", "ways": ways})
}

impl Shown {
    fn lock(&self) -> MutexGuard<'_, Value> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pages for Shown {
    fn find(&self, path: &str) -> Option<PageFile> {
        let document = self.lock().clone();
        match path {
            "/metrics" => {
                let bytes = exposition::text(&document).into_bytes();
                Some(PageFile { kind: "text/plain; version=0.0.4; charset=utf-8", bytes })
            }
            "/api/state" => {
                let bytes = document.to_string().into_bytes();
                Some(PageFile { kind: "application/json", bytes })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::testing;

    fn ask(page: &CrossingPage, path: &str) -> String {
        testing::ask(page.server.address(), path)
    }

    #[test]
    fn each_way_has_its_counters_as_metrics() {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let page = CrossingPage::start(any, Access::local()).unwrap();
        assert!(ask(&page, "/metrics").contains("fanfare_build_info"));
        page.show(&json!([{"from": "NATS", "to": "the group", "heard": 9, "carried": 4,
            "dropped": 3, "waiting": 2}]));
        let text = ask(&page, "/metrics");
        for line in [
            "fanfare_bridge_heard_total{from=\"NATS\",to=\"the group\"} 9",
            "fanfare_bridge_messages_total{from=\"NATS\",to=\"the group\",fate=\"carried\"} 4",
            "fanfare_bridge_messages_total{from=\"NATS\",to=\"the group\",fate=\"dropped\"} 3",
            "fanfare_bridge_waiting{from=\"NATS\",to=\"the group\"} 2",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        assert!(ask(&page, "/api/state").contains("\"heard\":9"));
        assert!(ask(&page, "/").contains("404"));
    }
}
