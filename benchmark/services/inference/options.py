"""How a model is asked."""

from dataclasses import asdict, dataclass, field
from typing import Any, Self

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
