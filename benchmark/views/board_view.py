"""A leaderboard as a page shows it."""

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest

from benchmark.models import Release
from benchmark.services.runs import boards
from benchmark.views.score_words import show, title


def board_context(request: HttpRequest, release: Release, *, public: bool = False) -> dict[str, Any]:
    """Return what ``benchmark/board.html`` shows: headings with links that sort by them, rows, and the slices."""
    board = boards.leaderboard(release, request.GET, public=public)
    return {
        "board": board,
        "heads": [
            (title(*column), _link(request, sort="|".join(column)), column == board.column)
            for column in board.columns
        ],
        "rows": [
            (row, [(show(row.figures.get(column)), column == board.column) for column in board.columns])
            for row in board.rows
        ],
        "slices": [(one, title(*one.split("=", 1))) for one in board.slices],
        "unranked": any(row.rank is None for row in board.rows),
        "used": any(row.run.tokens is not None for row in board.rows),
        "priced": any(row.run.cost is not None for row in board.rows),
    }  # fmt: skip


def board_query(request: HttpRequest, **changed: str) -> str:
    """Return the query string of the leaderboard that is shown, with changes."""
    given = {name: request.GET.get(name, "") for name in ("family", "slice", "sort")} | changed
    kept = urlencode({name: value for name, value in given.items() if value})
    return f"?{kept}" if kept else ""


def _link(request: HttpRequest, **changed: str) -> str:
    return board_query(request, **changed) or request.path
