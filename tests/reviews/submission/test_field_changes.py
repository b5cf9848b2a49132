"""A review that is submitted while the project's custom fields change."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction

from annotator.errors import Invalid
from annotator.models import Dialogue, Job, Project
from annotator.services.custom_fields import CHECK_JOB, fields_of, set_fields
from annotator.services.dialogues.revisions import hold_dialogue, revise
from annotator.services.jobs import jobs
from reviews.models import Review
from reviews.services.queue.claims import claim_slot
from reviews.services.submission import submit as submit_module
from reviews.services.submission.submit import submit_review
from tests.annotator.core.test_custom_fields import FIELDS
from tests.consistency import assert_consistent
from tests.factories import Team, adopt_c3, changed, current, make_item, make_team, open_slot
from tests.racing import overlap, race

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

REQUIRED = FIELDS[0]
OPTIONAL = REQUIRED | {"required": False}


@pytest.fixture
def team() -> Team:
    team = make_team()
    adopt_c3(team)
    team.project = set_fields(actor=team.administrator, project=team.project, fields=[OPTIONAL], seen=0)
    return team


def answered(dialogue: Dialogue, answer: str | None) -> dict[str, Any]:
    document = changed(current(dialogue))
    if answer is not None:
        document["tasks"][0]["labels"] = {"difficulty": answer}
    return document


def submission(team: Team, dialogue: Dialogue, answer: str | None) -> Callable[[], Review]:
    slot = open_slot(dialogue)
    claim = claim_slot(actor=team.annotator, slot=slot)
    document = answered(dialogue, answer)
    return lambda: submit_review(actor=team.annotator, slot=slot, token=claim.token, document=document)


def require(team: Team) -> Project:
    """Require an answer, on a connection of its own."""
    [change] = race(lambda: set_fields(actor=team.administrator, project=team.project, fields=[REQUIRED], seen=1))
    assert isinstance(change, Project)
    return change


def check_all(team: Team) -> None:
    jobs.run(Job.objects.get(project=team.project, kind=CHECK_JOB, state="queued").pk)


def found(dialogue: Dialogue) -> list[str]:
    """The findings about fields that lists and pages show."""
    head = Dialogue.objects.get(pk=dialogue.pk).head_id
    rows = dialogue.findings.filter(revision=head, check_id__startswith="field.")
    return list(rows.values_list("check_id", flat=True))


@pytest.mark.parametrize("answer", [None, "hard"])
def test_a_submission_that_waits_while_a_field_changes_is_checked_with_the_new_one(
    team: Team, answer: str | None
) -> None:
    item = make_item(team, "self_check_single")
    submit = submission(team, item, answer)
    # It has been checked with the old field, and waits for the dialogue.
    _, outcome = overlap(lambda: hold_dialogue(item.pk), submit, then=lambda: [require(team), check_all(team)])
    if answer is None:
        assert isinstance(outcome, Invalid)
        assert [one["check"] for one in outcome.details["findings"]] == ["field.missing"]
        assert not Review.objects.exists()
        assert found(item) == ["field.missing"]
    else:
        assert outcome.verdict == "fix"
        assert found(item) == []
    assert_consistent(team.project)


def test_a_field_that_changes_while_a_submission_is_written_is_checked_by_the_job_in_the_new_head(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = make_item(team, "self_check_single")
    submit = submission(team, item, None)
    end_claim = submit_module._end_claim

    def require_first(*given: Any) -> int:
        require(team)
        return end_claim(*given)

    monkeypatch.setattr(submit_module, "_end_claim", require_first)
    # The job meets the dialogue while it is locked, and finds another head when it gets it.
    review, _ = overlap(submit, lambda: check_all(team))
    assert Dialogue.objects.get(pk=item.pk).head_id == review.made_revision_id
    assert found(item) == ["field.missing"]


def test_an_edit_that_waits_while_a_field_changes_is_checked_with_the_new_one(team: Team) -> None:
    item = make_item(team, "self_check_single")
    head = item.head
    assert head is not None
    # As a request has it that loaded its project before.
    item.project = team.project
    document = answered(item, None)

    require(team)
    check_all(team)
    assert fields_of(item.project)[0].required is False
    with transaction.atomic():
        hold_dialogue(item.pk)
        revise(actor=team.administrator, dialogue=item, seen=head, document=document, message="")
    assert found(item) == ["field.missing"]
