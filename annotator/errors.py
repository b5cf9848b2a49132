"""What a service may refuse, as exceptions that carry a sentence.

They are mapped to HTTP once: by ``annotator.views.middleware`` for pages and ``annotator.api.errors`` for the API.
"""

from typing import Any


class DomainError(Exception):
    """A refusal. ``sentence`` says what is wrong, where, and what to do; ``details`` is for machines."""

    status = 400
    code = "refused"

    def __init__(self, sentence: str, **details: Any) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.details = details


class Denied(DomainError):
    """The actor may see the object but not do this with it."""

    status = 403
    code = "denied"


class Hidden(DomainError):
    """The actor may not know that the object exists."""

    status = 404
    code = "not_found"


class Conflict(DomainError):
    """The object has moved on since the actor looked at it."""

    status = 409
    code = "conflict"


class Gone(Conflict):
    """What the actor had in hand is not theirs any more; nothing they send about it can succeed."""

    status = 410
    code = "gone"


class Busy(DomainError):
    """There is no room for it now; later there is."""

    status = 503
    code = "busy"


class Invalid(DomainError):
    """What was sent cannot be accepted as it is."""

    status = 422
    code = "invalid"
