"""Pages of scores: the leaderboard of a release, uploaded predictions, a run, an entry, two runs compared."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import HttpResponseClientRefresh

from annotator.errors import DomainError
from annotator.models import Role
from annotator.services.access.permissions import require_administrator
from annotator.services.database.filters import one_of
from annotator.services.database.keyset import BY_KEY
from annotator.views.pages import PageRequest, posted, project_page, takes
from annotator.views.uploads import stores_files
from benchmark.core.scoring.statistics import BEST, PASS
from benchmark.models import EntryStatistic, Release, ReleaseItem, Score, ScoreSet
from benchmark.services.inference import requests as inferences
from benchmark.services.inference.options import Options
from benchmark.services.inference.requests import list_inferences
from benchmark.services.runs import boards, rescoring, sharing, suspects, uploads, withdrawn
from benchmark.views.board_files import DOCUMENTS
from benchmark.views.board_view import board_context, board_query
from benchmark.views.entry_view import EntryView, present_entry
from benchmark.views.forms import PredictionForm
from benchmark.views.inference_forms import describe_options
from benchmark.views.paging import page_of, watches
from benchmark.views.score_words import cell_words, p_words, show, title
from benchmark.views.space_view import show_space

PAGE = 50
#: Files of predictions that a leaderboard lists.
_FILES = 20


@stores_files
@project_page
@require_http_methods(["GET", "HEAD", "POST"])
@takes("family", "slice", "sort")
def score_board(request: PageRequest, public_id: str) -> HttpResponse:
    """Show the leaderboard of a release; for administrators also the form for predictions."""
    project = request.project
    release = boards.load_overseen(actor=request.user, project=project, public_id=public_id)
    is_admin = Role.ADMINISTRATOR in request.roles
    form = PredictionForm(posted(request), request.FILES or None, families=uploads.families_of(release))
    if request.method == "POST":
        require_administrator(actor=request.user, project=project)
        if form.is_valid():
            data = form.cleaned_data
            given = {name: data[name] for name in ("family", "model", "provider", "strip_thinking")}
            try:
                stored = uploads.start_scoring(
                    actor=request.user, release=release, upload=data["file"], filename=data["file"].name,
                    mode=form.mode, **given,
                )  # fmt: skip
            except DomainError as refusal:
                form.add_error("file", refusal.sentence)
            else:
                return redirect("prediction-file", slug=project.slug, public_id=stored.public_id)
    shown = board_context(request, release)
    counted = withdrawn.read_recount(release)
    context = {
        "project": project,
        "release": release,
        "form": form,
        "is_admin": is_admin,
        "withdrawn": counted.withdrawn,
        "recounted": counted.current,
        "shared": sharing.find_shared(actor=request.user, release=release) if is_admin else None,
        "downloads": [
            (name, f"{reverse('score-board-file', args=[project.slug, release.public_id, name])}{board_query(request)}")
            for name in DOCUMENTS
        ],
        "inferences": list_inferences(actor=request.user, release=release)[:_FILES] if is_admin else (),
        "files": uploads.list_files(actor=request.user, release=release).filter(inference=None).order_by("-pk")[:_FILES]
        if is_admin else (),
        "trail": release_trail(request, release),
    }  # fmt: skip
    return render(request, "benchmark/score_board.html", context | shown, status=422 if form.is_bound else 200)


@project_page
@require_POST
def score_board_recount(request: PageRequest, public_id: str) -> HttpResponse:
    """Count the scores without the items that were withdrawn since the release."""
    project = request.project
    release = boards.load_overseen(actor=request.user, project=project, public_id=public_id)
    withdrawn.start_recount(actor=request.user, release=release)
    messages.info(request, _("The scores without withdrawn items are being counted. Reload the page in a moment."))
    return redirect("score-board", slug=project.slug, public_id=public_id)


def release_trail(request: PageRequest, release: Release, *more: tuple[str, str]) -> list[tuple[str, str]]:
    """Return the breadcrumbs to the scores of a release, and further."""
    slug = request.project.slug
    board = reverse("score-board", args=[slug, release.public_id]) if more else ""
    return [
        (request.project.name, f"/p/{slug}/"),
        (_("Releases"), reverse("release-list", args=[slug])),
        (release.version, reverse("release-detail", args=[slug, release.public_id])),
        (_("Scores"), board),
        *more,
    ]


@project_page
@require_safe
def prediction_file(request: PageRequest, public_id: str) -> HttpResponse:
    """Show an uploaded file of predictions: the job's progress, its runs, and what was not scored."""
    project = request.project
    file = uploads.load_file(actor=request.user, project=project, public_id=public_id)
    context = {"project": project, "file": file, "job": file.job}
    if watches(request, "scoring-state"):
        if file.job.ended:
            return HttpResponseClientRefresh()
        return render(request, "benchmark/prediction_file.html#state", context)
    counts = (
        (_("Entries scored"), file.entries), (_("Entries without a prediction"), file.missing),
        (_("Given twice"), file.doubled), (_("Not in the release"), file.foreign), (_("Not readable"), file.problems),
    )  # fmt: skip
    more = {
        "counts": counts,
        "runs": file.runs.filter(complete=True).order_by("model"),
        "trail": release_trail(request, file.release, (file.filename, "")),
    }
    return render(request, "benchmark/prediction_file.html", context | more)


@project_page
@require_http_methods(["GET", "HEAD", "POST"])
@takes("outcome", "error", "scorer", "before", "after")
def run_detail(request: PageRequest, public_id: str) -> HttpResponse:
    """Show a run: its figures by slice, its classes of errors, and its entries. POST scores it by a newer scorer."""
    project = request.project
    score_set = boards.choose_scores(actor=request.user, project=project, public_id=public_id, query=request.GET)
    run = score_set.run
    if request.method == "POST":
        rescoring.start_rescoring(actor=request.user, run=run)
        messages.info(request, _("The run is being scored again. Its earlier scores stay."))
        return redirect("job-list", slug=project.slug)
    versions, scorer = boards.versions_of(run), request.GET.get("scorer", "").strip()
    first = "wrong" if score_set.right < score_set.entries else "all"
    summary = score_set.summary or {}
    errors = {name: count for name, count in summary.get("errors", {}).items() if name}
    outcome = one_of(request.GET, "outcome", boards.OUTCOMES, otherwise=first)
    error = one_of(request.GET, "error", errors)
    page = page_of(
        boards.list_scores(score_set, outcome=outcome, error=error), request, size=PAGE, newest_first=False, by=BY_KEY
    )
    given = {"error": error, "scorer": scorer}
    inference = inferences.inference_of(run)
    attempts, attempt_runs = _attempts(score_set)
    kept = urlencode({"outcome": outcome} | {name: value for name, value in given.items() if value})
    context = {
        "project": project,
        "score_set": score_set,
        "run": run,
        "heads": [(title(*column), show(_figures(score_set).get(column))) for column in boards.COLUMNS[run.family]],
        "slices": _slices(score_set),
        "space": show_space(summary["space"]) if summary.get("space", {}).get("tasks") else None,
        "errors": [
            (name, count, f"?{urlencode({'outcome': 'wrong', 'error': name} | _given(scorer=scorer))}")
            for name, count in errors.items()
        ],
        "attempts": attempts,
        "attempt_runs": attempt_runs,
        "inference": inference,
        "settings": describe_options(Options.of(inference.settings), run.family, model=inference.person is None)
        if inference else (),
        "versions": versions,
        "scorer": scorer,
        "may_score_again": Role.ADMINISTRATOR in request.roles and rescoring.may_score_again(score_set) and not scorer,
        "outcomes": [
            (label, f"?{urlencode(_given(outcome=name, scorer=scorer))}", name == outcome and not error)
            for name, label in (("wrong", _("Wrong")), ("right", _("Right")), ("all", _("All")))
        ],
        "error": error,
        "error_tab": f"?{kept}",
        "page": page,
        "previous": f"{page.previous}&{kept}" if page.previous else "",
        "following": f"{page.following}&{kept}" if page.following else "",
        "history": [(one.run, show(figure)) for one, figure in boards.over_releases(run)],
        "others": boards.others_of(score_set) if score_set.version == versions[0] else (),
        "trail": release_trail(request, run.release, (run.model, "")),
    }  # fmt: skip
    return render(request, "benchmark/run.html", context)


def _figures(score_set: ScoreSet) -> dict[tuple[str, str], Any]:
    return {(one.name, one.cell): one for one in score_set.figures.all()}


def _given(**values: str) -> dict[str, str]:
    return {name: value for name, value in values.items() if value}


def _attempts(score_set: ScoreSet) -> tuple[list[tuple[str, Any]], int]:
    """Return pass^k and best-of-k by k, and over how many runs they are."""
    found, runs = boards.figures_over_attempts(score_set)
    found.sort(key=lambda one: (one.name == BEST, int(one.cell)))
    names = {PASS: _("pass^%(k)s"), BEST: _("best of %(k)s")}
    return [(names[one.name] % {"k": one.cell}, show(one)) for one in found], runs


def _slices(score_set: ScoreSet) -> list[tuple[str, list[tuple[str, Any]]]]:
    """Return the figures by slice: heading, then cells with their figures."""
    columns = set(boards.COLUMNS[score_set.run.family])
    found: dict[str, list[tuple[str, Any]]] = {}
    for (name, cell), figure in sorted(_figures(score_set).items()):
        if (name, cell) not in columns and cell != boards.ALL and name not in boards.NOT_SLICES:
            found.setdefault(title(name, boards.ALL), []).append((cell_words(name, cell), show(figure)))
    return list(found.items())


@project_page
@require_safe
def run_entry(request: PageRequest, public_id: str, key: str) -> HttpResponse:
    """Show one entry of a run: what the model did beside the reference, and why it is right or wrong."""
    project = request.project
    newest = boards.load_run(actor=request.user, project=project, public_id=public_id)
    run = newest.run
    score = boards.load_score(run, key)
    following = boards.next_wrong(score)
    scored_by = f"?scorer={score.score_set.version}" if score.score_set.version != newest.version else ""
    statistic = suspects.statistic_of(score)
    item = score.prediction.item if score.prediction else statistic.item if statistic else None
    view = present_entry(run.family, score, item.revision.document() if item else None)
    context = {
        "project": project,
        "run": run,
        "score": score,
        "view": view,
        "replies": inferences.list_replies(score),
        "explore": _explore(request, score, item, view),
        "others": boards.others_on(score),
        "statistic": statistic,
        "erratum": _erratum(request, score, statistic),
        "scored_by": scored_by,
        "following": reverse("run-entry", args=[project.slug, public_id, following.pk]) if following else "",
        "trail": release_trail(
            request,
            run.release,
            (run.model, reverse("run", args=[project.slug, public_id]) + scored_by),
            (score.entry, ""),
        ),
    }
    return render(request, "benchmark/run_entry.html", context)


def _erratum(request: PageRequest, score: Score, statistic: EntryStatistic | None) -> str:
    """Return the address at which an administrator adds an erratum of the item, with the answer as evidence."""
    if statistic is None or statistic.item_id is None or Role.ADMINISTRATOR not in request.roles:
        return ""
    page = reverse("erratum-add", args=[request.project.slug, score.score_set.run.release.public_id])
    return f"{page}?{urlencode({'entry': statistic.pk, 'score': score.pk})}"


def _explore(request: PageRequest, score: Score, item: ReleaseItem | None, view: EntryView) -> str:
    """Return the address at which the decision tree of the entry's task can be explored."""
    if view.tree is None or item is None:
        return ""
    task = item.revision.document()["tasks"][score.detail["task"]]
    page = reverse("decision-tree", args=[request.project.slug, item.dialogue.public_id, task["id"]])
    return f"{page}?{urlencode({'revision': item.revision.public_id, 'path': view.tree.path}, safe=',;')}"


@project_page
@require_safe
@takes("a", "b", "which", "before", "after")
def run_compare(request: PageRequest) -> HttpResponse:
    """Compare two runs: the difference, the figures side by side, and the entries that changed."""
    project = request.project
    names = {name: request.GET.get(name, "") for name in ("a", "b")}
    first, second = boards.two_runs(actor=request.user, project=project, first=names["a"], second=names["b"])
    versus = boards.compare_runs(first, second)
    which = one_of(request.GET, "which", boards.SIDES)
    rows = boards.list_changed(first, second, which=which)
    page = page_of(rows, request, size=PAGE, newest_first=False, by=BY_KEY)
    kept = urlencode(names | ({"which": which} if which else {}))
    swapped = urlencode({"a": names["b"], "b": names["a"]})
    context = {
        "project": project,
        "versus": versus,
        "both": f"{versus.n:,}",
        "only_first": f"{versus.only_first:,}",
        "only_second": f"{versus.only_second:,}",
        "first": first.run.model,
        "second": second.run.model,
        "p": p_words(versus.p),
        "differs": versus.p < boards.LEVEL,
        "cells": [(title(name, cell), show(one), show(other)) for name, cell, one, other in versus.cells],
        "page": page,
        "which": which,
        "choices": [
            ("", _("All that changed"), versus.only_first + versus.only_second),
            ("first", _("Right in the first only"), versus.only_first),
            ("second", _("Right in the second only"), versus.only_second),
        ],
        "base": urlencode(names),
        "swapped": f"?{swapped}",
        "previous": f"{page.previous}&{kept}" if page.previous else "",
        "following": f"{page.following}&{kept}" if page.following else "",
        "trail": release_trail(request, first.run.release, (_("Compare"), "")),
    }
    return render(request, "benchmark/run_compare.html", context)


@project_page
@require_safe
@takes("run", "with")
def run_compare_with(request: PageRequest) -> HttpResponse:
    """Go to the comparison of the run with the one chosen in a form."""
    target = urlencode({"a": request.GET.get("run", ""), "b": request.GET.get("with", "")})
    return HttpResponseRedirect(f"{reverse('run-compare', args=[request.project.slug])}?{target}")
