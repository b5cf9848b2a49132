"""The manifest: what one backup consists of. It is written last, so that a backup with a manifest is whole."""

import hmac
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import Any

from annotator.core.backups.errors import BackupError

FORMAT = 1


@dataclass(frozen=True)
class Stored:
    """Content as it is stored. ``place``: its path in the folder of backups; the hashes are SHA-256."""

    place: str
    bytes: int
    sha256: str
    stored_bytes: int
    stored_sha256: str


@dataclass(frozen=True)
class File:
    """A file below MEDIA_ROOT. ``changed``: when it was last written, in nanoseconds since 1970."""

    name: str
    changed: int
    content: Stored


@dataclass(frozen=True)
class Manifest:
    """One backup. ``rows``: {table: number of rows} at the moment of the database.

    ``secret_key`` is a mark of the secret key of the installation, and ``seal`` a hash of everything else, made with
    that key, so that a change of the manifest is noticed.
    """

    name: str
    version: str
    started_at: str
    finished_at: str
    database: str
    database_version: str
    migrations: list[str]
    rows: dict[str, int]
    recipients: list[str]
    dump: Stored
    files: list[File]
    secret_key: str = ""
    seal: str = ""

    @property
    def parts(self) -> list[tuple[str, Stored]]:
        """Return everything that is stored, with a name for people."""
        return [("the database", self.dump), *((file.name, file.content) for file in self.files)]

    @property
    def bytes(self) -> int:
        """Return the size of the database's dump and all files, before encryption."""
        return sum(part.bytes for _, part in self.parts)

    @property
    def at(self) -> datetime:
        """Return when the backup began."""
        return datetime.fromisoformat(self.started_at)


def as_text(manifest: Manifest) -> str:
    """Return the manifest as JSON."""
    return json.dumps({"format": FORMAT, **asdict(manifest)}, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def read_manifest(text: str, name: str) -> Manifest:
    """Read the manifest of the backup ``name``. Raises BackupError."""
    try:
        said: Mapping[str, Any] = json.loads(text)
        version = said["format"]
        if version != FORMAT:
            raise BackupError(
                f"The backup {name} has format {version}; this version of Assay reads format {FORMAT}. Use the version "
                f"of Assay that made it ({said.get('version', 'unknown')})."
            )
        fields = {key: value for key, value in said.items() if key != "format"}
        fields["dump"] = Stored(**fields["dump"])
        fields["files"] = [File(**file | {"content": Stored(**file["content"])}) for file in fields["files"]]
        manifest = Manifest(**fields)
        _ = manifest.at
    except (ValueError, KeyError, TypeError, AttributeError):
        raise BackupError(f"The manifest of the backup {name} can't be read. Use another backup.") from None
    if manifest.name != name:
        raise BackupError(f"The manifest in the folder {name} belongs to the backup {manifest.name}.")
    return manifest


def mark_of(secret: str) -> str:
    """Return a mark that shows whether two secret keys are the same, and nothing else of them."""
    return hmac.digest(secret.encode(), b"mark of backups", sha256).hex()[:16]


def sealed(manifest: Manifest, secret: str) -> Manifest:
    """Return the manifest with the mark of a secret key and the seal made with it."""
    plain = replace(manifest, secret_key=mark_of(secret), seal="")
    key = hmac.digest(secret.encode(), b"seal of backups", sha256)
    return replace(plain, seal=hmac.digest(key, as_text(plain).encode(), sha256).hex())


def is_sealed(manifest: Manifest, secret: str) -> bool:
    """Return whether nothing was changed since the manifest was sealed with this secret key."""
    return hmac.compare_digest(sealed(manifest, secret).seal, manifest.seal)
