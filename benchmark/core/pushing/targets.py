"""Reads the target of a push from the command line."""

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from benchmark.core.pushing.folder import Folder
from benchmark.core.pushing.git_place import GitPlace
from benchmark.core.pushing.hub import Hub
from benchmark.core.pushing.s3 import Bucket
from benchmark.core.pushing.target import PushError, Target

_HUB = re.compile(r"hf:(?://datasets/)?([\w.-]+/[\w.-]+)(?:@([\w./-]+))?", re.ASCII)
_BUCKET = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/(.*))?")
_LOCAL = {"localhost", "127.0.0.1", "::1"}


def open_target(text: str, environment: Mapping[str, str], *, private: bool = False) -> Target:
    """Return the target with this address. Raises PushError if it is none."""
    if text.startswith("hf:"):
        if not (match := _HUB.fullmatch(text)):
            raise PushError("The target is not a dataset repository. Write hf:OWNER/NAME.")
        endpoint = environment.get("HF_ENDPOINT") or None
        _require_encryption(endpoint, "HF_ENDPOINT")
        return Hub(match[1], match[2], endpoint, environment.get("HF_TOKEN") or None, private)
    if private:
        raise PushError("--private is for hf: targets only. Leave it out.")
    if text.startswith("s3:"):
        if not (match := _BUCKET.fullmatch(text)):
            raise PushError("The target is not a place in a bucket. Write s3://BUCKET/PREFIX.")
        endpoint = environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL") or None
        _require_encryption(endpoint, "AWS_ENDPOINT_URL")
        return Bucket(match[1], match[2] or "", endpoint)
    if text.startswith("git+"):
        return _git_place(text.removeprefix("git+"), environment.get("GIT_TOKEN") or None)
    parts = urlsplit(text)
    if parts.scheme == "file" and parts.netloc in ("", "localhost"):
        return Folder(Path(unquote(parts.path)))
    if "://" in text:
        raise PushError("Assay can't send to such a target. Use hf:, git+https:, git+ssh:, s3: or a folder.")
    return Folder(Path(text))


def _git_place(address: str, token: str | None) -> GitPlace:
    parts = urlsplit(address)
    if parts.scheme not in ("https", "http", "ssh", "file"):
        raise PushError("The target is not a git repository. Write git+https://…, git+ssh://… or git+file://….")
    if parts.password or (parts.username and parts.scheme != "ssh") or parts.query or parts.fragment:
        raise PushError("The address of the repository contains a user or a token. Remove it and set GIT_TOKEN.")
    if parts.scheme != "file" and (not parts.hostname or parts.hostname.startswith("-")):
        raise PushError("The address of the repository has no host. Write git+https://HOST/PATH.")
    _require_encryption(address if parts.scheme == "http" else None, "the target")
    return GitPlace(address, token)


def _require_encryption(address: str | None, where: str) -> None:
    """Require an address with which a token is not sent in the clear, except to this machine."""
    if address is None:
        return
    parts = urlsplit(address)
    if parts.username or parts.password:
        raise PushError(f"The address in {where} contains a user or a token. Remove it.")
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOCAL):
        raise PushError(f"The address in {where} does not begin with https://. Use one that does.")
