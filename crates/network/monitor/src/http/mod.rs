//! A small HTTP/1.1 server: a thread for each connection, one answer for each, and streams of events.
//!
//! - `request`: what is asked, with bounds; `response`: what is answered
//! - `access`: who may ask: names of this host, tokens, failed tries
//! - `server`: connections and their number; `route`: what each path answers; `stream`: events as they come

mod access;
mod request;
mod response;
mod route;
mod server;
mod stream;

pub use access::Access;
pub use route::{PageFile, Pages};
pub use server::{ListenError, Server};

/// A client of a page, for tests.
#[cfg(test)]
pub(crate) mod testing {
    use std::{
        io::{Read as _, Write as _},
        net::{SocketAddr, TcpStream},
    };

    /// Asks for a path, and reads all of the answer.
    pub(crate) fn ask(server: SocketAddr, path: &str) -> String {
        let mut connection = TcpStream::connect(server).unwrap();
        write!(connection, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut text = String::new();
        connection.read_to_string(&mut text).unwrap();
        text
    }
}
