"""The ids that a dry run has met: it writes no dialogues that could be looked up."""

import sqlite3
from collections.abc import Iterable, Sequence


class FirstSeen:
    """The ids that a dry run has met, with their content: in a temporary file, so that memory stays constant."""

    def __init__(self) -> None:
        self._table = sqlite3.connect("")
        self._table.execute("CREATE TABLE seen (id TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID")

    def find(self, ids: Sequence[str]) -> dict[str, str]:
        """Return id → content for ids met before."""
        marks = ",".join("?" * len(ids))
        rows = self._table.execute(f"SELECT id, content FROM seen WHERE id IN ({marks})", ids)  # noqa: S608 - marks only
        return dict(rows.fetchall())

    def add(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Remember (id, content) pairs."""
        self._table.executemany("INSERT OR IGNORE INTO seen VALUES (?, ?)", pairs)

    def close(self) -> None:
        self._table.close()
