"""Files, streams and messages to many machines over multicast, and a receipt from each.

    import fanfare

    report = fanfare.send_files("239.255.42.1:6003", "disk.img", expect=3).finish()
    print(report.complete, report.receivers)

``send_files`` and ``receive_files`` transfer files. ``StreamWriter`` and ``StreamReader`` are the two
ends of a stream. ``Group`` publishes and subscribes. ``fanfare.aio`` has the same for ``asyncio``.
"""

from ._fanfare import (
    VERSION as __version__,
    Event,
    Fate,
    Message,
    Received,
    Report,
    Status,
    StreamMessage,
)
from .errors import Ended, Error, Gap
from .files import Transfer, receive_files, send_files
from .groups import Group, Publisher
from .streams import StreamReader, StreamWriter

__all__ = [
    "Ended",
    "Error",
    "Event",
    "Fate",
    "Gap",
    "Group",
    "Message",
    "Publisher",
    "Received",
    "Report",
    "Status",
    "StreamMessage",
    "StreamReader",
    "StreamWriter",
    "Transfer",
    "__version__",
    "receive_files",
    "send_files",
]
