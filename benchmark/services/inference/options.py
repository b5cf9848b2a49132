"""How a model is asked."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

from django.utils.translation import gettext as _

from annotator.errors import Invalid

#: Largest numbers of options, and what a reply may take: from, to (seconds).
MAX_TEMPERATURE, MAX_REPLY_TOKENS, MAX_ATTEMPTS, MAX_CONCURRENCY, MAX_PER_MINUTE = 10, 10**7, 100, 64, 100_000
MAX_NUMBER = 2**31 - 1
TIMEOUTS = (5, 3_600)
#: Characters of extra parameters as JSON, and tokens of a budget.
MAX_EXTRA, MAX_BUDGET = 4_000, 10**15
#: Delays of one run.
MAX_DELAYS = 20
#: Options that only some families have.
_OF_FAMILIES: tuple[tuple[frozenset[str], tuple[str, ...]], ...] = (
    (frozenset(("wild", "c3", "mmtb")), ("history", "language")),
    (frozenset(("cctu",)), ("attempts",)),
    (frozenset(("async",)), ("delays", "delay_seed")),
)
#: Parameters of a request that Assay sets itself.
RESERVED = frozenset(("messages", "model", "tools", "stream", "stream_options", "n"))


@dataclass(frozen=True, slots=True)
class Options:
    """``temperature``, ``seed`` and ``max_tokens``: None leaves it to the endpoint. ``extra``: more parameters of each
    request. ``strip_thinking``: replies are sent back, and scored, without ``<think>…</think>``.

    ``attempts``: at each constrained case. ``delays`` and ``delay_seed``: of composites. ``limit``: only the first so
    many dialogues, cases or composites. ``concurrency``: requests at the same time. ``per_minute``: requests in a
    minute. ``timeout``: seconds for one reply.
    """

    temperature: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    stream: bool = False
    strip_thinking: bool = False
    attempts: int = 1
    delays: tuple[str, ...] = ("1",)
    delay_seed: int = 0
    limit: int | None = None
    concurrency: int = 4
    per_minute: int | None = None
    timeout: int = 120

    @classmethod
    def of(cls, stored: dict[str, Any]) -> Self:
        return cls(**{**stored, "delays": tuple(stored["delays"])})

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"delays": list(self.delays)}


#: The names of the options.
OPTIONS = tuple(one.name for one in fields(Options))


def absent_options(families: Sequence[str]) -> list[str]:
    """Return the options that none of the families has."""
    return [name for wanted, names in _OF_FAMILIES if not wanted & set(families) for name in names]


def require_known_options(family: str, given: Iterable[str]) -> None:
    """Raise Invalid for options that a family does not have, which would change nothing."""
    unknown = sorted(set(given) & set(absent_options([family])))
    if unknown:
        values = {"names": ", ".join(f"“{name}”" for name in unknown), "family": family}
        raise Invalid(_("What is scored as %(family)s has no %(names)s. Leave it out.") % values, field=unknown[0])
