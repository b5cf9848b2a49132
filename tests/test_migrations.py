"""Migrations go back and come again, with what Django cannot see."""

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection

from annotator.core.text import Message, message
from annotator.models import Dialogue, Event, Notice
from annotator.services.history.events import append_event
from reviews.models import AssignmentPlan, Comment, Cycle, CycleState
from reviews.services.assignments.plans import confirm_plan, make_plan, make_undo
from reviews.services.feedback.comments import comment_on
from tests.databases import quick_migrations
from tests.factories import adopt_c3, make_dialogue, make_item, make_team


def triggers():
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgname LIKE 'annotator%'")
        else:
            cursor.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        return {row[0] for row in cursor.fetchall()}


@pytest.fixture
def _quick_migrations():
    with quick_migrations():
        yield


@pytest.mark.slow(seconds=20)
@pytest.mark.usefixtures("_quick_migrations")
@pytest.mark.django_db(transaction=True)
def test_back_and_forth():
    """One way back with a stop, because each operation on the way computes the state of all models."""
    team = make_team()
    plain = make_dialogue(team.project, external_id="plain")
    append_event(actor=None, project=team.project, dialogue=plain, kind="test.happened")
    said = message("Reviewers disagree (%(percent)d %%).", percent=12)
    Notice.objects.create(person=team.annotator, project=team.project, kind="alarm", target="/", message=said)
    item = withdrawn_cycle(team)
    before = triggers()
    try:
        call_command("migrate", "reviews", "0008", verbosity=0)
        # Withdrawn cycles go when their migration goes back, and earlier code may change what has ended.
        assert list(Cycle.objects.values_list("number", "state")) == [(1, "active")]
        Cycle.objects.update(state="superseded", ended_at=item.created_at)
        Cycle.objects.update(state="active", ended_at=None)
        assert Comment.objects.values_list("stage_run", flat=True).get() is None
        call_command("migrate", "reviews", "0009", verbosity=0)
        assert set(AssignmentPlan.objects.values_list("confirmed_by", flat=True)) == {team.administrator.pk}
        call_command("migrate", "annotator", "0001", verbosity=0)
        assert triggers() == set()
        Event.objects.update(kind="test.changed")
    finally:
        call_command("migrate", verbosity=0)  # all: going back took with it what builds on it
    assert triggers() == before
    assert {"annotator_event_append_only", "annotator_revision_append_only"} <= before
    with pytest.raises(IntegrityError):
        Event.objects.update(kind="test.changed-again")
    # Its earlier text is complete, and a percent sign in it is not a placeholder.
    notice = Notice.objects.get(kind="alarm")
    assert (notice.text, notice.message) == ("Reviewers disagree (12 %).", Message("Reviewers disagree (12 %)."))
    assert Dialogue.objects.matching("plain").get() == plain
    Cycle.objects.update(state="rejected", ended_at=item.created_at)
    with pytest.raises(IntegrityError):
        Cycle.objects.update(state="superseded")


def withdrawn_cycle(team):
    """Send an item back and undo that: it has an active cycle and a withdrawn one, with a comment."""
    adopt_c3(team)
    item = make_item(team, "cross_check")
    reason = {"stage": "self_check_single", "reason": "Dates"}
    made = make_plan(actor=team.administrator, project=team.project, action="send_back", dialogues=[item.pk], **reason)
    confirm_plan(actor=team.administrator, project=team.project, public_id=made.public_id)
    back = make_undo(actor=team.administrator, project=team.project, public_id=made.public_id)
    confirm_plan(actor=team.administrator, project=team.project, public_id=back.public_id)
    comment_on(actor=team.annotator, dialogue=item, anchor="", text="Why?")
    withdrawn = Cycle.objects.get(state=CycleState.WITHDRAWN)
    Comment.objects.update(stage_run=withdrawn.stage_runs.get())
    return item


@pytest.mark.django_db
def test_no_model_has_changed_without_a_migration():
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)
