#!/usr/bin/env python3
"""Makes the container image of static programs without Docker, as the last stage of the Dockerfile
says. The same programs give the same bytes. Needs Python 3.11, no packages, no network.

usage: image.py BIN ARCHITECTURE VERSION OUT.tar
BIN: the folder with the static programs. ARCHITECTURE: amd64 or arm64. SOURCE_DATE_EPOCH: the time of all
files. The archive is an OCI image layout; 'docker load -i', 'podman load -i' and 'skopeo copy
oci-archive:' take it.
"""

import datetime
import gzip
import hashlib
import io
import json
import os
import pathlib
import sys
import tarfile


def last_stage(dockerfile):
    """The instructions of the Dockerfile's last stage, each as its word and the rest."""
    lines = dockerfile.read_text().replace("\\\n", " ").splitlines()
    instructions = [line.split(None, 1) for line in lines if line and not line.startswith(("#", " "))]
    starts = [index for index, (word, _) in enumerate(instructions) if word == "FROM"]
    if instructions[starts[-1]][1].strip() != "scratch":
        sys.exit(f"error: {dockerfile}: the last stage is not FROM scratch")
    return instructions[starts[-1] + 1 :]


def entry(name, time, mode, owner=0, content=None):
    """A folder or a file of a layer; no name of an owner is kept, and one time for all."""
    info = tarfile.TarInfo(name)
    info.mode, info.mtime, info.uid, info.gid = mode, time, owner, owner
    info.type = tarfile.DIRTYPE if content is None else tarfile.REGTYPE
    info.size = 0 if content is None else len(content)
    return info, content


def archive(entries):
    """A tar archive that depends on content alone."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for info, content in entries:
            tar.addfile(info, None if content is None else io.BytesIO(content))
    return buffer.getvalue()


def layer_and_settings(instructions, bin_folder, time):
    """What the image holds, and what is run how: from the Dockerfile's own words."""
    found, folders, settings = {}, set(), {"Env": []}
    for word, rest in instructions:
        if word == "COPY":
            owner = 0
            options = [part for part in rest.split() if part.startswith("--")]
            *sources, target = [part for part in rest.split() if not part.startswith("--")]
            for option in options:
                if option.startswith("--chown="):
                    owner = int(option.removeprefix("--chown=").split(":")[0])
            if target.endswith("/"):
                for source in sources:
                    name = pathlib.PurePosixPath(source).name
                    found[f"{target}{name}"] = (0o755, owner, (bin_folder / name).read_bytes())
                target = target.rstrip("/")
                owner = 0
            # A folder of its own, such as the one for data.
            found[target] = (0o755, owner, None)
            folders.update(str(parent) for parent in pathlib.PurePosixPath(target).parents)
        elif word == "ENV":
            settings["Env"].append(rest.strip())
        elif word == "USER":
            settings["User"] = rest.strip()
        elif word == "WORKDIR":
            settings["WorkingDir"] = rest.strip()
        elif word == "EXPOSE":
            settings["ExposedPorts"] = {port: {} for port in rest.split()}
        elif word in ("ENTRYPOINT", "CMD"):
            settings[word.title()] = json.loads(rest)
        else:
            sys.exit(f"error: the Dockerfile's last stage has {word}, which is unknown here")
    for folder in folders - {"/"}:
        found.setdefault(folder, (0o755, 0, None))
    settings["Entrypoint"] = settings.pop("Entrypoint", [])
    entries = [
        entry(name.lstrip("/"), time, mode, owner, content)
        for name, (mode, owner, content) in sorted(found.items())
    ]
    return archive(entries), settings


def main():
    bin_folder, architecture, version, out = sys.argv[1:]
    time = int(os.environ["SOURCE_DATE_EPOCH"])
    instructions = last_stage(pathlib.Path(__file__).with_name("Dockerfile"))
    layer, settings = layer_and_settings(instructions, pathlib.Path(bin_folder), time)
    blobs = {}

    def keep(kind, content):
        """Puts content into the layout, and says where."""
        digest = hashlib.sha256(content).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = content
        return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(content)}

    def keep_json(kind, value):
        return keep(kind, json.dumps(value, sort_keys=True).encode())

    packed = keep(
        "application/vnd.oci.image.layer.v1.tar+gzip", gzip.compress(layer, compresslevel=9, mtime=0)
    )
    config = keep_json(
        "application/vnd.oci.image.config.v1+json",
        {
            "architecture": architecture,
            "os": "linux",
            "created": datetime.datetime.fromtimestamp(time, datetime.UTC).strftime("%FT%TZ"),
            "config": settings,
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
        },
    )
    kind = "application/vnd.oci.image.manifest.v1+json"
    manifest = keep_json(
        kind, {"schemaVersion": 2, "mediaType": kind, "config": config, "layers": [packed]}
    )
    manifest["annotations"] = {
        "org.opencontainers.image.ref.name": version,
        "io.containerd.image.name": f"docker.io/library/fanfare:{version}",
    }
    path = lambda kept: f"blobs/sha256/{kept['digest'].removeprefix('sha256:')}"
    blobs["index.json"] = json.dumps({"schemaVersion": 2, "manifests": [manifest]}).encode()
    blobs["oci-layout"] = b'{"imageLayoutVersion":"1.0.0"}'
    # What an older 'docker load' looks for.
    old = [{"Config": path(config), "RepoTags": [f"fanfare:{version}"], "Layers": [path(packed)]}]
    blobs["manifest.json"] = json.dumps(old).encode()
    entries = [entry(name, time, 0o644, 0, content) for name, content in sorted(blobs.items())]
    for folder in ("blobs/sha256", "blobs"):
        entries.insert(0, entry(folder, time, 0o755))
    pathlib.Path(out).write_bytes(archive(entries))


main()
