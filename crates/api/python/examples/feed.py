"""A live feed: lines of standard input to whoever listens. A line that is a second old is of no use any
more: it is not repaired, and not waited for.

    feed.py send GROUP
    feed.py recv GROUP
"""

import asyncio
import sys

from fanfare import aio


async def send(group):
    feed = aio.StreamWriter(group, policy="live", framing="varint", lifetime="1s", rate="20M")
    async with feed:
        while line := await asyncio.to_thread(sys.stdin.buffer.readline):
            await feed.write_message(line.rstrip(b"\n"), lifetime=1)


async def receive(group):
    async with aio.StreamReader(group, start="now") as feed:
        print("ready", flush=True)
        async for message in feed.messages():
            if message.gap_before and message.offset > 0:
                print("(something is missing here)")
            print(message.data.decode(), flush=True)


if __name__ == "__main__":
    jobs = {"send": send, "recv": receive}
    if len(sys.argv) != 3 or sys.argv[1] not in jobs:
        sys.exit(__doc__)
    asyncio.run(jobs[sys.argv[1]](sys.argv[2]))
