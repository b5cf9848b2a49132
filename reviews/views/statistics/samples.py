"""The page of samples: rounds and reproducible draws."""

from typing import Any

from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotator.views.pages import PageRequest, project_page, takes
from reviews.services.protocols.readers import in_reader_language, shown_stage_titles
from reviews.services.sampling.rounds import read_rounds
from reviews.services.sampling.samples import check_draw, list_draws, read_population, why_hidden
from reviews.services.statistics.access import names_of, oversees
from reviews.services.statistics.accuracy import read_accuracy
from reviews.views.statistics import sample_tables as made
from reviews.views.statistics.layout import Table
from reviews.views.statistics.pages import answer, drawn


@project_page
@require_safe
@takes("check", "csv", "population")
def samples(request: PageRequest) -> HttpResponseBase:
    """Show rounds and draws; ``?check=`` reproduces a draw, ``?population=`` downloads its population (overseers)."""
    project = request.project
    wanted = request.GET.get("population")
    if wanted:
        lines = read_population(actor=request.user, project=project, public_id=wanted)
        response = StreamingHttpResponse(lines, content_type="application/jsonl")
        response["Content-Disposition"] = f'attachment; filename="draw-{wanted}.jsonl"'
        return response
    overseer = oversees(request.roles)
    checked = request.GET.get("check")
    check = check_draw(actor=request.user, project=project, public_id=checked) if checked else None
    names = names_of(project=project) if overseer else {}
    stages: list[dict[str, Any]] = []
    tables: dict[str, Table] = {}
    rounds_of = made.by_stage(read_rounds(project, hide_answers=not overseer))
    found = read_accuracy(project=project, hide_answers=not overseer).by_round if rounds_of else []
    pools = {one.stage: {int(point.key): point for point in one.rounds if point.of} for one in found}
    for stage, rounds in rounds_of:
        pool = pools.get(stage, {})
        table = made.rounds_table(stage, rounds, pool, sizes=overseer)
        pairs = made.pairs_table(stage, rounds, names) if overseer else None
        tables |= {table.key: table} | ({pairs.key: pairs} if pairs else {})
        stages.append(
            {
                "title": in_reader_language(rounds[0].title),
                "chart": drawn(made.rounds_chart(stage, rounds, pool)),
                "finished": next(iter(pool.values())).of if pool else 0,
                "table": table,
                "pairs": pairs,
                "open": [
                    (one.number, one.open_disputes, f"{stage}-{one.number}") for one in rounds if one.open_disputes
                ],
                "key": stage,
            }
        )
    draws = list_draws(project)
    titles = shown_stage_titles(project)
    if draws:
        tables["draws"] = made.draws_table(draws, titles, sizes=overseer)
    return answer(
        request,
        "reviews/statistics/samples.html",
        tables,
        {
            "stages": stages,
            "draws": draws,
            "choices": [
                (
                    one.public_id,
                    _("%(stage)s, draw %(number)s") % {"stage": titles.get(one.stage, one.stage), "number": one.number},
                )
                for one in draws
            ],
            "checked": check[0].public_id if check else "",
            "check": check
            and {
                "draw": check[0],
                "problems": check[1],
                "title": titles.get(check[0].stage, check[0].stage),
                "hidden": why_hidden(actor=request.user, draw=check[0]),
            },
        },
    )
