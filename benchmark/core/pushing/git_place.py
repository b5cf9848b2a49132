"""A branch of a git repository, through the git program."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from benchmark.core.pushing.target import PushedRelease, PushError, SentFile, Unavailable, hash_file

LIMIT = 100_000_000
_SECONDS = 900
#: The program reads the token from the environment and hands it to git; git asks for it only for this host.
_HELPER = '!f() { test "$1" = get && echo username=git && echo "password=$GIT_TOKEN"; }; f'


class GitPlace:
    """The default branch of a repository, whose content becomes the release's."""

    at_once = True

    def __init__(self, address: str, token: str | None) -> None:
        self.url = self._address = address
        parts = urlsplit(address)
        settings = [
            # First forget the helpers that are set: they could store the token.
            ("credential.helper", ""), ("http.followRedirects", "false"), ("core.hooksPath", os.devnull),
            ("core.autocrlf", "false"), ("core.attributesFile", os.devnull), ("core.excludesFile", os.devnull),
            ("commit.gpgSign", "false"), ("tag.gpgSign", "false"), ("http.lowSpeedLimit", "1"),
            ("http.lowSpeedTime", "60"), ("gc.auto", "0"),
        ]  # fmt: skip
        if token and parts.scheme in ("http", "https"):
            settings.append((f"credential.{parts.scheme}://{parts.netloc}.helper", _HELPER))
        unwanted = ("GIT_TRACE", "GIT_CURL_VERBOSE", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_CONFIG")
        self._environment = {k: v for k, v in os.environ.items() if not k.startswith(unwanted)} | {
            "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "", "SSH_ASKPASS": "", "LC_ALL": "C",
            "GIT_SSH_COMMAND": os.environ.get("GIT_SSH_COMMAND", "ssh -oBatchMode=yes -oConnectTimeout=20"),
            "GIT_CONFIG_GLOBAL": os.devnull, "GIT_ALLOW_PROTOCOL": "https:http:ssh:file", "GIT_LFS_SKIP_SMUDGE": "1",
            "GIT_CONFIG_COUNT": str(len(settings)),
        }  # fmt: skip
        for who in ("AUTHOR", "COMMITTER"):
            self._environment.setdefault(f"GIT_{who}_NAME", "Assay")
            self._environment.setdefault(f"GIT_{who}_EMAIL", "assay@localhost")
        for number, (key, value) in enumerate(settings):
            self._environment |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}

    def compare(self, release: PushedRelease, *, content: bool) -> dict[str, bool]:
        if not self._git("ls-remote", self._address, f"refs/tags/{release.tag}"):
            return {}
        with TemporaryDirectory(prefix="assay-push-") as name:
            there = Path(name) / "there"
            self._git("clone", "--quiet", "--depth=1", "--branch", release.tag, "--", self._address, str(there))
            return {
                file.path: not (there / file.path).is_symlink() and hash_file(there / file.path) == file.sha256
                for file in release.files
                if (there / file.path).is_file()
            }

    def send(self, release: PushedRelease, files: Sequence[SentFile]) -> None:
        for file in release.files:
            if file.bytes > LIMIT:
                raise PushError(
                    f"{file.path} has {file.bytes:,} bytes; git hosts refuse files above {LIMIT:,}. "
                    "Send this release to hf:, s3:// or a folder."
                )
        with TemporaryDirectory(prefix="assay-push-") as name:
            work = Path(name) / "work"
            self._git("clone", "--quiet", "--depth=1", "--no-checkout", "--", self._address, str(work))
            for file in release.files:
                path = work / file.path
                path.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file.local, path)
            # An empty index: files of earlier releases are left out.
            self._git("read-tree", "--empty", cwd=work)
            self._git("add", "--all", "--force", ".", cwd=work)
            self._git("commit", "--quiet", "--allow-empty", "-m", f"Release {release.version}", cwd=work)
            self._git("tag", "--", release.tag, cwd=work)
            self._git("push", "--quiet", "--atomic", "origin", "HEAD", f"refs/tags/{release.tag}", cwd=work)

    def remove(self, files: Sequence[SentFile]) -> None:
        """Keep everything: a commit is never removed."""

    def _git(self, *arguments: str, cwd: Path | None = None) -> str:
        try:
            done = subprocess.run(  # noqa: S603 - no shell; the address is checked where the target is read
                ["git", *arguments],  # noqa: S607 - the git of this machine
                cwd=cwd, env=self._environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS,
            )  # fmt: skip
        except FileNotFoundError:
            raise PushError("The program git is missing. Install it, or use another target.") from None
        except subprocess.TimeoutExpired:
            raise Unavailable(
                f"{self.url} did not finish within {_SECONDS // 60} minutes. Check the network, then try again."
            ) from None
        if done.returncode:
            raise self._failure(done.stderr.decode(errors="replace").lower())
        return done.stdout.decode(errors="replace")

    def _failure(self, said: str) -> PushError:
        """Choose a sentence by what git said; its own words are never shown, because servers can write there."""
        for words, error, sentence in _FAILURES:
            if any(word in said for word in words):
                return error(sentence.format(url=self.url))
        return PushError(f"git failed at {self.url}. Check the address, the permissions and protected branches.")


_FAILURES: tuple[tuple[tuple[str, ...], type[PushError], str], ...] = (
    (("error: 401", "error: 403", "authentication failed", "could not read username", "could not read password",
      "permission denied"),
     PushError, "{url} refuses access. Set GIT_TOKEN to a token that may write there, or check your SSH key."),
    (("error: 30", "unable to update url base from redirection"),
     PushError, "{url} redirects to another address. Use that address, so that no token goes to another server."),
    (("error: 404", "not found", "does not exist", "does not appear to be a git repository"),
     PushError, "There is no repository at {url}. Create it first, or check the address."),
    (("error: 5", "could not resolve", "couldn't connect", "failed to connect", "connection", "timed out", "early eof"),
     Unavailable, "{url} does not answer or reports an error. Check the network, then try again."),
    (("rejected", "failed to push"),
     PushError, "{url} refuses the push: the branch or the tag changed, is protected, or is over quota. Try again."),
    (("no space left",), PushError, "The disk is full. Free some space and try again."),
)  # fmt: skip
