"""Messages of groups: publish and subscribe without a server."""

from typing import Iterator, List, Optional

from ._fanfare import Fate, Member, Message, Publisher as RawPublisher
from .errors import Ended
from .values import Data, Path, Rate, Size, Time, content, given


class Publisher:
    """Publishes many messages on one topic: those sent close together travel together."""

    def __init__(self, publisher: RawPublisher) -> None:
        self._publisher = publisher

    def send(self, data: Data) -> None:
        """Publishes a message."""
        self._publisher.send(content(data))

    def flush(self) -> None:
        """Waits until all of them are on their way."""
        self._publisher.flush()


class Group:
    """A member of a group. Iterate over it for what comes. As a context manager it leaves at the end."""

    def __init__(
        self,
        group: str,
        *,
        name: Optional[str] = None,
        rate: Optional[Rate] = None,
        cc: Optional[str] = None,
        message_max: Optional[Size] = None,
        cache_dir: Optional[Path] = None,
        repair_rate: Optional[Rate] = None,
        interface: Optional[str] = None,
        ttl: Optional[int] = None,
        segment: Optional[int] = None,
        node_id: Optional[int] = None,
        loss: Optional[float] = None,
    ) -> None:
        options = given(locals(), "group")
        self._member = Member(group, **options)

    @property
    def node(self) -> int:
        """The id of this member."""
        return self._member.node

    def subscribe(
        self,
        topics: str,
        *,
        ordering: Optional[str] = None,
        history: Optional[Time] = None,
        priority: Optional[int] = None,
        unreliable: Optional[bool] = None,
    ) -> int:
        """Asks for the messages on some topics, such as ``"weather/#"``; gives the number of the
        subscription."""
        options = given(locals(), "topics")
        return self._member.subscribe(topics, **options)

    def unsubscribe(self, subscription: int) -> bool:
        """Ends a subscription; ``False`` when there is none of that number."""
        return self._member.unsubscribe(subscription)

    def publish(
        self,
        topic: str,
        data: Data,
        *,
        priority: Optional[int] = None,
        expiry: Optional[Time] = None,
        tag: Optional[int] = None,
        replaces: Optional[bool] = None,
        receipts: Optional[bool] = None,
    ) -> int:
        """Publishes a message; gives its number, by which :meth:`receipts` names it."""
        options = given(locals(), "topic", "data")
        return self._member.publish(topic, content(data), **options)

    def publisher(
        self,
        topic: str,
        *,
        priority: Optional[int] = None,
        expiry: Optional[Time] = None,
        tag: Optional[int] = None,
        replaces: Optional[bool] = None,
        receipts: Optional[bool] = None,
    ) -> Publisher:
        """For many messages on one topic."""
        options = given(locals(), "topic")
        return Publisher(self._member.publisher(topic, **options))

    def cancel(self, tag: int) -> int:
        """Withdraws own messages with this tag, as far as they still wait or can be repaired."""
        return self._member.cancel(tag)

    def next(self, timeout: Optional[float] = None) -> Message:
        """What comes next. Raises ``TimeoutError``, or ``Ended``."""
        return self._member.next(timeout)

    def __iter__(self) -> Iterator[Message]:
        while True:
            try:
                yield self._member.next()
            except Ended:
                return

    def receipts(self) -> List[Fate]:
        """What is new of own messages with ``receipts``. It does not wait: members are asked, and what
        they say is there a little later."""
        return self._member.receipts()

    def leave(self) -> None:
        """Says good-bye, and ends."""
        self._member.leave()

    def stop(self) -> None:
        """Asks it to end."""
        self._member.stop()

    def __enter__(self) -> "Group":
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._member.leave()
        except Ended:
            pass
