"""A chat without a server: lines of standard input go to everybody in the room, and what others say is
printed. At the end it waits until somebody else has the last line.

    chat.py GROUP NAME
"""

import asyncio
import sys

from fanfare import aio


async def listen(room, members):
    async for message in room:
        if message.kind == "message" and message.node != room.node:
            print(f"{message.topic.rpartition('/')[2]}: {message.data.decode()}", flush=True)
        elif message.kind == "joined":
            members.add(message.node)
        elif message.kind == "left":
            members.discard(message.node)


async def is_held(room, message):
    return any(
        fate.message == message and any(how == "holds" for _, how in fate.standings)
        for fate in await room.receipts()
    )


async def chat(group, name):
    async with aio.Group(group) as room:
        await room.subscribe("chat/#", ordering="source")
        members, last = set(), None
        listener = asyncio.create_task(listen(room, members))
        while line := await asyncio.to_thread(sys.stdin.readline):
            last = await room.publish(f"chat/{name}", line.rstrip("\n").encode(), receipts=True)
        for _ in range(250):
            if last is None or not members or await is_held(room, last):
                break
            await asyncio.sleep(0.02)
        listener.cancel()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    asyncio.run(chat(*sys.argv[1:]))
