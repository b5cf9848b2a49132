"""AsyncTool's protocol on single tasks: run, validated, and reviewed in rounds until a round finds no error."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotator.core.editing import apply
from annotator.core.schema.toolsets import CompiledToolset
from annotator.models import Dialogue, User
from annotator.models.content import DialogueStatus
from reviews.models import StageRun
from reviews.services.protocols.versions import adopt_preset
from reviews.services.sampling.draws import close_population_and_draw
from reviews.services.statistics.round_errors import read_round_errors
from tests.benchmark.conftest import as_lines, begin_import
from tests.benchmark.releases.test_single_tasks import FAULTY, record, run_jobs
from tests.factories import Team, claim_and_submit, make_team
from tests.pages import one_line

pytestmark = [pytest.mark.django_db, pytest.mark.any_database, pytest.mark.usefixtures("shared_sandbox")]


@pytest.fixture
def team() -> Team:
    team = make_team(annotators=3, seniors=1)
    adopt_preset(actor=team.administrator, project=team.project, preset="async")
    return team


def with_calls(dialogue: Dialogue, text: str) -> dict[str, Any]:
    dialogue.refresh_from_db()
    head = dialogue.head
    assert head is not None
    tools = CompiledToolset.of(head.toolset_revision.content)
    changed, _ = apply(head.document(), {"op": "set_calls", "anchor": "/tasks/t1", "text": text}, toolset=tools)
    return changed


def fix(person: User, dialogue: Dialogue, text: str, **submission: Any) -> None:
    claim_and_submit(person, dialogue, "fix", document=with_calls(dialogue, text), **submission)


def test_all_tasks_are_reviewed_in_rounds_until_one_finds_no_error(team: Team) -> None:
    third = record(id="shelf_3", question="Unlock the shelf and take Ulysses.")
    begin_import(team, as_lines([record(), FAULTY, third]), native_format="async")
    run_jobs()
    good, faulty, vague = Dialogue.objects.order_by("external_id")
    ann, ben, cem = team.annotators

    # Validation: running has shown what is wrong with one of them.
    claim_and_submit(ann, good, "approve")
    fix(ann, faulty, "unlock()\ntake('Emma')")
    claim_and_submit(ann, vague, "approve")
    assert {one.status for one in Dialogue.objects.all()} == {DialogueStatus.POOLED}

    def draw() -> Any:
        return close_population_and_draw(actor=team.administrator, project=team.project)

    # A reader finds in round 1 that another book is meant: a second round takes all of them again.
    first = draw()
    assert (first.sample_size, first.population_size, first.pairs) == (3, 3, [])
    claim_and_submit(ben, good, "approve")
    claim_and_submit(ben, faulty, "approve")
    fix(ben, vague, "unlock()\ntake('Ulysses')", named_errors=[{"kind": "wrong_argument_value", "anchor": "/tasks/t1"}])
    assert {one.status for one in Dialogue.objects.all()} == {DialogueStatus.POOLED}
    second = draw()
    assert second.sample_size == 3
    for one in (good, faulty, vague):
        claim_and_submit(cem, one, "approve")
    # The round has found nothing, so everything is verified together.
    closing = draw()
    assert closing is None or closing.closing
    assert {one.status for one in Dialogue.objects.all()} == {DialogueStatus.VERIFIED}

    rows = [(one.stage, one.round, one.by_running, one.kind, one.items) for one in read_round_errors(team.project)]
    assert rows == [
        ("validation", 1, True, "execution.error_result", 1),
        ("validation", 1, True, "execution.first_call_unused", 1),
        ("validation", 1, True, "execution.order_free", 1),
        ("validation", 1, False, "", 1),
        ("rounds", 1, False, "wrong_argument_value", 1),
    ]
    assert set(StageRun.objects.filter(stage="rounds", round=2).values_list("found__0", flat=True)) == {None}
    client = Client()
    client.force_login(team.administrator)
    page = one_line(client.get(reverse("statistics", args=[team.project.slug])))
    assert "Errors of single tasks by round" in page
    assert "Changed without an error type" in page
    client.force_login(ann)
    assert "Errors of single tasks by round" in one_line(client.get(reverse("statistics", args=[team.project.slug])))
