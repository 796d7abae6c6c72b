"""Lines by ZeroMQ over NORM: `send` takes them from standard input, `recv` prints what comes.

    zmq_peer.py send|recv NODE GROUP:PORT

libzmq is called as a C library: LD_LIBRARY_PATH says which libnorm it has.
"""

import ctypes
import sys

PUB, SUB, SUBSCRIBE, SNDHWM, RCVHWM = 1, 2, 6, 23, 24
zmq = ctypes.CDLL("libzmq.so.5")
for name in ("zmq_ctx_new", "zmq_socket"):
    getattr(zmq, name).restype = ctypes.c_void_p
zmq.zmq_socket.argtypes = [ctypes.c_void_p, ctypes.c_int]
for name in ("zmq_bind", "zmq_connect"):
    getattr(zmq, name).argtypes = [ctypes.c_void_p, ctypes.c_char_p]
zmq.zmq_setsockopt.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
for name in ("zmq_send", "zmq_recv"):
    getattr(zmq, name).argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]

verb, node, group = sys.argv[1:]
socket = zmq.zmq_socket(zmq.zmq_ctx_new(), PUB if verb == "send" else SUB)
none = ctypes.byref(ctypes.c_int(0))
zmq.zmq_setsockopt(socket, SNDHWM, none, 4)
zmq.zmq_setsockopt(socket, RCVHWM, none, 4)
address = f"norm://{node},eth0;{group}".encode()
if verb == "send":
    if zmq.zmq_bind(socket, address) != 0:
        sys.exit("bind failed")
    for line in sys.stdin.buffer:
        zmq.zmq_send(socket, line, len(line), 0)
else:
    zmq.zmq_setsockopt(socket, SUBSCRIBE, None, 0)
    if zmq.zmq_connect(socket, address) != 0:
        sys.exit("connect failed")
    buffer = ctypes.create_string_buffer(65536)
    while (length := zmq.zmq_recv(socket, buffer, len(buffer), 0)) >= 0:
        sys.stdout.buffer.write(buffer.raw[:length])
        sys.stdout.flush()
