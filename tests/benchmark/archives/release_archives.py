"""Archives of releases made by hand: only the files that a comparison reads."""

from pathlib import Path
from typing import Any

import orjson

from annotator.core.schema import canonical, content_hash, read_document
from benchmark.core.archives.archive import DeterministicZip
from benchmark.core.archives.manifest import build_manifest
from tests.factories import WEATHER_TOOLS

CANARY = "assay-canary-0123456789"


def released(
    name: str, document: dict[str, Any], tools: list[Any] | None = None, stages: list[Any] | None = None
) -> dict[str, Any]:
    """A dialogue of a release: its neutral record, with its stages."""
    return {
        "id": name,
        "document": read_document(document),
        "tools": WEATHER_TOOLS if tools is None else tools,
        "stages": stages or [],
    }


def hash_of(one: dict[str, Any]) -> str:
    return content_hash(canonical(one["document"]))


def write_release(
    path: Path, version: str, dialogues: list[dict[str, Any]], *, project: str = "trips", errata: bool = False
) -> Path:
    """Write the archive of these dialogues. ``errata``: with the empty errata log that Assay adds."""
    items, records = [], []
    for one in dialogues:
        tools = content_hash(canonical({"tools": one["tools"]}))
        items.append(
            {"id": one["id"], "language": "", "variant_group": "", "revision_sha256": hash_of(one),
             "toolset_sha256": tools, "stages": one["stages"]}
        )  # fmt: skip
        records.append(
            {"assay": 1, "id": one["id"], "document": one["document"], "tools": one["tools"], "canary": CANARY}
        )
    root = f"release-{version}"
    with DeterministicZip(path) as archive:
        for name, lines in (("dialogues.jsonl", records), ("items.jsonl", items)):
            archive.add(f"{root}/{name}", b"".join(orjson.dumps(line) + b"\n" for line in lines))
        if errata:
            archive.add(f"{root}/errata.jsonl", b"")
        manifest = build_manifest(
            version=version, project=project, format="neutral", canary=CANARY, schema_versions={"release": 1},
            counts={"items": len(items)},
            files=[
                {"path": file.path.removeprefix(f"{root}/"), "sha256": file.sha256, "bytes": file.bytes}
                for file in archive.files
            ],
        )  # fmt: skip
        archive.add(f"{root}/manifest.json", manifest)
    return path
