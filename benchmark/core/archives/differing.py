"""Compare the archives of two releases, in bounded memory: of each dialogue, only its id and hashes are kept."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import orjson

from annotator.core.schema.exact_json import dumps, load_stored
from benchmark.core.archives.change_categories import Category
from benchmark.core.archives.dialogue_changes import DialogueChange, describe_dialogue, reviews_behind
from benchmark.core.archives.difference import Difference, Hashes, ReleaseName, find_renamed
from benchmark.core.archives.next_version import Counts, suggest
from benchmark.core.archives.release_files import ReleaseFile
from benchmark.core.files.limits import Limits, SourceError

#: The most dialogues of a release that are compared: about a kilobyte of memory each.
MAX_DIALOGUES = 200_000


@contextmanager
def compare_archives(before: Path, after: Path, *, limits: Limits | None = None) -> Iterator[Difference]:
    """Yield what changed from one archive to the other; the order is that of the newer archive.

    Raises SourceError, with a sentence, if an archive is not a complete release.
    """
    bounds = limits or Limits()
    with ExitStack() as stack:
        old, new = (ReleaseFile(path, bounds, stack) for path in (before, after))
        yield _Archives(old, new, stack).compare()


class _Archives:
    def __init__(self, before: ReleaseFile, after: ReleaseFile, stack: ExitStack) -> None:
        self.before, self.after = before, after
        self._lines, self._trails, self._found = (_Shelf(stack) for _ in range(3))
        self.categories: Counter[Category] = Counter()
        self.references = 0

    def compare(self) -> Difference:
        old = self._hashes(self.before)
        added: dict[str, Hashes] = {}
        changed: dict[str, Hashes] = {}
        seen: set[str] = set()
        for name, hashes, line in self._items(self.after):
            if name in seen:
                raise SourceError(f"{self.after.name}: the list of items has {name} twice.")
            seen.add(name)
            if name not in old:
                added[name] = hashes
            elif old[name] != hashes:
                changed[name] = hashes
                self._trails.put(name, dumps(line))
        removed = {name: hashes for name, hashes in old.items() if name not in seen}
        self._compare_documents({name: old[name] for name in changed}, changed)
        counts = Counts(len(added), len(removed), len(changed), len(seen) - len(added) - len(changed))
        before, after = (ReleaseName(one.manifest.project, one.manifest.version) for one in (self.before, self.after))
        return Difference(
            before=before,
            after=after,
            counts=counts,
            categories={category: self.categories[category] for category in Category if self.categories[category]},
            suggestion=suggest(before.version, counts, references=self.references, examined=counts.changed),
            added=list(added),
            removed=list(removed),
            renamed=list(find_renamed(removed, added)),
            changed=self._changed,
            examined=counts.changed,
        )

    def _hashes(self, release: ReleaseFile) -> dict[str, Hashes]:
        found: dict[str, Hashes] = {}
        for name, hashes, _ in self._items(release):
            if name in found:
                raise SourceError(f"{release.name}: the list of items has {name} twice.")
            found[name] = hashes
        return found

    def _items(self, release: ReleaseFile) -> Iterator[tuple[str, Hashes, dict[str, object]]]:
        for count, item in enumerate(release.items()):
            if count == MAX_DIALOGUES:
                raise SourceError(f"{release.name} has more than {MAX_DIALOGUES:,} dialogues, too many to compare.")
            yield item

    def _compare_documents(self, old: dict[str, Hashes], new: dict[str, Hashes]) -> None:
        """Describe the changed dialogues. The older documents wait on disk, since the order may have changed."""
        for where, name, line in self._changed_lines(self.before, old):
            self._lines.put(name, f"{where}\n".encode() + line)
        for where, name, line in self._changed_lines(self.after, new):
            was_at, _, was = self._lines.take(name).partition(b"\n")
            before = self.before.content(was_at.decode(), was, old[name])
            after = self.after.content(where, line, new[name])
            trail = load_stored(self._trails.take(name).decode())
            found = describe_dialogue(name, before, after, reviews_behind(trail, old[name].document))
            self.categories.update(map(Category, found["categories"]))
            self.references += found["reference"]
            self._found.put(name, dumps(found))

    def _changed_lines(self, release: ReleaseFile, wanted: dict[str, Hashes]) -> Iterator[tuple[str, str, bytes]]:
        waiting = set(wanted)
        # An archive whose changed dialogues have all been read need not be read to its end.
        for where, name, line in release.documents() if waiting else ():
            if name in waiting:
                waiting.remove(name)
                yield where, name, line
                if not waiting:
                    return
        if waiting:
            raise SourceError(f"{release.name}: no document of {min(waiting)}. Check it with manage.py verify_release.")

    def _changed(self) -> Iterator[DialogueChange]:
        for text in self._found.all():
            yield orjson.loads(text)


class _Shelf:
    """Texts by name, on disk."""

    def __init__(self, stack: ExitStack) -> None:
        self._file: IO[bytes] = stack.enter_context(TemporaryFile())  # noqa: SIM115 - closed by the stack
        self._places: dict[str, tuple[int, int]] = {}
        self._end = 0

    def put(self, name: str, text: bytes) -> None:
        self._file.seek(self._end)
        self._file.write(text)
        self._places[name] = self._end, len(text)
        self._end += len(text)

    def take(self, name: str) -> bytes:
        start, length = self._places[name]
        self._file.seek(start)
        return self._file.read(length)

    def all(self) -> Iterator[bytes]:
        """Yield the texts in the order in which they were put."""
        return map(self.take, self._places)
