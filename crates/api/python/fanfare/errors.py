"""What goes wrong.

A mistake in an argument or an option is a ``ValueError``. Nothing came in time: ``TimeoutError``.
"""


class Error(Exception):
    """This machine or its network refuses, or the other side did something wrong."""


class Ended(Error):
    """Nothing more will come, or be taken."""


class Gap(Error):
    """Bytes of a stream are lost, from ``start`` up to ``end``. Reading goes on behind them."""

    def __init__(self, text: str, start: int, end: int) -> None:
        super().__init__(text)
        self.start = start
        self.end = end
