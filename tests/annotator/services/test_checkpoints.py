"""Checkpoints: what a dialogue's own chain cannot show, such as that its end was cut off."""

import json
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from annotator import tasks
from annotator.models import Event, Role
from annotator.services import members
from annotator.services.history.events import EventLine, append_event, append_events, broken_links, chain_problems
from annotator.services.integrity.checkpoints import checkpoint_problems, write_checkpoint, write_checkpoints
from tests.factories import make_dialogue, make_team
from tests.racing import overlap

pytestmark = pytest.mark.django_db

NOW = timedelta(seconds=-60)  # nothing is too young


@pytest.fixture
def dialogue(team):
    """A dialogue with three events, in a project with one of its own."""
    dialogue = make_dialogue(team.project, external_id="d-one")
    members.grant_role(actor=team.administrator, project=team.project, user=team.outsider, role=Role.ANNOTATOR)
    happen(team, dialogue, 3)
    return dialogue


def happen(team, dialogue, times=1):
    lines = [EventLine("test.happened", after={"n": n}) for n in range(times)]
    return append_events(actor=team.annotator, project=team.project, dialogue=dialogue, lines=lines)


def unguard():
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute("ALTER TABLE annotator_event DISABLE TRIGGER USER")
        else:
            cursor.execute("DROP TRIGGER annotator_event_append_only")


def broken_checkpoints(project):
    """Ids of the checkpoints that do not hold."""
    return [int(problem.split()[1]) for problem in checkpoint_problems(project)]


def test_a_checkpoint_holds_as_long_as_nothing_is_touched(team, dialogue):
    first = write_checkpoint(project=team.project, rest=NOW)
    assert first.after["events"] == 4
    happen(team, dialogue)
    second = write_checkpoint(project=team.project, rest=NOW)
    assert second.after["events"] == 2  # the event, and the checkpoint before it
    assert second.after["digest"] != first.after["digest"]
    happen(team, dialogue)
    assert broken_checkpoints(team.project) == []


def test_where_nothing_has_happened_there_is_no_checkpoint(team, dialogue):
    assert write_checkpoint(project=make_team().project, rest=NOW) is None
    write_checkpoint(project=team.project, rest=NOW)
    assert write_checkpoint(project=team.project, rest=NOW) is None
    assert Event.objects.filter(kind="project.checkpoint").count() == 1


def test_what_has_not_come_to_rest_waits(team, dialogue):
    assert write_checkpoint(project=team.project) is None
    unguard()
    Event.objects.filter(dialogue=dialogue).update(created_at=timezone.now() - timedelta(hours=2))
    assert write_checkpoint(project=team.project).after["through"] == Event.objects.filter(dialogue=dialogue).last().pk


def test_events_of_an_import_that_may_still_be_cancelled_wait(team, dialogue):
    unpublished = make_dialogue(team.project, published=False)
    happen(team, unpublished, 2)
    happen(team, dialogue)
    assert write_checkpoint(project=team.project, rest=NOW).after["events"] == 4
    Event.objects.filter(dialogue=unpublished).delete()
    unpublished.findings.all().delete()
    unpublished.published = True
    unpublished.save()
    assert write_checkpoint(project=team.project, rest=NOW).after["events"] == 1
    assert broken_checkpoints(team.project) == []


def test_the_end_of_a_chain_cut_off(team, dialogue):
    checkpoint = write_checkpoint(project=team.project, rest=NOW)
    unguard()
    Event.objects.filter(dialogue=dialogue, number=3).delete()
    assert broken_links(dialogue) == []
    assert broken_checkpoints(team.project) == [checkpoint.pk]


def test_an_event_of_the_project_removed(team, dialogue):
    checkpoint = write_checkpoint(project=team.project, rest=NOW)
    unguard()
    Event.objects.filter(kind="membership.granted").delete()
    assert broken_checkpoints(team.project) == [checkpoint.pk]


def test_an_event_slipped_in_or_hashed_anew(team, dialogue):
    checkpoint = write_checkpoint(project=team.project, rest=NOW)
    unguard()
    event = Event.objects.filter(kind="membership.granted").get()
    Event.objects.filter(pk=event.pk).update(hash="0" * 64)
    assert broken_checkpoints(team.project) == [checkpoint.pk]
    Event.objects.filter(pk=event.pk).update(hash=event.hash)
    assert broken_checkpoints(team.project) == []
    late = append_event(actor=None, project=team.project, kind="test.slipped-in")
    Event.objects.filter(pk=late.pk).update(id=Event.objects.order_by("pk").first().pk - 1)
    assert broken_checkpoints(team.project) == [checkpoint.pk]


def test_a_checkpoint_removed_shows_at_the_next(team, dialogue):
    first = write_checkpoint(project=team.project, rest=NOW)
    happen(team, dialogue)
    second = write_checkpoint(project=team.project, rest=NOW)
    unguard()
    Event.objects.filter(pk=first.pk).delete()
    assert broken_checkpoints(team.project) == [second.pk]


def test_only_the_time_in_which_something_was_touched_is_named(team, dialogue):
    checkpoints = []
    for _ in range(3):
        happen(team, dialogue)
        checkpoints.append(write_checkpoint(project=team.project, rest=NOW).pk)
    unguard()
    Event.objects.filter(dialogue=dialogue, number=5).delete()
    assert broken_checkpoints(team.project) == [checkpoints[1]]


def test_every_project_gets_its_own(team, dialogue):
    other = make_team()
    append_event(actor=None, project=other.project, kind="test.happened")
    assert write_checkpoints(rest=NOW) == 2
    assert write_checkpoints(rest=NOW) == 0
    tasks.write_checkpoints()


def test_chains_of_a_whole_project(team, dialogue):
    other = make_dialogue(team.project, external_id="d-two")
    happen(team, other, 4)
    both = [dialogue.pk, other.pk]
    assert list(chain_problems(both)) == []
    unguard()
    Event.objects.filter(dialogue=other, number=2).delete()
    assert list(chain_problems(both)) == [(other.pk, "dialogue d-two: event 2 was removed")]
    assert list(chain_problems(both[:1])) == []


def test_the_command_says_what_was_touched(team, dialogue, capsys):
    write_checkpoint(project=team.project, rest=NOW)
    call_command("verify_history", "--project", team.project.slug)
    assert json.loads(capsys.readouterr().out) == {"ok": True, "events": 5, "problems": []}
    unguard()
    Event.objects.filter(dialogue=dialogue, number=2).delete()
    with pytest.raises(SystemExit) as ended:
        call_command("verify_history")
    assert ended.value.code == 1
    out, err = capsys.readouterr()
    problems = json.loads(out.splitlines()[-1])["problems"]
    assert [problem.split(": ", 1)[1].split(" does")[0] for problem in problems] == [
        "dialogue d-one: event 2 was removed.",
        f"checkpoint {Event.objects.get(kind='project.checkpoint').pk}",
    ]
    assert all(problem in err for problem in problems)


def test_the_command_for_a_project_that_there_is_not():
    with pytest.raises(CommandError, match="There is no project “nowhere”") as ended:
        call_command("verify_history", "--project", "nowhere")
    assert ended.value.returncode == 2


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_workers_write_one(team, dialogue):
    first, second = overlap(*[lambda: write_checkpoint(project=team.project, rest=NOW)] * 2)
    assert first is not None
    assert second is None
