"""What a request or a job can fail with."""

from typing import Any


class AssayError(Exception):
    """The base of all errors of this package."""


class JobFailed(AssayError):
    """A job failed or was cancelled; the text is the server's sentence."""


class ReleaseError(AssayError):
    """A release is damaged or is not a release."""


class ApiError(AssayError):
    """A refusal. ``status``: 0 if no answer came; ``code`` and ``details`` are the server's."""

    def __init__(self, status: int, sentence: str, code: str = "", details: Any = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.code = code
        self.details = details or {}


class NotFound(ApiError):
    """It does not exist, or the token's owner cannot see it (404)."""


class Forbidden(ApiError):
    """The token is unknown, or its owner may not do this (401, 403)."""


class Conflict(ApiError):
    """The current state does not allow this (409)."""


class RateLimited(ApiError):
    """The server is busy, also after the retries (429)."""


KINDS: dict[int, type[ApiError]] = {401: Forbidden, 403: Forbidden, 404: NotFound, 409: Conflict, 429: RateLimited}
