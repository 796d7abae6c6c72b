"""Two ends of a TCP connection, for a proxy between them.

serve ADDRESS PORT BYTES   takes one connection, reads so many bytes, sends them back reversed
ask ADDRESS PORT FILE      sends the file, and expects it back reversed; prints seconds, exits 0 if so
"""
import socket
import sys
import threading
import time


def read(connection, count):
    got = bytearray()
    while len(got) < count:
        piece = connection.recv(65536)
        if not piece:
            break
        got += piece
    return bytes(got)


verb, address, port, last = sys.argv[1:]
place = (address, int(port))
if verb == "serve":
    listener = socket.create_server(place)
    print("ready", flush=True)
    connection, _ = listener.accept()
    connection.sendall(read(connection, int(last))[::-1])
    connection.close()
else:
    sent = open(last, "rb").read()
    began = time.monotonic()
    connection = socket.create_connection(place)
    threading.Thread(target=connection.sendall, args=(sent,), daemon=True).start()
    got = read(connection, len(sent))
    if got[::-1] != sent:
        sys.exit(f"{len(got)} of {len(sent)} bytes came back, or others")
    print(f"{time.monotonic() - began:.2f}")
