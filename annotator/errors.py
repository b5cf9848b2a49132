"""Refusals of services: exceptions that carry a sentence.

They are mapped to HTTP once: by ``annotator.views.middleware`` for pages and ``annotator.api.errors`` for the API.
"""

from typing import Any

from annotator.core.text import Message
from annotator.translation import translated


class DomainError(Exception):
    """A refusal. ``sentence`` says what is wrong, where, and what to do; ``details`` is for machines.

    A Message can be stored, as a job does, and read in another language later.
    """

    status = 400
    code = "refused"

    def __init__(self, sentence: str | Message, **details: Any) -> None:
        self.message = Message(sentence) if isinstance(sentence, str) else sentence
        self.sentence = sentence if isinstance(sentence, str) else translated(sentence)
        self.details = details
        super().__init__(self.sentence)


class Denied(DomainError):
    """The actor may see the object but not do this with it."""

    status = 403
    code = "denied"


class Hidden(DomainError):
    """The actor may not know that the object exists."""

    status = 404
    code = "not_found"


class Conflict(DomainError):
    """The object has changed since the actor loaded it."""

    status = 409
    code = "conflict"


class Gone(Conflict):
    """The actor's claim has ended; nothing they send about it can succeed."""

    status = 410
    code = "gone"


class Busy(DomainError):
    """The server has no capacity for it now; a later try may succeed."""

    status = 503
    code = "busy"


class TooMany(DomainError):
    """A rate limit is used up. ``retry_after``: the seconds to wait."""

    status = 429
    code = "too_many_requests"

    def __init__(self, sentence: str | Message, *, retry_after: int) -> None:
        super().__init__(sentence)
        self.retry_after = retry_after


class OverQuota(DomainError):
    """The project's files would take up more than its quota."""

    status = 413
    code = "over_quota"


class Invalid(DomainError):
    """The input is not valid."""

    status = 422
    code = "invalid"
