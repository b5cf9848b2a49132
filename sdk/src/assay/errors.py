"""What a request, a job or a release can fail with. The text of each error is a sentence."""

from typing import Any


class AssayError(Exception):
    """The base of all errors of this package."""


class JobFailed(AssayError):
    """A job failed or was cancelled; the text is the server's sentence, ``row`` the last known state."""

    def __init__(self, sentence: str, row: dict[str, Any]) -> None:
        super().__init__(sentence)
        self.row = row


class WaitTimeout(AssayError, TimeoutError):
    """A job has not ended in the given time. It goes on."""


class ReleaseError(AssayError):
    """A release is damaged, is not a release, or does not exist."""


class ApiError(AssayError):
    """A refusal of the server. ``code`` and ``details`` are its own; ``status`` is 0 if no answer arrived."""

    def __init__(self, status: int, sentence: str, code: str = "", details: Any = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.code = code
        self.details = details or {}

    @property
    def findings(self) -> list[dict[str, Any]]:
        """The findings that stop a submission: check, severity, anchor, message. Warnings can be waived."""
        found = self.details.get("findings") if isinstance(self.details, dict) else None
        return found if isinstance(found, list) else []


class NoAnswer(ApiError):
    """The server cannot be reached, or its answer broke off (status 0)."""


class Invalid(ApiError):
    """Fields or values are missing or wrong; ``details`` names them (400, 413, 415, 422)."""


class Unauthorized(ApiError):
    """The token is unknown, expired or revoked (401)."""


class Forbidden(ApiError):
    """The token's scopes or its owner's roles do not allow this (403)."""


class NotFound(ApiError):
    """It does not exist, or the token's owner cannot see it (404)."""


class Conflict(ApiError):
    """The current state does not allow this (409)."""


class Busy(ApiError):
    """The server is busy or out of order, also after the retries (429, 502, 503, 504)."""


#: Status → class of error; others are ApiError.
KINDS: dict[int, type[ApiError]] = {
    **dict.fromkeys((400, 413, 415, 422), Invalid), 401: Unauthorized, 403: Forbidden, 404: NotFound, 409: Conflict,
    **dict.fromkeys((429, 502, 503, 504), Busy),
}  # fmt: skip
