"""Downloads of a leaderboard: CSV, JSON, and a LaTeX table."""

import csv
import io
import json
from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotator.errors import Hidden
from annotator.views.pages import PageRequest, project_page, takes
from benchmark.models import Release
from benchmark.services.runs import boards
from benchmark.views.score_words import show, title

DOCUMENTS = {"csv": "text/csv; charset=utf-8", "json": "application/json", "tex": "application/x-tex; charset=utf-8"}


@project_page
@require_safe
@takes("family", "slice", "sort")
def score_board_file(request: PageRequest, public_id: str, form: str) -> HttpResponse:
    """Download the leaderboard as CSV, JSON or a LaTeX table."""
    release = boards.load_overseen(actor=request.user, project=request.project, public_id=public_id)
    if form not in DOCUMENTS:
        raise Hidden(_("There is no such file."))
    return board_file(release, request.GET, form)


def board_file(release: Release, query: Mapping[str, Any], form: str) -> HttpResponse:
    """Return a leaderboard as a download. ``query``: as for ``leaderboard``; ``form``: one of DOCUMENTS."""
    board = boards.leaderboard(release, query)
    heads = [title(*column) for column in board.columns]
    rows = [
        (row.rank, row.run.model, row.run.attempt, row.run.language, row.run.history, row.run.tool_mode,
         row.run.thinking, row.score_set.entries, row.score_set.rounds, row.run.tokens,
         None if row.run.cost is None else float(row.run.cost),
         [show(row.figures.get(column)) for column in board.columns])
        for row in board.rows
    ]  # fmt: skip
    content = {"csv": _csv, "json": _json, "tex": _latex}[form](heads, rows)
    response = HttpResponse(content, content_type=DOCUMENTS[form])
    name = f"{release.project.slug}-{release.version}-scores.{form}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


_FACTS = (
    "rank", "model", "attempt", "language", "history", "tool_mode", "thinking", "entries", "rounds", "tokens", "cost",
)  # fmt: skip
Rows = list[tuple[int | None, str, int, str, str, str, str, int, float | None, int | None, float | None, list[Any]]]


def _csv(heads: list[str], rows: Rows) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([*_FACTS, *(f"{head}{part}" for head in heads for part in ("", " low", " high"))])
    for *facts, figures in rows:
        cells = [part for one in figures for part in (one.value, one.low, one.high)]
        writer.writerow([_safe(one) for one in facts] + cells)
    return out.getvalue()


def _safe(value: Any) -> Any:
    """Return a cell that no spreadsheet runs as a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


def _json(heads: list[str], rows: Rows) -> str:
    return json.dumps(
        [
            dict(zip(_FACTS, facts, strict=True))
            | {
                "figures": {
                    head: {"value": one.value, "low": one.low, "high": one.high, "n": one.n}
                    for head, one in zip(heads, figures, strict=True)
                }
            }
            for *facts, figures in rows
        ],
        ensure_ascii=False, indent=1,
    )  # fmt: skip


_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\n": " ",
})  # fmt: skip


def _latex(heads: list[str], rows: Rows) -> str:
    """Return a table for the package booktabs; intervals are small, in brackets."""
    lines = [r"\begin{tabular}{rl" + "r" * len(heads) + "}", r"\toprule"]
    lines.append(" & ".join(["Rank", "Model", *(head.translate(_LATEX) for head in heads)]) + r" \\")
    lines.append(r"\midrule")
    for rank, model, *_rest, figures in rows:
        cells = [
            f"{one.value} {{\\scriptsize [{one.low}, {one.high}]}}" if one.low else one.value or "--" for one in figures
        ]
        lines.append(" & ".join(["--" if rank is None else str(rank), model.translate(_LATEX), *cells]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])
