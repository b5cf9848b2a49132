"""What this thread works on, for its log lines and for the jobs that it starts."""

import re
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar

#: The request that started this work, as the response's header ``X-Request-ID`` names it; blank: none did.
request_id: ContextVar[str] = ContextVar("request_id", default="")
#: Public ids of the person who asked and of the job that runs, and the project's slug; blank: unknown.
person: ContextVar[str] = ContextVar("person", default="")
job: ContextVar[str] = ContextVar("job", default="")
project: ContextVar[str] = ContextVar("project", default="")

#: By their names in the log.
FIELDS = {"request_id": request_id, "person": person, "job": job, "project": project}


@contextmanager
def about(**values: str) -> Iterator[None]:
    """Set these of ``FIELDS`` during the block."""
    with ExitStack() as stack:
        for name, value in values.items():
            stack.callback(FIELDS[name].reset, FIELDS[name].set(value))
        yield


_TOKEN = re.compile(r"[A-Za-z0-9_-]{8,64}")


def new_request_id() -> str:
    """Return a new random id of a request."""
    return secrets.token_hex(12)


def is_request_id(text: str) -> bool:
    """Return whether a proxy's id of a request is a short plain token, which can be logged and sent back."""
    return _TOKEN.fullmatch(text) is not None
