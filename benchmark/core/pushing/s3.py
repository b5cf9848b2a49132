"""An S3-compatible store, through boto3."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from benchmark.core.pushing.target import PushedRelease, PushError, SentFile, Unavailable

#: The metadata of an object with the SHA-256 that the sender calculated.
_SHA256 = "assay-sha256"
_PIECE = 1 << 20
_DENIED = {"AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "401", "403"}


class Bucket:
    """A prefix in a bucket that contains one release."""

    at_once = False

    def __init__(self, bucket: str, prefix: str, endpoint: str | None) -> None:
        try:
            import boto3
            from botocore.config import Config
        except ImportError:
            raise PushError(
                "Sending to s3:// needs boto3. Install Assay with its push extra: uv sync --extra push."
            ) from None
        self._bucket, self._prefix = bucket, prefix.strip("/")
        self.url = f"s3://{bucket}/{self._prefix}".rstrip("/")
        config = Config(
            connect_timeout=20, read_timeout=60, retries={"mode": "standard", "max_attempts": 4},
            # Compatible stores know no other checksums.
            request_checksum_calculation="when_required", response_checksum_validation="when_required",
        )  # fmt: skip
        with _sentences(self.url):
            self._client: Any = boto3.client("s3", endpoint_url=endpoint, config=config)
        # The library would sign requests to another host, and repeats them without end if that one redirects too.
        self._client.meta.events.register_first("needs-retry.s3", self._refuse_redirect)

    def compare(self, release: PushedRelease, *, content: bool) -> dict[str, bool]:
        found = {}
        for file in release.files:
            place = {"Bucket": self._bucket, "Key": self._key(file)}
            with _sentences(self.url):
                try:
                    head = self._client.head_object(**place)
                except self._client.exceptions.ClientError as error:
                    if error.response["ResponseMetadata"].get("HTTPStatusCode") != 404:
                        raise
                    continue
                same = head["ContentLength"] == file.bytes
                if content:
                    same = same and self._hash(place) == file.sha256
                else:
                    same = same and head["Metadata"].get(_SHA256) == file.sha256
            found[file.path] = same
        return found

    def send(self, release: PushedRelease, files: Sequence[SentFile]) -> None:
        for file in files:
            extra = {"Metadata": {_SHA256: file.sha256}}
            with _sentences(self.url):
                # Large files are sent in parts.
                self._client.upload_file(str(file.local), self._bucket, self._key(file), ExtraArgs=extra)

    def remove(self, files: Sequence[SentFile]) -> None:
        for file in files:
            with _sentences(self.url):
                self._client.delete_object(Bucket=self._bucket, Key=self._key(file))

    def _key(self, file: SentFile) -> str:
        return f"{self._prefix}/{file.path}".lstrip("/")

    def _refuse_redirect(self, response: Any, **_: Any) -> None:
        if response is not None and 300 <= response[0].status_code < 400:
            raise PushError(
                f"The server of {self.url} redirects to another place. Set AWS_ENDPOINT_URL or AWS_DEFAULT_REGION "
                "to the right one."
            )

    def _hash(self, place: dict[str, str]) -> str:
        digest = hashlib.sha256()
        for piece in self._client.get_object(**place)["Body"].iter_chunks(_PIECE):
            digest.update(piece)
        return digest.hexdigest()


@contextmanager
def _sentences(url: str) -> Iterator[None]:
    """Turn the library's errors into sentences, which contain only their codes."""
    from boto3.exceptions import Boto3Error
    from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError, NoCredentialsError

    try:
        yield
    except NoCredentialsError:
        raise PushError("There are no credentials. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.") from None
    except (HTTPClientError, ConnectionError):
        raise Unavailable(
            f"The server of {url} does not answer. Check the network and AWS_ENDPOINT_URL, then try again."
        ) from None
    except ClientError as error:
        raise _refusal(url, error.response) from None
    except (Boto3Error, BotoCoreError, ValueError) as error:
        # The transfer wraps the server's answer.
        inner = error.__context__
        if isinstance(inner, ClientError):
            raise _refusal(url, inner.response) from None
        raise PushError(
            f"Can't use {url} ({type(error).__name__}). Check the target, AWS_ENDPOINT_URL and AWS_DEFAULT_REGION."
        ) from None


def _refusal(url: str, response: Any) -> PushError:
    code = str(response.get("Error", {}).get("Code", ""))
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if code in _DENIED or status in (401, 403):
        return PushError(f"The server refuses the credentials for {url}. Check the AWS_ variables and the permissions.")
    if code in ("NoSuchBucket", "404"):
        return PushError(f"The bucket of {url} does not exist. Create it first, or check its name.")
    if status >= 500:
        return Unavailable(f"The server of {url} reports an error (HTTP {status}). Try again later.")
    return PushError(f"The server refuses files for {url} (HTTP {status}). Check the quota and the permissions.")
