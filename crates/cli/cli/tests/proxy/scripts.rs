//! What Python does on the hosts, where more than one test needs it.

/// A server on the far side that answers when the client has said all.
pub(crate) const AFTER_END: &str = r#"
import socket
server = socket.create_server(("0.0.0.0", 9000))
print("ready", flush=True)
while True:
    client, _ = server.accept()
    count = 0
    while block := client.recv(65536): count += len(block)
    client.sendall(b"y" * count)
    client.close()
"#;

/// Says "ready" as soon as a server that was started takes connections at a port of the far host, and stays
/// as long as it does.
pub(crate) const READY_AT_PORT: &str = r#"
import socket, time
def ready_at_port(server, port):
    while True:
        try:
            socket.create_connection(("10.88.0.2", port)).close()
            break
        except OSError:
            time.sleep(0.05)
    print("ready", flush=True)
    server.wait()
"#;

/// A client of SOCKS5 by hand.
pub(crate) const HALF_CLOSE: &str = r#"
import socket
s = socket.create_connection(("127.0.0.1", 7000))
s.sendall(b"\x05\x01\x00"); assert s.recv(2) == b"\x05\x00"
s.sendall(b"\x05\x01\x00\x01\x0a\x58\x00\x02\x23\x28")
assert s.recv(10)[1] == 0
s.sendall(b"x" * BYTES)
s.shutdown(socket.SHUT_WR)
count = 0
while block := s.recv(65536): count += len(block)
print(count)
"#;

/// Each thread asks by SOCKS5 for another number of bytes, and looks at all of them.
pub(crate) const THREADS: &str = r#"
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
    if body == (block * (n // 65536 + 1))[:n]: right.append(n)
threads = [threading.Thread(target=one, args=(n,)) for n in LENGTHS]
for t in threads: t.start()
for t in threads: t.join()
print(len(right), "right")
"#;

/// Answers `/N` with N bytes.
pub(crate) const WEB: &str = r#"
import http.server, socketserver
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        n = int(self.path.strip("/"))
        self.send_response(200)
        self.send_header("Content-Length", str(n))
        self.end_headers()
        block = bytes(i * 7 % 251 for i in range(65536))
        try:
            while n > 0:
                self.wfile.write(block[:min(n, 65536)])
                n -= 65536
        except OSError:
            pass
    def log_message(self, *args): pass
class S(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 1024
server = S(("0.0.0.0", 8080), H)
print("ready", flush=True)
server.serve_forever()
"#;
