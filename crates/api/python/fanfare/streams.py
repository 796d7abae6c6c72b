"""Streams: bytes or messages without an end, written here and read on many machines."""

import io
from typing import Generic, Iterator, Optional, TypeVar

from ._fanfare import Event, Report, Status, StreamIn, StreamMessage, StreamOut
from .errors import Ended
from .values import Data, Rate, Receivers, Size, Time, content, given


Raw = TypeVar("Raw", StreamIn, StreamOut)


class _End(io.RawIOBase, Generic[Raw]):
    """One end of a stream: what both have in common."""

    # Until the library has begun it: closing one that never began does nothing.
    _stream: Optional[Raw] = None
    _report: Optional[Report] = None

    def _is_open(self) -> bool:
        return self._stream is not None and self._report is None and not self.closed

    def _open(self) -> Raw:
        if self._stream is None or not self._is_open():
            raise Ended("stream: has ended")
        return self._stream

    def next_event(self, timeout: Optional[float] = None) -> Event:
        """What has happened next: who was heard, stalls or left."""
        return self._open().next(timeout)

    def _finish(self) -> Report:
        if self._report is None:
            self._report = self._open().finish()
        return self._report

    def stop(self) -> None:
        """Ends it where it is."""
        if self._stream is not None:
            self._stream.stop()

    def close(self) -> None:
        if self._is_open():
            try:
                self._finish()
            except Ended:
                pass
        super().close()


class StreamWriter(_End[StreamOut]):
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
        options = given(locals(), "group")
        super().__init__()
        self._stream = StreamOut(group, **options)

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
        if self._is_open():
            self._open().flush(active)

    def status(self) -> Status:
        """How it stands: bytes written and acknowledged, receivers, stall, rate."""
        return self._open().status()

    def finish(self) -> Report:
        """Closes the stream, waits until the receivers that count have all of it or are given up, and
        says what each came to."""
        return self._finish()

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self.stop()
        self.close()

    def __del__(self) -> None:
        # Nobody waits for receivers here: who forgets a stream ends it where it is.
        self.stop()
        super().__del__()


class StreamReader(_End[StreamIn]):
    """The end of a stream at which bytes come out. A file to read, as Python knows them.

    Raises ``Gap`` where bytes are lost; reading goes on behind them. Iterate over :meth:`messages` in a
    stream with framing; with ``unordered``, each as soon as it is whole.
    """

    def __init__(
        self,
        group: str,
        *,
        name: Optional[str] = None,
        start: Optional[str] = None,
        framing: Optional[str] = None,
        unordered: Optional[bool] = None,
        lifetime: Optional[Time] = None,
        message_max: Optional[Size] = None,
        interface: Optional[str] = None,
        ttl: Optional[int] = None,
        node_id: Optional[int] = None,
        loss: Optional[float] = None,
    ) -> None:
        options = given(locals(), "group")
        super().__init__()
        self._stream = StreamIn(group, **options)

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

    def finish(self) -> Report:
        """What was read is kept: tells the sender, if the stream was read to its end."""
        return self._finish()
