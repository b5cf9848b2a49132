"""The page of samples: rounds with what they found, draws with all it takes to draw them again."""

import csv
import json
from io import StringIO
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotator.models import Dialogue, Role, User
from reviews.core.protocols import Candidate, population_hash
from reviews.models import DrawItem
from reviews.services.cycles.start import supersede_cycle
from reviews.services.queue.claims import claim_slot
from reviews.services.sampling.draws import close_population_and_draw
from reviews.services.statistics.accuracy import read_accuracy
from reviews.services.statistics.all_counts import fold_all
from reviews.services.submission.submit import submit_review
from tests.factories import Team, adopt_c3, claim_and_submit, give_role, make_item, make_team, open_slot
from tests.pages import one_line
from tests.reviews.cycles.test_rounds import annotated, drawn, look, next_round, team

__all__ = ["team"]
pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


def page(person: User, team: Team, **query: str) -> Any:
    client = Client()
    client.force_login(person)
    return client.get(f"/p/{team.project.slug}/statistics/samples/", query)


def csv_rows(response: Any) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(response.content.decode())))


def test_rounds_and_their_draws(team: Team) -> None:
    annotated(team, 4)
    first = next_round(team)
    disputed, right = drawn(first)
    look(disputed, "approve", "fix")
    look(right, "approve", "approve")
    [one] = csv_rows(page(team.senior, team, csv="rounds-rounds"))
    assert (one["round"], one["population"], one["unseen"], one["drawn"], one["seen"]) == (
        "Round 1",
        "4",
        "4",
        "2",
        "2",
    )
    assert (one["errors"], one["disputes"], one["open_disputes"], one["state"]) == ("0", "1", "1", "in progress")
    [draw] = csv_rows(page(team.senior, team, csv="draws"))
    assert (draw["seed"], draw["population_sha256"], draw["by"]) == (first.seed, first.population_hash, "Assay")

    seen = one_line(page(team.senior, team))
    assert "Settle 1 open dispute of round 1 in a review session" in seen
    assert f'href="/p/{team.project.slug}/review-sessions/rounds-1/"' in seen
    # Only overseers see who reviews with whom.
    assert len(csv_rows(page(team.senior, team, csv="pairs-rounds"))) == len(first.pairs)
    assert page(team.annotator, team, csv="pairs-rounds").status_code == 404
    assert "Settle 1 open" not in one_line(page(team.annotator, team))


def test_the_pool_is_measured_after_each_round(team: Team) -> None:
    """Four items, two a round: both of round 1 are fixed, and after that nothing is."""
    annotated(team, 4)
    for item in drawn(next_round(team)):
        look(item, "fix", "fix", text="It is 18 degrees.")
    while not (draw := next_round(team)).closing:
        for item in drawn(draw):
            look(item, "approve", "approve")
    fold_all()
    rows = csv_rows(page(team.senior, team, csv="rounds-rounds"))
    # After round 1 the fixed items have what is verified in the end, and so have the others, which nobody changed.
    assert [row["pool_accuracy"] for row in rows] == ["1.0"] * len(rows)
    [before, *_] = read_accuracy(project=team.project).by_round[0].rounds
    assert (before.right, before.of) == (2, 4)
    assert [row["accuracy"] for row in rows[:2]] == ["0.0", "1.0"]
    # No error in two items: up to 66 % may be wrong.
    assert float(rows[1]["error_rate_at_most"]) == pytest.approx(0.6576, abs=1e-4)
    seen = one_line(page(team.annotator, team))
    assert "the share of all 4 finished items" in seen
    assert "Accuracy by round of" in seen


def test_a_draw_is_drawn_again_for_who_oversees(team: Team) -> None:
    annotated(team, 4)
    draw = next_round(team)
    assert "the same 2 of 4 items" in one_line(page(team.senior, team, check=draw.public_id))
    assert page(team.annotator, team, check=draw.public_id).status_code == 403
    assert page(team.senior, team, check="nonsense").status_code == 404
    assert f"?population={draw.public_id}" in one_line(page(team.senior, team, check=draw.public_id))
    assert page(team.annotator, team, population=draw.public_id).status_code == 403
    assert page(team.senior, team, population="nonsense").status_code == 404
    sent = b"".join(page(team.senior, team, population=draw.public_id).streaming_content)
    members = [json.loads(line) for line in sent.splitlines()]
    assert [one["id"] for one in members] == sorted(one["id"] for one in members)
    assert population_hash(Candidate(one["id"], one["stratum"]) for one in members) == draw.population_hash
    assert sum(one["drawn"] for one in members) == 2
    with connection.cursor() as cursor:
        cursor.execute("UPDATE reviews_drawitem SET selected = NOT selected WHERE draw_id = %s", [draw.pk])
    assert DrawItem.objects.filter(draw=draw, selected=True).count() == 2
    body = one_line(page(team.senior, team, check=draw.public_id))
    assert "couldn’t be reproduced" in body
    assert "the draw selects 2 items that aren’t in the recorded sample, and leaves out 2 of those that are." in body


def test_whoever_reviews_a_member_blind_does_not_see_the_population(team: Team) -> None:
    """It says whose each member is, as the item's own pages do not; without one of them, the sizes of strata would."""
    team = make_team(annotators=4)
    adopt_c3(team)
    items = [make_item(team, "cross_check") for _ in range(2)]
    for item in items:
        for person in team.annotators[1:3]:
            claim_and_submit(person, item, "approve")
    draw = close_population_and_draw(actor=team.administrator, project=team.project)
    assert draw is not None
    again = Dialogue.objects.get(pk=items[0].pk)
    supersede_cycle(actor=team.administrator, dialogue=again, reason="Look again.", force=True)
    for _ in range(2):
        claim_and_submit(team.annotator, again)
    reader = give_role(team.project, team.annotators[3], Role.SENIOR_REVIEWER)

    def sent(person: User) -> tuple[int, bool]:
        response = page(person, team, population=draw.public_id)
        text = response.getvalue().decode()
        return response.status_code, team.annotator.pseudonym in text

    assert sent(reader) == (200, True)
    claim = claim_slot(actor=reader, slot=open_slot(again))
    for _ in range(2):
        assert sent(reader) == (403, False)
        compared = one_line(page(reader, team, check=draw.public_id))
        assert "the same 1 of 2 items" in compared
        assert "You are reviewing a dialogue of this draw blind" in compared
        assert "Download the population" not in compared
        assert sent(team.senior) == (200, True)
        submit_review(actor=reader, slot=claim.slot, token=claim.token, verdict="approve")
    claim_and_submit(team.annotators[1], again, "approve")
    assert sent(reader) == (200, True)


def test_before_the_first_draw_there_is_a_word_of_explanation() -> None:
    team = make_team()
    adopt_c3(team)
    make_item(team, "cross_check")
    assert "No draws yet" in one_line(page(team.annotator, team))


def test_the_page_reads_no_items(team: Team) -> None:
    client = Client()
    client.force_login(team.senior)
    url = f"/p/{team.project.slug}/statistics/samples/"
    annotated(team, 4)
    next_round(team)
    with CaptureQueriesContext(connection) as few:
        assert client.get(url).status_code == 200
    annotated(team, 4)
    with CaptureQueriesContext(connection) as more:
        assert client.get(url).status_code == 200
    assert len(more) == len(few)
    assert not [query for query in more if "reviews_drawitem" in query["sql"]]
