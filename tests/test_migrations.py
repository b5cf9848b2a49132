"""Migrations go back and come again, with what Django cannot see, and bring what is there already up to date."""

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection

from annotator.models import Cancellation, Dialogue, Event, Job
from annotator.services.dialogues.revisions import ensure_toolset_revision
from annotator.services.history.events import append_event
from tests.annotator.case_documents import TOOLS, case
from tests.factories import make_dialogue, make_team


def triggers():
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgname LIKE 'annotator%'")
        else:
            cursor.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        return {row[0] for row in cursor.fetchall()}


@pytest.mark.django_db(transaction=True)
def test_back_and_forth():
    team = make_team()
    plain = make_dialogue(team.project, external_id="plain")
    toolset = ensure_toolset_revision(actor=None, project=team.project, tools=TOOLS, name="ferries")
    make_dialogue(team.project, case(), toolset=toolset, external_id="constrained")
    append_event(actor=None, project=team.project, dialogue=plain, kind="test.happened")
    Cancellation.objects.create(job=Job.objects.create(project=team.project, kind="replay"))
    Job.objects.create(project=team.project, kind="history_check")
    kinds = {"plain": "multi_turn", "constrained": "constrained"}
    assert dict(Dialogue.objects.values_list("external_id", "kind")) == kinds
    before = triggers()
    try:
        call_command("migrate", "annotator", "0001", verbosity=0)
        assert triggers() == set()
        Event.objects.update(kind="test.changed")
        Dialogue.objects.update(kind="multi_turn")
    finally:
        call_command("migrate", verbosity=0)  # all: going back took with it what builds on it
    assert triggers() == before
    assert {"annotator_event_append_only", "annotator_revision_append_only"} <= before
    with pytest.raises(IntegrityError):
        Event.objects.update(kind="test.changed-again")
    assert Dialogue.objects.matching("weather").get() == plain
    assert [job.kind for job in Job.objects.all() if job.cancel_requested] == ["replay"]
    # The kind is that of the content.
    assert dict(Dialogue.objects.values_list("external_id", "kind")) == kinds


@pytest.mark.django_db
def test_no_model_has_changed_without_a_migration():
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)
