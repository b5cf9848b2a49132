"""The migrations that Django cannot see: they go back and come again, and index what is there already."""

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection

from annotator.models import Dialogue, Event
from annotator.services.events import append_event
from annotator.services.revisions import ensure_toolset_revision
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
    dialogue = make_dialogue(team.project)
    append_event(actor=None, project=team.project, dialogue=dialogue, kind="test.happened")
    before = triggers()
    try:
        call_command("migrate", "annotator", "0001", verbosity=0)
        assert triggers() == set()
        Event.objects.update(kind="test.changed")
    finally:
        call_command("migrate", verbosity=0)  # all: going back took with it what builds on it
    assert triggers() == before
    assert {"annotator_event_append_only", "annotator_revision_append_only"} <= before
    assert Dialogue.objects.matching("weather").get() == dialogue
    with pytest.raises(IntegrityError):
        Event.objects.update(kind="test.changed-again")


@pytest.mark.django_db(transaction=True)
def test_the_kind_of_what_is_there_already_is_that_of_its_content():
    team = make_team()
    toolset = ensure_toolset_revision(actor=None, project=team.project, tools=TOOLS, name="ferries")
    constrained = make_dialogue(team.project, case(), toolset=toolset, external_id="constrained")
    plain = make_dialogue(team.project, external_id="plain")
    assert (constrained.kind, plain.kind) == ("constrained", "multi_turn")
    try:
        call_command("migrate", "annotator", "0010", verbosity=0)
        Dialogue.objects.update(kind="multi_turn")
    finally:
        call_command("migrate", verbosity=0)
    assert dict(Dialogue.objects.values_list("external_id", "kind")) == {
        "constrained": "constrained",
        "plain": "multi_turn",
    }


@pytest.mark.django_db
def test_no_model_has_changed_without_a_migration():
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)
