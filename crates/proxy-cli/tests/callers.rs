//! A program that knows of no proxy, and many connections at once.

use std::process::{Command, Stdio};

use crate::road::Road;

fn has(program: &str) -> bool {
    let mut asked = Command::new(program);
    asked.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let found = asked.status().is_ok();
    if !found {
        eprintln!("not tested: it needs {program}");
    }
    found
}

#[test]
fn wget_without_socks_downloads_by_proxychains_and_by_a_forwarded_port() {
    let Some(road) = Road::make() else { return };
    if !has("wget") || !has("proxychains4") {
        return;
    }
    let (_web, _server) = (road.web(), road.server(&[]));
    let mut client = road.client(&["--forward", "2222=10.88.0.2:8080"]);
    client.wait_for_link("connected");
    let conf = "strict_chain\n[ProxyList]\nsocks5 127.0.0.1 7000\n";
    std::fs::write(road.directory.join("chain"), conf).unwrap();
    let wget = |words: &[&str]| {
        let output = road.output("near", words);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::read(road.directory.join("got")).unwrap()
    };
    let chained = ["proxychains4", "-q", "-f", "chain", "wget", "-q", "-O", "got"];
    let by_chain = wget(&[&chained[..], &["http://10.88.0.2:8080/3000000"]].concat());
    let by_port = wget(&["wget", "-q", "-O", "got", "http://127.0.0.1:2222/3000000"]);
    assert_eq!(by_chain.len(), 3_000_000);
    assert!(by_chain == by_port, "the same bytes either way");
}

#[test]
fn two_hundred_threads_of_python_at_once_get_their_own_bytes() {
    let Some(road) = Road::make() else { return };
    let (_web, _server) = (road.web(), road.server(&[]));
    let mut client = road.client(&[]);
    client.wait_for_link("connected");
    let output = road.output("near", &["python3", "-c", THREADS]);
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    assert_eq!(said, "200 right", "{}", String::from_utf8_lossy(&output.stderr));
}

/// Each thread asks for another number of bytes, and looks at all of them.
const THREADS: &str = r#"
import socket, threading
block = bytes(i * 7 % 251 for i in range(65536))
right = []
def one(n):
    s = socket.create_connection(("127.0.0.1", 7000))
    s.sendall(b"\x05\x01\x00\x05\x01\x00\x01\x0a\x58\x00\x02\x1f\x90")
    f = s.makefile("rb")
    assert f.read(12)[:4] == b"\x05\x00\x05\x00"
    s.sendall(b"GET /%d HTTP/1.0\r\n\r\n" % n)
    body = f.read().split(b"\r\n\r\n", 1)[1]
    if body == block[:n]: right.append(n)
threads = [threading.Thread(target=one, args=(1000 + 37 * n,)) for n in range(200)]
for t in threads: t.start()
for t in threads: t.join()
print(len(right), "right")
"#;
