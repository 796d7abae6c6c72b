"""Arguments on their way to the library."""

import os
from typing import Any, Dict, List, Sequence, Union

Path = Union[str, "os.PathLike[str]"]
Data = Union[bytes, bytearray, memoryview, Any]
"""Bytes, or anything that has some: an ``array``, a NumPy array."""
Rate = Union[int, float, str]
"""Bits a second, or text such as ``"100M"``."""
Size = Union[int, str]
"""Bytes, or text such as ``"8MiB"``."""
Time = Union[int, float, str]
"""Seconds, or text such as ``"500ms"``."""
Receivers = Union[int, str, Sequence[str]]
"""A number, names, ``"anyone"`` or ``"nobody"``."""


def given(arguments: Dict[str, Any], *others: str) -> Dict[str, Any]:
    """The options among ``arguments``: those that were given. ``others`` are none."""
    left_out = ("self", "__class__", *others)
    return {
        name: value
        for name, value in arguments.items()
        if value is not None and name not in left_out
    }


def content(data: Data) -> bytes:
    """The bytes of anything that has some."""
    return data if isinstance(data, bytes) else memoryview(data).tobytes()


def every(paths: Union[Path, Sequence[Path]]) -> List[str]:
    """One path, or several."""
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    return [os.fspath(path) for path in paths]
