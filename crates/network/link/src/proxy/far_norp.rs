//! What NRL's norps ask of the far side.

use std::{collections::HashMap, sync::Arc};

use tokio::sync::mpsc;

use crate::proxy::{
    code::Code,
    far::{Asked, Far, FarPeer},
    frame::Open,
    norp::{Asking, request},
    pipe::{Reader, Writer},
    relay::{Traffic, Upward, relay},
};

/// norp's requests name no node that they began at.
const NOBODY: [u8; 32] = [0xff; 32];

impl Far {
    /// Serves all who ask by norp, as long as that runs.
    pub async fn serve_norp(self: Arc<Self>, mut asking: mpsc::Receiver<Asking>) {
        let mut peers: HashMap<String, Arc<FarPeer>> = HashMap::new();
        while let Some(asking) = asking.recv().await {
            let peer = peers.entry(asking.peer.clone()).or_insert_with(|| self.peer(&asking.peer));
            tokio::spawn(peer.clone().on_norp(asking));
        }
    }
}

impl FarPeer {
    async fn on_norp(self: Arc<Self>, asking: Asking) {
        let asked = Asked::new(&self);
        let connected = match &asking.to {
            Ok(to) => self.connect(&Open::connection(&NOBODY, to), asked.id, "norp").await,
            Err(code) => Err((*code).into()),
        };
        match connected {
            Err(failure) => {
                asked.tell_reply(failure);
                // norp itself sends no refusals, but understands them.
                let _ = asking.answer.send(request::reply(failure.code, None));
            }
            Ok((tcp, _place)) => {
                asked.tell_reply(Code::Done.into());
                let reply = request::reply(Code::Done, tcp.local_addr().ok());
                if asking.answer.send(reply).is_err() {
                    return;
                }
                let (writer, reader) = (Writer::Norp(asking.writer), Reader::Norp(asking.reader));
                let traffic = Traffic::default();
                let how = relay(tcp, Upward::default(), (writer, reader), &traffic).await;
                asked.tell_close(&traffic, how);
            }
        }
    }
}
