#!/bin/sh
# How async-nats 0.51.0 tells of messages that a subscription had no room for. 5,000 messages come for a subscription
# that holds 16 (`subscription_capacity`). Expected: one `Event::SlowConsumer` for each message that is dropped, or a
# number in it. Seen: events wait in a channel of 128, and what does not fit there is dropped in its turn. So fewer
# events come than messages were dropped, and a program that counts them counts too few. `Statistics` has no number
# of dropped messages. The program runs on one thread (`flavor = "current_thread"`). Needs cargo with its registry,
# nats-server and port 14222. Ends with 0 while it is so, and with 1 when it has changed.
set -eu
place=$(mktemp -d)
server=
trap 'test -z "$server" || kill "$server"; rm -rf "$place"' EXIT
cd "$place"
nats-server --version
nats-server -a 127.0.0.1 -p 14222 >server.log 2>&1 &
server=$!
mkdir src
cat >Cargo.toml <<'TOML'
[package]
name = "drops"
version = "0.0.0"
edition = "2021"

[dependencies]
async-nats = { version = "=0.51.0", default-features = false, features = ["ring", "server_2_10"] }
futures-util = { version = "0.3", default-features = false }
tokio = { version = "1", features = ["macros", "rt", "time"] }

[workspace]
TOML
cat >src/main.rs <<'RUST'
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_nats::{ConnectOptions, Event};
use futures_util::StreamExt as _;

const SENT: u64 = 5_000;
static TOLD: AtomicU64 = AtomicU64::new(0);

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let at = "127.0.0.1:14222";
    let count = |event| async move {
        if matches!(event, Event::SlowConsumer(_)) {
            TOLD.fetch_add(1, Ordering::Relaxed);
        }
    };
    let options = ConnectOptions::new().subscription_capacity(16).event_callback(count);
    let reader = options.connect(at).await.unwrap();
    let mut messages = reader.subscribe("a").await.unwrap();
    reader.flush().await.unwrap();
    let writer = async_nats::connect(at).await.unwrap();
    for _ in 0..SENT {
        writer.publish("a", "text".into()).await.unwrap();
    }
    writer.flush().await.unwrap();
    // Nobody reads until all are there.
    while reader.statistics().in_messages.load(Ordering::Relaxed) < SENT {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let mut delivered = 0;
    while let Ok(Some(_)) = tokio::time::timeout(Duration::from_secs(1), messages.next()).await {
        delivered += 1;
    }
    let (dropped, told) = (SENT - delivered, TOLD.load(Ordering::Relaxed));
    println!("{SENT} came, {delivered} delivered, {dropped} dropped, {told} events");
    std::process::exit(i32::from(told >= dropped));
}
RUST
CARGO_TARGET_DIR="$place/target" cargo build --quiet
if ./target/debug/drops; then
    echo "as told: fewer events than messages were dropped"
else
    echo "changed: as many events as messages that were dropped"
    exit 1
fi
