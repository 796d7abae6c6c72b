#!/usr/bin/env python3
"""Prints a bill of materials (CycloneDX 1.5) of what is in Cargo.lock. Needs Python 3.11, no packages.

usage: sbom.py Cargo.lock VERSION > fanfare.cdx.json
"""

import json
import sys
import tomllib


def component(package):
    """A crate, as CycloneDX names it."""
    name, version = package["name"], package["version"]
    kind = "library" if "source" in package else "application"
    reference = f"pkg:cargo/{name}@{version}"
    found = {"type": kind, "name": name, "version": version, "purl": reference, "bom-ref": reference}
    if "checksum" in package:
        found["hashes"] = [{"alg": "SHA-256", "content": package["checksum"]}]
    return found


def main():
    with open(sys.argv[1], "rb") as lock:
        packages = tomllib.load(lock)["package"]
    packages.sort(key=lambda package: (package["name"], package["version"]))
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "fanfare", "version": sys.argv[2]}},
        "components": [component(package) for package in packages],
    }
    json.dump(bill, sys.stdout, indent=1, sort_keys=True)
    print()


main()
