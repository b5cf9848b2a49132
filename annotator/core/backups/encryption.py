"""Encryption of what is stored, in the format of age (age-encryption.org/v1), through pyrage.

Files of this format can be read with the programs age and rage, too. It cuts a stream into authenticated pieces, so
that neither a changed, nor a shortened, nor a reordered file is read to its end without an error.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from pyrage import DecryptError, IdentityError, RecipientError, decrypt_io, encrypt_io, x25519

from annotator.core.backups.errors import BackupError, Damaged

_SECRET, _PUBLIC = "AGE-SECRET-KEY-1", "age1"


@dataclass(frozen=True)
class Keys:
    """The keys of a file. ``identities`` can decrypt; without them, a backup can be made but not read."""

    recipients: tuple[x25519.Recipient, ...]
    identities: tuple[x25519.Identity, ...]

    @property
    def names(self) -> list[str]:
        """Return the public keys for which is encrypted."""
        return sorted(map(str, self.recipients))

    @property
    def mark(self) -> str:
        """Return eight digits that tell one set of public keys from another."""
        return sha256(" ".join(self.names).encode()).hexdigest()[:8]


def read_keys(text: str) -> Keys:
    """Read lines of secret keys (as ``age-keygen`` writes them) or public keys. Raises BackupError.

    Empty lines and those that begin with # are passed over. The public keys of secret keys are included.
    """
    recipients: dict[str, x25519.Recipient] = {}
    identities = []
    for number, line in enumerate(text.splitlines(), 1):
        said = line.strip()
        if not said or said.startswith("#"):
            continue
        try:
            if said.startswith(_SECRET):
                identities.append(x25519.Identity.from_str(said))
                recipient = identities[-1].to_public()
            elif said.startswith(_PUBLIC):
                recipient = x25519.Recipient.from_str(said)
            else:
                raise BackupError(
                    f"Line {number} of the key file is not a key: it must begin with {_SECRET} or {_PUBLIC}."
                )
        except (IdentityError, RecipientError):
            raise BackupError(f"Line {number} of the key file is not a valid key. Copy the whole line again.") from None
        recipients[str(recipient)] = recipient
    if not recipients:
        raise BackupError("The key file has no key. Make one with manage.py backup --new-key FILE.")
    return Keys(tuple(recipients.values()), tuple(identities))


def new_key() -> str:
    """Return the text of a file with a new secret key, and its public key as a comment."""
    identity = x25519.Identity.generate()
    return f"# public key: {identity.to_public()}\n{identity}\n"


def encrypt(source: Any, target: Any, keys: Keys) -> None:
    """Encrypt a stream for all recipients. Raises what the streams raise."""
    with _own_errors() as failed:
        encrypt_io(_Remembering(source, failed), _Remembering(target, failed), keys.recipients)


def decrypt(source: Any, target: Any, keys: Keys) -> None:
    """Decrypt a stream. What was written counts only if this returns.

    Raises BackupError, Damaged, and what the streams raise.
    """
    if not keys.identities:
        raise BackupError("The key file has only public keys. Reading an encrypted backup needs a secret key.")
    with _own_errors() as failed:
        try:
            decrypt_io(_Remembering(source, failed), _Remembering(target, failed), keys.identities)
        except DecryptError as error:
            if "No matching keys" not in str(error):
                raise Damaged("it is not as it was encrypted") from None
            raise BackupError(
                "The backup is encrypted for another key. Use the key file with which it was made."
            ) from None
        except OSError:
            raise Damaged("it is not as it was encrypted") from None


@contextmanager
def _own_errors() -> Iterator[list[BaseException]]:
    """Raise the first error of a stream as it was. The library replaces it, or loses that of the last write."""
    failed: list[BaseException] = []
    try:
        yield failed
    except BaseException:
        if not failed:
            raise
    if failed:
        raise failed[0]


class _Remembering:
    """A stream that remembers its errors."""

    def __init__(self, stream: Any, failed: list[BaseException]) -> None:
        self._stream, self._failed = stream, failed

    def read(self, size: int = -1) -> Any:
        return self._call(self._stream.read, size)

    def write(self, piece: bytes) -> Any:
        return self._call(self._stream.write, piece)

    def flush(self) -> None:
        """Do nothing: the owner of the stream does it."""

    def _call(self, act: Callable[..., object], argument: object) -> object:
        try:
            return act(argument)
        except BaseException as error:
            self._failed.append(error)
            raise
