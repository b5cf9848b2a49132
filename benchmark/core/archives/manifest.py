"""The manifest of a release: a description of every file, and how the release was made.

``manifest.json`` lists every other file with its SHA-256. ``items.jsonl`` has one line per dialogue, with the hash of
its verified revision and the stages that it passed.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Any, Literal, TypeVar

import orjson
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from annotator.core.schema import Problem, SchemaProblem
from annotator.core.schema.errors import problems_of
from benchmark.core.files.safe_paths import is_safe_path

MANIFEST = "manifest.json"
ITEMS = "items.jsonl"
SUMS = "SHA256SUMS"
#: Version of the layout of an archive, which a release keeps: 1 had ``table.jsonl`` instead of Parquet, 2 no entries, 3
#: no table of labels.
VERSION = 4
#: The layouts that are still written.
WRITTEN = (2, 3, VERSION)

_Model = TypeVar("_Model", bound=BaseModel)
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]


def _safe(path: str) -> str:
    if not is_safe_path(path):
        raise ValueError("not a plain relative path")
    return path


class ManifestFile(BaseModel):
    """One file. ``records`` is its number of lines, ``format`` the format of its records, if it has any."""

    model_config = ConfigDict(extra="allow")

    path: Annotated[str, AfterValidator(_safe)]
    sha256: Sha256
    bytes: int = Field(ge=0)
    records: int | None = Field(default=None, ge=0)
    format: str | None = None


class Manifest(BaseModel):
    """A release as data. Other fields (draws, agreement, who verified) vary between releases."""

    model_config = ConfigDict(extra="allow")

    assay_release: Literal[1] = 1
    version: Name
    project: Name
    format: Name
    canary: Annotated[str, StringConstraints(min_length=8, max_length=200)]
    schema_versions: dict[str, int | str]
    counts: dict[str, int]
    files: list[ManifestFile] = Field(min_length=1)
    protocol: dict[str, Any] | None = None
    samples: list[dict[str, Any]] = Field(default_factory=list)


class ReleasedItem(BaseModel):
    """One line of ``items.jsonl``."""

    model_config = ConfigDict(extra="allow")

    id: Name
    language: str
    variant_group: str
    revision_sha256: Sha256
    toolset_sha256: Sha256
    stages: list[Any]


def build_manifest(**fields: Any) -> bytes:
    """Return ``manifest.json`` from its fields, always the same bytes for the same fields.

    Raises SchemaProblem, with pointers into the manifest, if they do not make a manifest.
    """
    manifest = _validated(Manifest, fields)
    paths = Counter(file.path for file in manifest.files)
    doubled = sorted(path for path, count in paths.items() if count > 1)
    if doubled or MANIFEST in paths:
        raise SchemaProblem(
            [Problem("/files", f"The files must be distinct and must not include {MANIFEST}: {doubled}.")]
        )
    return dump(manifest.model_dump(mode="json"))


def sum_lines(sums: Iterable[tuple[str, str]]) -> bytes:
    """Return ``SHA256SUMS`` from the path and the hash of each file, as ``sha256sum --check`` reads it."""
    return "".join(f"{sha256}  {path}\n" for path, sha256 in sums).encode()


def read_manifest(content: dict[str, Any]) -> Manifest:
    """Return a manifest from its JSON. Raises SchemaProblem."""
    return _validated(Manifest, content)


def read_item(content: dict[str, Any]) -> ReleasedItem:
    """Return a line of ``items.jsonl``. Raises SchemaProblem."""
    return _validated(ReleasedItem, content)


def dump(content: Any) -> bytes:
    """Return readable JSON with sorted keys and a line break at the end."""
    return orjson.dumps(content, option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _validated(model: type[_Model], content: dict[str, Any]) -> _Model:
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise problems_of(error) from None
