"""Files to many machines, and a receipt from each."""

import os
from typing import Iterator, Optional, Sequence, Union

from ._fanfare import Event, Files, Report
from .errors import Ended
from .values import Path, Rate, Receivers, Time, every, given


class Transfer:
    """Files that are sent or received, by a thread of their own.

    Iterate over it to see what happens, and call :meth:`finish` to know what it came to. As a context
    manager it is stopped at the end.
    """

    def __init__(self, files: Files) -> None:
        self._files = files

    def next(self, timeout: Optional[float] = None) -> Event:
        """What has happened next. Raises ``TimeoutError``, or ``Ended``."""
        return self._files.next(timeout)

    def __iter__(self) -> Iterator[Event]:
        while True:
            try:
                yield self._files.next()
            except Ended:
                return

    def finish(self) -> Report:
        """Waits for the end, and says what it came to."""
        return self._files.finish()

    def stop(self) -> None:
        """Asks it to end."""
        self._files.stop()

    def __enter__(self) -> "Transfer":
        return self

    def __exit__(self, *_: object) -> None:
        self._files.stop()


def send_files(
    group: str,
    paths: Union[Path, Sequence[Path]],
    *,
    expect: Optional[Receivers] = None,
    wait: Optional[Time] = None,
    rate: Optional[Rate] = None,
    cc: Optional[str] = None,
    one_way: Optional[bool] = None,
    sync: Optional[bool] = None,
    carousel: Optional[int] = None,
    name: Optional[str] = None,
    interface: Optional[str] = None,
    ttl: Optional[int] = None,
    segment: Optional[int] = None,
    node_id: Optional[int] = None,
    loss: Optional[float] = None,
) -> Transfer:
    """Sends files and folders to a group such as ``"239.255.42.1:6003"``."""
    options = given(locals(), "group", "paths")
    return Transfer(Files.send(group, every(paths), **options))


def receive_files(
    group: str,
    directory: Path,
    *,
    name: Optional[str] = None,
    until: Union[int, str, None] = None,
    timeout: Optional[Time] = None,
    conflict: Optional[str] = None,
    create_dirs: Optional[bool] = None,
    interface: Optional[str] = None,
    ttl: Optional[int] = None,
    node_id: Optional[int] = None,
    loss: Optional[float] = None,
) -> Transfer:
    """Receives files from a group into a folder, until it is stopped or as ``until`` says."""
    options = given(locals(), "group", "directory")
    return Transfer(Files.receive(group, os.fspath(directory), **options))
