"""The keys of the person who reads the page: those of the table, or their own."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from annotator.core.keys import ACTIONS


def _nobody() -> Mapping[str, str]:
    return {}


_own: ContextVar[Callable[[], Mapping[str, str]]] = ContextVar("own_keys", default=_nobody)


@contextmanager
def own_keys(read: Callable[[], Mapping[str, str]]) -> Iterator[None]:
    """Show a person's own keys ({action: key}) in what is rendered inside; ``read`` is called when a key is shown.

    The language works the same way. So parts that a page shows hundreds of times need no context for it.
    """
    before = _own.set(read)
    try:
        yield
    finally:
        _own.reset(before)


def key_of(name: str) -> str:
    """Return the key of an action for the reader; blank if it has none."""
    action = ACTIONS[name]
    return action.key if action.fixed else _own.get()().get(name, action.key)
