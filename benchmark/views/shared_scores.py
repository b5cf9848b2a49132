"""The public side of leaderboards: a page, a table and a badge as SVG, for everyone who knows the link."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotator.views.pages import PageRequest, project_page, takes
from benchmark.services.runs import boards, sharing
from benchmark.views.board_view import board_context
from benchmark.views.score_words import Shown, show, title

#: Runs in a picture, and characters of a name.
_ROWS, _NAME = 12, 40
#: About the width of a character of the badge.
_CHARACTER = 6.6


@project_page
@require_POST
def score_board_share(request: PageRequest, public_id: str) -> HttpResponse:
    """Make a leaderboard public, or end that."""
    release = boards.load_overseen(actor=request.user, project=request.project, public_id=public_id)
    if "end" in request.POST:
        sharing.unshare_board(actor=request.user, release=release)
        messages.info(request, _("The scores are not public any more."))
    else:
        sharing.share_board(actor=request.user, release=release)
        messages.info(request, _("Everyone who knows the link can read the leaderboard."))
    return redirect("score-board", slug=request.project.slug, public_id=public_id)


@require_safe
@takes("family", "slice", "sort")
def shared_scores(request: HttpRequest, token: str) -> HttpResponse:
    """Show a public leaderboard: figures only, no answers and no references."""
    release = sharing.load_shared(token)
    # What a project has spent is its own matter.
    shown = board_context(request, release, public=True) | {"used": False, "priced": False}
    context = {"release": release, "name": release.project.name} | shown
    return _public(render(request, "benchmark/shared_scores.html", context))


@require_safe
@takes("family", "slice", "sort")
def shared_table(request: HttpRequest, token: str) -> HttpResponse:
    """Show the best runs of a public leaderboard as a picture."""
    release = sharing.load_shared(token)
    board = boards.leaderboard(release, request.GET, public=True)
    rows = [(row.rank, _cut(row.run.model), show(row.figures.get(board.column))) for row in board.rows[:_ROWS]]
    context = {
        "release": release,
        "heading": f"{release.project.name} {release.version}: {title(*board.column) if rows else _('no scores yet')}",
        "rows": [(rank, name, shown, 44 + 24 * place) for place, (rank, name, shown) in enumerate(rows)],
        "height": 44 + 24 * len(rows),
    }
    return _picture(render(request, "benchmark/shared_table.svg", context, content_type="image/svg+xml"))


@require_safe
@takes("family", "slice", "sort")
def shared_badge(request: HttpRequest, token: str) -> HttpResponse:
    """Show the best run of a public leaderboard as a badge."""
    release = sharing.load_shared(token)
    board = boards.leaderboard(release, request.GET, public=True)
    best = board.rows[0] if board.rows else None
    shown = show(best.figures.get(board.column)) if best else Shown()
    label = f"{release.project.name} {release.version}"[:_NAME]
    value = f"{_cut(best.run.model)} {shown.value} %" if best else _("no scores yet")
    left, right = (round(_CHARACTER * len(text)) + 14 for text in (label, value))
    context = {
        "label": label, "value": value, "left": left, "right": right, "width": left + right,
        "label_at": left / 2, "value_at": left + right / 2,
    }  # fmt: skip
    return _picture(render(request, "benchmark/shared_badge.svg", context, content_type="image/svg+xml"))


def _cut(text: str) -> str:
    return text if len(text) <= _NAME else f"{text[: _NAME - 1]}…"


def _picture(response: HttpResponse) -> HttpResponse:
    """Let other sites show a picture."""
    response["Cross-Origin-Resource-Policy"] = "cross-origin"
    return _public(response)


def _public(response: HttpResponse) -> HttpResponse:
    """Let pictures be kept for minutes, and search engines stay away."""
    response["Cache-Control"] = "max-age=300"
    response["X-Robots-Tag"] = "noindex"
    return response
