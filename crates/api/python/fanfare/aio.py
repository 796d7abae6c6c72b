"""The same for ``asyncio``.

What comes is fetched by a thread and waits in the loop, so that a task that is cancelled while it waits
loses nothing. What is asked for runs in the loop's own threads.
"""

import asyncio
import atexit
import threading
import weakref
from typing import Any, AsyncIterator, Callable, Generic, List, Optional, TypeVar

from . import files, groups, streams
from ._fanfare import Event, Fate, Message, Report, Status, StreamMessage
from .errors import Ended
from .values import Data

T = TypeVar("T")

AHEAD = 256
"""So many items wait in the loop at most."""

_fetchers: "weakref.WeakSet[_Fetcher[Any]]" = weakref.WeakSet()


class _Fetcher(Generic[T]):
    """Fetches what comes by a thread of its own, from the first time on that somebody asks."""

    def __init__(self, fetch: Callable[[], Optional[T]], stop: Callable[[], None]) -> None:
        self._fetch = fetch
        self._stop = stop
        self._room = threading.Semaphore(AHEAD)
        self._queue: "Optional[asyncio.Queue[Any]]" = None
        self._thread: Optional[threading.Thread] = None
        self.over = False

    def _run(self, loop: asyncio.AbstractEventLoop, queue: "asyncio.Queue[Any]") -> None:
        while True:
            self._room.acquire()
            try:
                item: Any = self._fetch()
            except Exception as error:  # it is raised where it is waited for
                item = error
            try:
                loop.call_soon_threadsafe(queue.put_nowait, item)
            except RuntimeError:  # the loop is closed
                return
            if item is None or isinstance(item, Ended):
                return

    async def next(self) -> Optional[T]:
        """The next item; ``None`` when nothing more comes."""
        if self.over:
            return None
        if self._queue is None:
            self._queue = asyncio.Queue()
            self._thread = threading.Thread(
                target=self._run,
                args=(asyncio.get_running_loop(), self._queue),
                name="fanfare",
                daemon=True,
            )
            _fetchers.add(self)
            self._thread.start()
        item = await self._queue.get()
        self._room.release()
        if item is None or isinstance(item, Ended):
            self.over = True
            return None
        if isinstance(item, Exception):
            raise item
        found: T = item
        return found

    def end(self) -> None:
        """Stops what it fetches from, and waits for the thread."""
        self._stop()
        for _ in range(2):
            self._room.release()
        if self._thread is not None:
            self._thread.join(5)


@atexit.register
def _end_all() -> None:
    for fetcher in list(_fetchers):
        fetcher.end()


async def _items(fetcher: "_Fetcher[T]") -> AsyncIterator[T]:
    while True:
        item = await fetcher.next()
        if item is None:
            return
        yield item


class Transfer:
    """Files that are sent or received: ``async for`` gives what happens."""

    def __init__(self, transfer: files.Transfer) -> None:
        self._transfer = transfer
        self._fetcher: "_Fetcher[Event]" = _Fetcher(transfer.next, transfer.stop)

    def __aiter__(self) -> AsyncIterator[Event]:
        return _items(self._fetcher)

    async def finish(self) -> Report:
        """Waits for the end, and says what it came to."""
        return await asyncio.to_thread(self._transfer.finish)

    def stop(self) -> None:
        """Asks it to end."""
        self._transfer.stop()


async def send_files(*arguments: Any, **options: Any) -> Transfer:
    """As :func:`fanfare.send_files`."""
    return Transfer(await asyncio.to_thread(files.send_files, *arguments, **options))


async def receive_files(*arguments: Any, **options: Any) -> Transfer:
    """As :func:`fanfare.receive_files`."""
    return Transfer(await asyncio.to_thread(files.receive_files, *arguments, **options))


class StreamWriter:
    """As :class:`fanfare.StreamWriter`."""

    def __init__(self, group: str, **options: Any) -> None:
        self._stream = streams.StreamWriter(group, **options)

    async def write(self, data: Data) -> int:
        """Writes all of it; waits for room."""
        return await asyncio.to_thread(self._stream.write, data)

    async def write_message(self, data: Data, lifetime: Optional[float] = None) -> None:
        """Writes a message."""
        await asyncio.to_thread(self._stream.write_message, data, lifetime)

    async def flush(self, active: bool = False) -> None:
        """Sends what was written."""
        self._stream.flush(active)

    def status(self) -> Status:
        """How it stands."""
        return self._stream.status()

    async def finish(self) -> Report:
        """Closes the stream, and says what each receiver came to."""
        return await asyncio.to_thread(self._stream.finish)

    def stop(self) -> None:
        """Ends it where it is."""
        self._stream.stop()

    async def __aenter__(self) -> "StreamWriter":
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self._stream.stop()
        await asyncio.to_thread(self._stream.close)


class StreamReader:
    """As :class:`fanfare.StreamReader`, for messages or for chunks of bytes, not for both."""

    def __init__(self, group: str, **options: Any) -> None:
        self._stream = streams.StreamReader(group, **options)
        self._messages: "_Fetcher[StreamMessage]" = _Fetcher(
            self._stream.read_message, self._stream.stop
        )
        self._chunks: "_Fetcher[bytes]" = _Fetcher(self._chunk, self._stream.stop)

    def _chunk(self) -> Optional[bytes]:
        return self._stream.read_chunk() or None

    async def read_message(self) -> Optional[StreamMessage]:
        """The next message; ``None``: the stream has ended."""
        return await self._messages.next()

    def messages(self) -> AsyncIterator[StreamMessage]:
        """All messages until the stream ends."""
        return _items(self._messages)

    async def read_chunk(self) -> bytes:
        """As many bytes as there are at once. Nothing: the stream has ended."""
        return await self._chunks.next() or b""

    async def finish(self) -> Report:
        """What was read is kept: tells the sender, if all of it was taken here."""
        if not (self._messages.over or self._chunks.over):
            await self._end()
        return await asyncio.to_thread(self._stream.finish)

    async def _end(self) -> None:
        self._stream.stop()
        for fetcher in (self._messages, self._chunks):
            await asyncio.to_thread(fetcher.end)

    async def __aenter__(self) -> "StreamReader":
        return self

    async def __aexit__(self, *_: object) -> None:
        if not (self._messages.over or self._chunks.over):
            await self._end()
        await asyncio.to_thread(self._stream.close)


class Group:
    """As :class:`fanfare.Group`: ``async for`` gives what comes."""

    def __init__(self, group: str, **options: Any) -> None:
        self._group = groups.Group(group, **options)
        self._fetcher: "_Fetcher[Message]" = _Fetcher(self._group.next, self._group.stop)

    @property
    def node(self) -> int:
        """The id of this member."""
        return self._group.node

    async def subscribe(self, topics: str, **options: Any) -> int:
        """Asks for the messages on some topics."""
        return await asyncio.to_thread(self._group.subscribe, topics, **options)

    async def unsubscribe(self, subscription: int) -> bool:
        """Ends a subscription."""
        return await asyncio.to_thread(self._group.unsubscribe, subscription)

    async def publish(self, topic: str, data: Data, **options: Any) -> int:
        """Publishes a message; gives its number."""
        return await asyncio.to_thread(self._group.publish, topic, data, **options)

    def publisher(self, topic: str, **options: Any) -> groups.Publisher:
        """For many messages on one topic; its calls may wait a little."""
        return self._group.publisher(topic, **options)

    async def receipts(self) -> List[Fate]:
        """What is new of own messages with ``receipts``."""
        return await asyncio.to_thread(self._group.receipts)

    async def next(self) -> Optional[Message]:
        """What comes next; ``None``: the member has ended."""
        return await self._fetcher.next()

    def __aiter__(self) -> AsyncIterator[Message]:
        return _items(self._fetcher)

    async def leave(self) -> None:
        """Says good-bye, and ends."""
        await asyncio.to_thread(self._group.leave)
        await asyncio.to_thread(self._fetcher.end)

    async def __aenter__(self) -> "Group":
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await self.leave()
        except Ended:
            pass
