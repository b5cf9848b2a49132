"""What the published evaluators make of a task, in words an annotator understands."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from annotator.core.decisions.task import STATE_BOUND, CallCard, TaskGraph
from annotator.core.decisions.tree import write_path
from annotator.core.graph import Path, PublishedCode, PublishedLint, lint_published, optimal_paths, paths

#: Examples shown, and calls of paths that are gone through to find them: a second at most.
_EXAMPLES = 3
_CALLS_LOOKED_AT = 10_000


@dataclass(frozen=True)
class Rejected:
    """A legal path they reject. ``address`` is its place in the tree."""

    batches: tuple[tuple[CallCard, ...], ...]
    address: str


@dataclass(frozen=True)
class LintView:
    """``lint`` holds the counts; ``examples`` are some of the rejected paths."""

    lint: PublishedLint
    examples: tuple[Rejected, ...]
    #: Tools that are called more than once.
    repeated: tuple[str, ...]

    @property
    def certain(self) -> bool:
        """Whether it is known that a legal path is missing."""
        return bool(self.examples) or bool(self.lint.rejected.at_least)

    @property
    def verdict(self) -> str:
        return "Some missing" if self.certain else "Not known"

    @property
    def sentence(self) -> str:
        """What they miss: how many paths, and whether they are wrong about the fewest batches."""
        lint = self.lint
        if not self.certain:
            return "Whether they know every legal path could not be told within the bound."
        which = f"{lint.rejected} of {lint.legal}" if lint.rejected.at_least else "some"
        words = f"The evaluators shipped with C3-Bench and WildToolBench do not know {which} legal paths of this task."
        if lint.optimum_differs:
            words += f" They take {lint.published_fewest} batches for the fewest; {lint.fewest} suffice."
        return words


def look_at_published(task: TaskGraph) -> LintView:
    """The lint of a task; within a bound, and at once where no tool repeats."""
    names = task.names
    lint = lint_published(task.graph, names, STATE_BOUND * 4, examples=0)
    examples = tuple(
        Rejected(tuple(tuple(task.cards[call] for call in batch) for batch in path), write_path(path))
        for path in (() if lint.clean else islice(_rejected(task), _EXAMPLES))
    )
    return LintView(lint, examples, tuple(dict.fromkeys(name for name in names if names.count(name) > 1)))


def _rejected(task: TaskGraph) -> Iterator[Path]:
    """Legal paths they do not know: optimal ones first, since those hurt most."""
    graph = task.graph
    code = PublishedCode(graph, task.names)
    most = _CALLS_LOOKED_AT // len(graph.ids)
    yield from (path for path in islice(optimal_paths(graph), most) if not code.lists(path))
    for path in islice(paths(graph), most):
        if len(path) > graph.fewest_batches and not code.lists(path):
            yield path
