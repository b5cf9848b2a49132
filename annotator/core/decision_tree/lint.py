"""Which legal paths of a task each published evaluator accepts."""

from dataclasses import dataclass

from annotator.core.decision_tree.task import STATE_BOUND, CallCard, TaskGraph
from annotator.core.decision_tree.tree import write_path
from annotator.core.graph import Count, PublishedLint, argument_kinds, lint_published
from annotator.core.graph.enumeration import Path
from annotator.core.schema import canonical

#: Examples shown of each sort, and calls examined to find them, which takes at most a second.
_EXAMPLES = 3
_CALLS_LOOKED_AT = 10_000


@dataclass(frozen=True)
class Rejected:
    """A legal path that is rejected. ``address`` is its place in the tree."""

    batches: tuple[tuple[CallCard, ...], ...]
    address: str


@dataclass(frozen=True)
class LintView:
    """``lint`` has the counts; ``by_both`` and ``by_wild`` are some of the rejected paths."""

    lint: PublishedLint
    by_both: tuple[Rejected, ...]
    by_wild: tuple[Rejected, ...]
    #: Tools called more than once.
    repeated: tuple[str, ...]

    @property
    def evaluators(self) -> list[tuple[str, Count, bool | None]]:
        """The name of each evaluator, how many paths it rejects, and whether it rejects any; None if unknown."""
        lint = self.lint
        return [("C3-Bench", lint.c3, lint.c3_rejects), ("WildToolBench", lint.wild, lint.wild_rejects)]


def look_at_published(task: TaskGraph) -> LintView:
    """Lint a task within a bound of work; quick if no tool repeats."""
    names = task.names
    kinds = None
    if task.repeats:
        kinds = argument_kinds(names, [canonical(task.cards[call].arguments) for call in task.graph.ids])
    looked_at = _CALLS_LOOKED_AT // max(1, len(names))
    lint = lint_published(task.graph, names, kinds, bound=STATE_BOUND * 4, examples=_EXAMPLES, looked_at=looked_at)
    by_both, by_wild = (tuple(_shown(task, path) for path in some) for some in (lint.by_both, lint.by_wild))
    repeated = dict.fromkeys(name for name in names if names.count(name) > 1)
    return LintView(lint, by_both, by_wild, tuple(repeated))


def _shown(task: TaskGraph, path: Path) -> Rejected:
    return Rejected(tuple(tuple(task.cards[call] for call in batch) for batch in path), write_path(path))
