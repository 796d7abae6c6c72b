#!/usr/bin/env python3
"""Builds the wheel from a compiled library, with nothing but Python's own modules.

    cargo build --release -p fanfare-python
    crates/api/python/build_wheel.py target/release/libfanfare_python.so dist
"""

import base64
import hashlib
import pathlib
import re
import sys
import sysconfig
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
METADATA = """Metadata-Version: 2.1
Name: fanfare
Version: {version}
Summary: Files, streams and messages to many machines over multicast, and a receipt from each
License: MIT OR Apache-2.0
Requires-Python: >=3.9
"""
WHEEL = """Wheel-Version: 1.0
Generator: build_wheel.py
Root-Is-Purelib: false
Tag: {tag}
"""


def version():
    """As the workspace has it."""
    manifest = (HERE.parents[2] / "Cargo.toml").read_text(encoding="utf-8")
    return re.search(r'^version = "([^"]+)"', manifest, re.MULTILINE)[1]


def build(library, folder):
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    tag, number = f"cp39-abi3-{platform}", version()
    about = f"fanfare-{number}.dist-info"
    content = {
        f"fanfare/{path.name}": path.read_bytes()
        for path in sorted((HERE / "fanfare").iterdir())
        if path.suffix in (".py", ".pyi") or path.name == "py.typed"
    }
    content["fanfare/_fanfare.abi3.so"] = pathlib.Path(library).read_bytes()
    content[f"{about}/METADATA"] = METADATA.format(version=number).encode()
    content[f"{about}/WHEEL"] = WHEEL.format(tag=tag).encode()
    record = ""
    for name, data in content.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(data)}\n"
    content[f"{about}/RECORD"] = (record + f"{about}/RECORD,,\n").encode()
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"fanfare-{number}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            # The same bytes give the same wheel.
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return wheel


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print(build(*sys.argv[1:]))
