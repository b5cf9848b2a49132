"""The keys of the person who reads the page: those of the table, or their own."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count

from django.utils.translation import gettext as _

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


def shown_key(name: str) -> str:
    """Return a key for reading; of an action without one, that with Ctrl."""
    held = ACTIONS[name].held
    return key_of(name) or (f"Ctrl+{held[0].upper() if len(held[0]) == 1 else held[0]}" if held else "")


def with_keys(options: Iterable[tuple[str, str]], action: str, title: str) -> list[tuple[str, str, str, str]]:
    """Return (value, label, action, what its key does) for each option (value, label) of the field ``title``.

    ``action``: beginning of the names of actions, such as "policy" for policy-1 and so on, which choose the options in
    their order; blank for none. A blank option means no choice, and has no key.
    """
    numbered = count(1)
    rows = []
    for value, label in options:
        name = f"{action}-{next(numbered)}" if action and value else ""
        words = _("%(field)s: %(value)s") % {"field": title, "value": label} if name else ""
        rows.append((value, label, name if name in ACTIONS else "", words))
    return rows
