"""A dataset repository of the Hugging Face Hub, through huggingface_hub."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from benchmark.core.pushing.target import PushedRelease, PushError, SentFile, Unavailable

_KEPT = {".gitattributes"}
_PIECE = 1 << 20


class Hub:
    """A branch of a dataset repository, whose content becomes the release's."""

    at_once = True

    def __init__(self, name: str, revision: str | None, endpoint: str | None, token: str | None, private: bool) -> None:
        try:
            from huggingface_hub import HfApi
            from huggingface_hub.utils.tqdm import disable_progress_bars
        except ImportError:
            raise PushError(
                "Sending to hf: needs huggingface_hub. Install Assay with its push extra: uv sync --extra push."
            ) from None
        disable_progress_bars()
        self._name, self._revision, self._private = name, revision or "main", private
        # False: never a token that was stored on this machine.
        self._api: Any = HfApi(endpoint=endpoint, token=token or False)
        self.url = f"{self._api.endpoint}/datasets/{name}"

    def compare(self, release: PushedRelease, *, content: bool) -> dict[str, bool]:
        # The server calculates its hashes from what it stored, so they are enough for both ways.
        return self._compare(release, self._tree(release.tag))

    def send(self, release: PushedRelease, files: Sequence[SentFile]) -> None:
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        place = {"repo_id": self._name, "repo_type": "dataset"}
        with self._sentences():
            self._api.create_repo(**place, private=self._private or None, exist_ok=True)
            there = self._tree(self._revision)
            same = self._compare(release, there)
            gone = there.keys() - {file.path for file in release.files} - _KEPT
            revision = self._revision
            # A push that stopped before its tag has committed already.
            if gone or not all(same.get(file.path) for file in release.files):
                operations: list[Any] = [CommitOperationDelete(path) for path in sorted(gone)]
                operations += [CommitOperationAdd(file.path, str(file.local)) for file in release.files]
                done = self._api.create_commit(
                    **place, revision=revision, operations=operations, commit_message=f"Release {release.version}"
                )
                revision = done.oid
            self._api.create_tag(**place, tag=release.tag, revision=revision, exist_ok=True)

    def remove(self, files: Sequence[SentFile]) -> None:
        """Keep everything: a commit is never removed."""

    def _tree(self, revision: str) -> dict[str, Any]:
        """Return the files of a branch or tag; none if it, or the repository, does not exist."""
        from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

        with self._sentences():
            try:
                tree = self._api.list_repo_tree(self._name, repo_type="dataset", revision=revision, recursive=True)
                return {each.path: each for each in tree if hasattr(each, "blob_id")}
            except RevisionNotFoundError:
                return {}
            except RepositoryNotFoundError as error:
                if error.response.status_code == 404:
                    return {}
                raise

    def _compare(self, release: PushedRelease, there: dict[str, Any]) -> dict[str, bool]:
        found = {}
        for file in release.files:
            if each := there.get(file.path):
                same = each.lfs.sha256 == file.sha256 if each.lfs else each.blob_id == _blob_id(file)
                found[file.path] = each.size == file.bytes and same
        return found

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        """Turn the library's errors into sentences, which contain nothing that the server said."""
        import httpx
        from huggingface_hub.errors import HfHubHTTPError

        try:
            yield
        except (httpx.HTTPError, HfHubHTTPError, OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
            # The upload of a large file wraps what happened.
            cause = error.__cause__ if isinstance(error, RuntimeError) else error
            if isinstance(cause, HfHubHTTPError):
                raise self._refusal(cause.response.status_code) from None
            if isinstance(cause, httpx.HTTPError | OSError):
                raise Unavailable(
                    f"{self.url} does not answer. Check the network and HF_ENDPOINT, then try again."
                ) from None
            raise PushError(
                f"Can't use {self.url} ({type(error).__name__}). Check the name of the repository and HF_ENDPOINT."
            ) from None

    def _refusal(self, status: int) -> PushError:
        if status in (401, 403):
            return PushError(f"{self.url} refuses access. Set HF_TOKEN to a token that may write there.")
        if status == 404:
            return PushError(f"{self.url} or its branch {self._revision} does not exist. Create it, or check the name.")
        if status >= 500 or status == 429:
            return Unavailable(f"{self.url} reports an error (HTTP {status}). Try again later.")
        return PushError(f"{self.url} refuses the files (HTTP {status}). Check your quota and the repository.")


def _blob_id(file: SentFile) -> str:
    """Return the hash that git, and so the server, gives a small file."""
    digest = hashlib.sha1(f"blob {file.bytes}\0".encode(), usedforsecurity=False)
    with file.local.open("rb") as stream:
        while piece := stream.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()
