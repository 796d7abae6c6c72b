#!/usr/bin/env python3
"""Known answers for the envelope and the key schedule, made without any code of Fanfare.

    python3 vectors.py > vectors.txt

Needs the package `cryptography`.
"""

import hashlib
import hmac

from cryptography.hazmat.primitives.ciphers.aead import AESCCM, AESGCM


def extract(salt, secret):
    return hmac.new(salt, secret, hashlib.sha256).digest()


def expand(prk, info, length):
    out, block, n = b"", b"", 1
    while len(out) < length:
        block = hmac.new(prk, block + info + bytes([n]), hashlib.sha256).digest()
        out, n = out + block, n + 1
    return out[:length]


def nonce(iv, number):
    low = int.from_bytes(iv[-8:], "big") ^ number
    return iv[:-8] + low.to_bytes(8, "big")


def main():
    secret = bytes(range(32))
    epoch, slot = 259, 0xC0DE
    salt = bytes.fromhex("c0de0102030405060708090a0b0c0d0e")
    context = hashlib.sha256(b"fanfare group 239.255.42.1:6003").digest()[:8]
    message = b"The quick brown fox jumps over the lazy dog"

    epoch_secret = expand(extract(b"fanfare seal 1", secret), b"epoch" + epoch.to_bytes(4, "big"), 32)
    key_id = expand(epoch_secret, b"key id", 4)
    chain = expand(epoch_secret, b"sender" + slot.to_bytes(2, "big") + salt, 32)
    print("context", context.hex())
    print("key_id", key_id.hex())
    print("fingerprint", expand(epoch_secret, b"fingerprint", 16).hex())

    for generation in range(3):
        packet, short = expand(chain, b"packet", 29), expand(chain, b"short", 29)
        print(f"packet_{generation}", packet.hex())
        for number in (0, (1 << 32) + 5):
            head = bytes([0x08 | (generation & 3) << 4, epoch & 0xFF])
            head += slot.to_bytes(2, "big") + (number & 0xFFFFFFFF).to_bytes(4, "big")
            # A nonce of 12 bytes: the 13th of what is derived is for the short form only.
            sealed = AESGCM(packet[:16]).encrypt(nonce(packet[16:28], number), message, head + context)
            print(f"long_{generation}_{number}", (head + sealed).hex())
            head = bytes([0x48 | (generation & 3) << 4, slot & 0xFF]) + (number & 0xFFFF).to_bytes(2, "big")
            sealed = AESCCM(short[:16], tag_length=8).encrypt(
                nonce(short[16:29], number), message, head + context
            )
            print(f"short_{generation}_{number}", (head + sealed).hex())
        chain = expand(chain, b"next", 32)

    hello = expand(epoch_secret, b"hello" + salt, 29)
    number = 7
    head = bytes([0x88, epoch & 0xFF]) + slot.to_bytes(2, "big") + key_id + salt + number.to_bytes(4, "big")
    inside = (1_790_000_000_123_456).to_bytes(8, "big") + (12345).to_bytes(8, "big")
    inside += (2).to_bytes(4, "big") + b"\x01" + b"question" + b"answered"
    sealed = AESGCM(hello[:16]).encrypt(nonce(hello[16:28], number), inside, head + context)
    print("hello", (head + sealed).hex())


main()
