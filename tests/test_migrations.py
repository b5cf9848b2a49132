"""Migrations go back and come again, with what Django cannot see."""

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection

from annotator.core.text import Message, message
from annotator.models import Dialogue, Event, Notice
from annotator.services.history.events import append_event
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
    append_event(actor=None, project=team.project, dialogue=plain, kind="test.happened")
    said = message("Reviewers disagree (%(percent)d %%).", percent=12)
    Notice.objects.create(person=team.annotator, project=team.project, kind="alarm", target="/", message=said)
    before = triggers()
    try:
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
    notice = Notice.objects.get()
    assert (notice.text, notice.message) == ("Reviewers disagree (12 %).", Message("Reviewers disagree (12 %)."))
    assert Dialogue.objects.matching("weather").get() == plain


@pytest.mark.django_db
def test_no_model_has_changed_without_a_migration():
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)
