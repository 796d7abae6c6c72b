//! A live page for one transfer or one group, and the same for programs and terminals.
//!
//! Whoever has something to show keeps a [`Board`] up to date: one JSON document, published about twice a
//! second. The server hands it out on loopback as a page, as a stream of changes, as JSON and as metrics.
//!
//! - `board`: the document that is shown, and who waits for news of it; `patch`: what differs between two
//! - `transfer`: one transfer, made of the lines of `--json`: how far each receiver is, and why it is late
//! - `group`: one group, as its monitor knows it
//! - `page`: the server with a transfer behind it, as `fanfare send --watch` uses it
//! - `crossing_page`: what bridges have carried, as metrics
//! - `http`: the server: requests, who may ask, streams; `assets`: the page's files
//! - `evidence`: what sensors tell, and advice made of it
//! - `past`: documents of the last minutes, for replay; `history`: numbers of the last thirty days
//! - `exposition`: the same as metrics, in the text format of Prometheus
//! - `client`: reads such a stream; `terminal`: shows it as lines of text
//! - [`sensor`]: packets, interfaces, hosts and SNMP agents, looked at; [`doctor`]: why multicast does or does
//!   not work here

mod assets;
mod board;
pub mod client;
mod crossing_page;
pub mod doctor;
pub mod evidence;
mod exposition;
pub mod group;
pub mod history;
pub mod http;
mod page;
mod past;
mod patch;
pub mod sensor;
pub mod terminal;
pub mod transfer;

pub use board::Board;
pub use crossing_page::CrossingPage;
pub use http::{Access, ListenError, PageFile, Pages, Server};
pub use page::TransferPage;
pub use patch::{apply, patch};
