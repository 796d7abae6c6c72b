# A page of a hundred files, half a megabyte in all. Arguments: port, and the congestion control of TCP.
import http.server, random, socket, socketserver, sys

port, control = int(sys.argv[1]), sys.argv[2].encode()


def picture(i):
    pad = "".join(random.Random(i).choices("abcdefgh", k=400 + i * 90))
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"><rect width="20" height="20" '
        f'fill="hsl({i * 3},80%,50%)"/><!--{pad}--></svg>'
    ).encode()


PAGE = "".join(f'<img src="/{i}.svg">' for i in range(100)).encode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        kind, body = "text/html", PAGE
        if self.path.endswith(".svg"):
            kind, body = "image/svg+xml", picture(int(self.path[1:-4]))
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 256


server = Server(("0.0.0.0", port), Handler)
server.socket.setsockopt(socket.IPPROTO_TCP, 13, control)  # TCP_CONGESTION; connections inherit it
server.serve_forever()
