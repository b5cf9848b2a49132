"""What changed from one release to another."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from annotator.core.schema.exact_json import dumps
from benchmark.core.archives.change_categories import Category
from benchmark.core.archives.dialogue_changes import DialogueChange
from benchmark.core.archives.next_version import Counts, Suggestion

#: Version of the layout of the JSON file.
VERSION = 1


class Hashes(NamedTuple):
    """The hashes of a released dialogue's document and toolset, in hexadecimal digits."""

    document: str
    toolset: str


class ReleaseName(NamedTuple):
    project: str
    version: str


@dataclass(frozen=True)
class Difference:
    """What changed from one release to another.

    ``changed`` yields the changed dialogues, each time from the first. If there are more than ``examined``, it ends
    after that many. ``categories``: how many of these have a change of each category. ``renamed``: old and new id of
    dialogues with the same content; they are also among ``removed`` and ``added``.
    """

    before: ReleaseName
    after: ReleaseName
    counts: Counts
    categories: Mapping[Category, int]
    suggestion: Suggestion
    added: Iterable[str]
    removed: Iterable[str]
    renamed: Iterable[tuple[str, str]]
    changed: Callable[[], Iterator[DialogueChange]]
    examined: int

    def summary(self) -> dict[str, Any]:
        """Return the counts and the suggestion as JSON values."""
        return {
            "before": self.before._asdict(),
            "after": self.after._asdict(),
            "counts": asdict(self.counts),
            "categories": {str(name): count for name, count in self.categories.items()},
            "examined": self.examined,
            "suggestion": suggestion_values(self.suggestion),
        }


def suggestion_values(suggestion: Suggestion) -> dict[str, str | None]:
    """Return a suggestion as JSON values."""
    return {"level": str(suggestion.level), "version": suggestion.version, "reason": suggestion.reason}


def find_renamed(removed: dict[str, Hashes], added: dict[str, Hashes]) -> Iterator[tuple[str, str]]:
    """Yield old and new id of what is the same under another id, each used once."""
    free: dict[Hashes, list[str]] = {}
    for name, hashes in reversed(removed.items()):
        free.setdefault(hashes, []).append(name)
    for name, hashes in added.items():
        if free.get(hashes):
            yield free[hashes].pop(), name


def write_json(difference: Difference) -> Iterator[bytes]:
    """Yield the difference as one JSON object, in pieces: ``summary``, then ids, then the changed dialogues.

    {"assay_difference": 1, "before": …, "after": …, "counts": …, "categories": …, "examined": …, "suggestion": …,
    "added": [id], "removed": [id], "renamed": [{"from", "to"}], "changed": [DialogueChange]}
    """
    yield dumps({"assay_difference": VERSION} | difference.summary())[:-1]
    renamed = ({"from": old, "to": new} for old, new in difference.renamed)
    for key, values in (
        ("added", difference.added), ("removed", difference.removed), ("renamed", renamed),
        ("changed", difference.changed()),
    ):  # fmt: skip
        yield b',\n"%s": [' % key.encode()
        separator = b"\n"
        for value in values:
            yield separator + dumps(value)
            separator = b",\n"
        yield b"]"
    yield b"}\n"
