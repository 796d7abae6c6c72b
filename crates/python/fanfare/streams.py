"""Streams: bytes or messages without an end, written here and read on many machines."""

import io
from typing import Iterator, Optional

from ._fanfare import Event, Report, Status, StreamIn, StreamMessage, StreamOut
from .errors import Ended
from .values import Data, Rate, Receivers, Size, Time, content, given


class StreamWriter(io.RawIOBase):
    """The end of a stream at which bytes go in. A file to write, as Python knows them.

    ``close`` closes the stream and waits for the receivers that were expected; :meth:`finish` also
    says what each came to. Leaving a ``with`` block by an exception stops the stream where it is.
    """

    def __init__(
        self,
        group: str,
        *,
        expect: Optional[Receivers] = None,
        wait: Optional[Time] = None,
        policy: Optional[str] = None,
        framing: Optional[str] = None,
        buffer: Optional[Size] = None,
        flush: Optional[Time] = None,
        lifetime: Optional[Time] = None,
        rate: Optional[Rate] = None,
        cc: Optional[str] = None,
        interface: Optional[str] = None,
        ttl: Optional[int] = None,
        segment: Optional[int] = None,
        node_id: Optional[int] = None,
        loss: Optional[float] = None,
    ) -> None:
        options = given(locals())
        for name in ("self", "group", "__class__"):
            options.pop(name, None)
        self._stream: Optional[StreamOut] = None
        self._report: Optional[Report] = None
        super().__init__()
        self._stream = StreamOut(group, **options)

    def _open(self) -> StreamOut:
        if self._stream is None or self._report is not None or self.closed:
            raise Ended("stream: has ended")
        return self._stream

    def writable(self) -> bool:
        return True

    def write(self, data: Data) -> int:
        """Writes all of it; waits for room."""
        return self._open().write(content(data))

    def write_message(self, data: Data, lifetime: Optional[float] = None) -> None:
        """Writes a message; the stream needs ``framing``. What has not gone after ``lifetime``
        seconds is left out."""
        self._open().write_message(content(data), lifetime)

    def mark(self) -> None:
        """The next byte begins a message, in a stream without framing."""
        self._open().mark()

    def flush(self, active: bool = False) -> None:
        """Sends what was written, though it does not fill a packet. ``active``: receivers are told
        at once that nothing follows."""
        if self._stream is not None and self._report is None and not self.closed:
            self._stream.flush(active)

    def status(self) -> Status:
        """How it stands: bytes written and acknowledged, receivers, stall, rate."""
        return self._open().status()

    def next_event(self, timeout: Optional[float] = None) -> Event:
        """What has happened next: receivers that came, stall or left."""
        return self._open().next(timeout)

    def finish(self) -> Report:
        """Closes the stream, waits until the receivers that count have all of it or are given up, and
        says what each came to."""
        if self._report is None:
            self._report = self._open().finish()
        return self._report

    def stop(self) -> None:
        """Ends it where it is."""
        if self._stream is not None:
            self._stream.stop()

    def close(self) -> None:
        if not self.closed and self._stream is not None and self._report is None:
            try:
                self.finish()
            except Ended:
                pass
        super().close()

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self.stop()
        self.close()

    def __del__(self) -> None:
        # Nobody waits for receivers here: who forgets a stream ends it where it is.
        self.stop()
        super().__del__()


class StreamReader(io.RawIOBase):
    """The end of a stream at which bytes come out. A file to read, as Python knows them.

    Raises ``Gap`` where bytes are lost; reading goes on behind them. Iterate over :meth:`messages` in a
    stream with framing.
    """

    def __init__(
        self,
        group: str,
        *,
        name: Optional[str] = None,
        start: Optional[str] = None,
        framing: Optional[str] = None,
        lifetime: Optional[Time] = None,
        message_max: Optional[Size] = None,
        interface: Optional[str] = None,
        ttl: Optional[int] = None,
        node_id: Optional[int] = None,
        loss: Optional[float] = None,
    ) -> None:
        options = given(locals())
        for word in ("self", "group", "__class__"):
            options.pop(word, None)
        self._stream: Optional[StreamIn] = None
        self._report: Optional[Report] = None
        super().__init__()
        self._stream = StreamIn(group, **options)

    def _open(self) -> StreamIn:
        if self._stream is None or self._report is not None or self.closed:
            raise Ended("stream: has ended")
        return self._stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        room = memoryview(buffer).cast("B")
        found = self._open().read(len(room))
        room[: len(found)] = found
        return len(found)

    def read_chunk(self, most: int = 1 << 16, timeout: Optional[float] = None) -> bytes:
        """As many bytes as there are at once. Nothing: the stream has ended."""
        return self._open().read(most, timeout)

    def read_message(self, timeout: Optional[float] = None) -> Optional[StreamMessage]:
        """The next message; ``None``: the stream has ended."""
        return self._open().read_message(timeout)

    def messages(self) -> Iterator[StreamMessage]:
        """All messages until the stream ends."""
        while True:
            message = self.read_message()
            if message is None:
                return
            yield message

    @property
    def offset(self) -> int:
        """Position of the next byte; after a late start it does not begin at 0."""
        return self._open().offset()

    def next_event(self, timeout: Optional[float] = None) -> Event:
        """What has happened next: a sender was heard."""
        return self._open().next(timeout)

    def finish(self) -> Report:
        """What was read is kept: tells the sender, if the stream was read to its end."""
        if self._report is None:
            self._report = self._open().finish()
        return self._report

    def stop(self) -> None:
        """Ends it where it is."""
        if self._stream is not None:
            self._stream.stop()

    def close(self) -> None:
        if not self.closed and self._stream is not None and self._report is None:
            try:
                self.finish()
            except Ended:
                pass
        super().close()
