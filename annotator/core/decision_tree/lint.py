"""Which legal paths of a task the published evaluators accept."""

from dataclasses import dataclass
from itertools import islice

from annotator.core.decision_tree.task import STATE_BOUND, CallCard, TaskGraph
from annotator.core.decision_tree.tree import write_path
from annotator.core.graph import PublishedCode, PublishedLint, lint_published

#: Examples shown, and calls examined to find them, which takes at most a second.
_EXAMPLES = 3
_CALLS_LOOKED_AT = 10_000


@dataclass(frozen=True)
class Rejected:
    """A legal path that the evaluators reject. ``address`` is its place in the tree."""

    batches: tuple[tuple[CallCard, ...], ...]
    address: str


@dataclass(frozen=True)
class LintView:
    """``lint`` has the counts; ``examples`` are some of the rejected paths."""

    lint: PublishedLint
    examples: tuple[Rejected, ...]
    #: Tools called more than once.
    repeated: tuple[str, ...]

    @property
    def certain(self) -> bool:
        """Whether it is known that a legal path is missing."""
        return bool(self.examples) or bool(self.lint.rejected.at_least)


def look_at_published(task: TaskGraph) -> LintView:
    """Lint a task within a bound of work; quick if no tool repeats."""
    names = task.names
    lint = lint_published(task.graph, names, STATE_BOUND * 4, examples=0)
    rejected = () if lint.clean else PublishedCode(task.graph, names).rejected(_CALLS_LOOKED_AT // len(names))
    examples = tuple(
        Rejected(tuple(tuple(task.cards[call] for call in batch) for batch in path), write_path(path))
        for path in islice(rejected, _EXAMPLES)
    )
    return LintView(lint, examples, tuple(dict.fromkeys(name for name in names if names.count(name) > 1)))
