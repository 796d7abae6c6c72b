//! A client of NATS.

use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::time::timeout;

use super::{
    End, Outcome, PeerArgs,
    stamps::{Arrivals, Stamper, now_ns},
};

/// No message for so long: no more come.
const SILENCE: Duration = Duration::from_secs(20);
/// Messages that may wait in the client: all of a run, so that it drops none.
const CAPACITY: usize = 4 << 20;

pub(super) fn run(args: &PeerArgs) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let options = async_nats::ConnectOptions::new().subscription_capacity(CAPACITY);
        let client = options.connect(args.server.as_str()).await?;
        match args.end {
            End::Pub => publish(&client, args).await,
            End::Sub => subscribe(&client, args).await,
        }
    })
}

async fn publish(client: &async_nats::Client, args: &PeerArgs) -> Outcome {
    let mut stamper = Stamper::new(args.size, args.paced);
    for _ in 0..args.messages {
        if let Some(pause) = stamper.pause() {
            tokio::time::sleep(pause).await;
        }
        let content = stamper.write().to_vec();
        client.publish(args.topic.clone(), content.into()).await?;
    }
    client.flush().await?;
    tokio::time::sleep(SILENCE).await;
    Ok(())
}

async fn subscribe(client: &async_nats::Client, args: &PeerArgs) -> Outcome {
    let mut messages = client.subscribe(args.topic.clone()).await?;
    client.flush().await?;
    let mut arrivals = Arrivals::default();
    while arrivals.count() < args.messages {
        match timeout(SILENCE, messages.next()).await {
            Ok(Some(message)) => arrivals.on_message(now_ns(), &message.payload),
            Ok(None) | Err(_) => break,
        }
    }
    arrivals.tell();
    Ok(())
}
