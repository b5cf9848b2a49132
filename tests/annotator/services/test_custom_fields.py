"""A project's custom fields: who changes them, and what the checks make of them."""

import pytest

from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Dialogue, Event, Job, Project
from annotator.services.custom_fields import fields_of, set_fields
from annotator.services.database.filters import UnknownFilter
from annotator.services.dialogues.listing import Filters, list_dialogues
from annotator.services.dialogues.revisions import check_settings
from annotator.services.jobs import jobs
from tests.annotator.core.test_custom_fields import FIELDS, labelled
from tests.factories import Team, make_dialogue, make_document
from tests.racing import overlap

pytestmark = pytest.mark.django_db

QUALITY = {"key": "quality", "title": "Quality", "type": "scale", "scope": "dialogue", "low": 1, "high": 5}
NOTE = {"key": "note", "title": "Note", "type": "text", "scope": "task"}


def test_fields_are_replaced_with_an_event_and_the_checks_know_them(team: Team) -> None:
    project = set_fields(actor=team.administrator, project=team.project, fields=[QUALITY], seen=0)
    assert [field.key for field in fields_of(project)] == ["quality"]
    assert check_settings(project).fields == fields_of(project)
    set_fields(actor=team.administrator, project=project, fields=[QUALITY, NOTE], seen=1)
    last = Event.objects.filter(project=project, kind="project.fields_changed").order_by("pk").last()
    assert last is not None
    assert last.before == {"version": 1, "fields": [QUALITY]}
    assert last.after == {"version": 2, "fields": [QUALITY, NOTE]}


def test_a_second_administrator_does_not_overwrite_what_they_have_not_seen(team: Team) -> None:
    set_fields(actor=team.administrator, project=team.project, fields=[QUALITY], seen=0)
    with pytest.raises(Conflict, match="Somebody else changed the fields"):
        set_fields(actor=team.administrator, project=team.project, fields=[NOTE], seen=0)
    # The same request again, after a lost response, changes nothing.
    assert set_fields(actor=team.administrator, project=team.project, fields=[QUALITY], seen=0).fields_version == 1


def test_only_administrators_change_fields_and_only_to_what_can_work(team: Team) -> None:
    for person in (team.annotator, team.senior, team.outsider):
        with pytest.raises(Hidden if person == team.outsider else Denied):
            set_fields(actor=person, project=team.project, fields=[NOTE], seen=0)
    with pytest.raises(Invalid) as refused:
        set_fields(actor=team.administrator, project=team.project, fields=[NOTE | {"low": 1}], seen=0)
    assert refused.value.details["problems"][0]["pointer"] == "/0/low"
    assert Project.objects.get(pk=team.project.pk).custom_fields == []


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_of_two_changes_at_once_from_one_version_the_second_is_refused(team: Team) -> None:
    def change(title: str) -> Project:
        field = NOTE | {"title": title}
        return set_fields(actor=team.administrator, project=team.project, fields=[field], seen=0)

    first, second = overlap(lambda: change("Mine"), lambda: change("Mine too"))
    assert first.fields_version == 1
    assert isinstance(second, Conflict)


def test_dialogues_are_filtered_by_an_answer(team: Team) -> None:
    choice = {
        "key": "difficulty",
        "title": "How hard is it?",
        "type": "choice",
        "scope": "task",
        "options": [{"value": "easy", "title": "Easy"}, {"value": "hard", "title": "Hard"}],
    }
    project = set_fields(actor=team.administrator, project=team.project, fields=[QUALITY, choice], seen=0)
    hard, easy = labelled({"difficulty": "hard"}), labelled({"difficulty": "easy"}) | {"labels": {"quality": 4}}
    for document in (hard, easy, labelled({})):
        make_dialogue(project, document)

    def matching(answer: str) -> int:
        filters = Filters.of({"field": answer}, project=project, stages=list)
        return len(list_dialogues(actor=team.administrator, project=project, filters=filters).rows)

    assert [matching(one) for one in ("difficulty=hard", "difficulty=easy", "quality=4", "quality=5")] == [1, 1, 1, 0]
    with pytest.raises(UnknownFilter):
        matching("difficulty=medium")


def test_a_change_of_the_fields_brings_findings_counts_and_marks_up_to_date(team: Team) -> None:
    clean, hard = (
        make_dialogue(team.project, labelled(labels, make_document())) for labels in ({}, {"difficulty": "hard"})
    )
    required = FIELDS[0] | {"scope": "task"}
    set_fields(actor=team.administrator, project=team.project, fields=[required], seen=0)
    job = Job.objects.get(kind="field_checks")
    jobs.run(job.pk)
    job.refresh_from_db()
    assert (job.state, job.result) == ("done", {"dialogues": 2})

    def found(dialogue: Dialogue) -> list[tuple[str, str]]:
        return list(dialogue.findings.filter(check_id__startswith="field.").values_list("check_id", "anchor"))

    assert (found(clean), found(hard)) == ([("field.missing", "/tasks/t1/labels/difficulty")], [])
    assert [one.pk for one in Dialogue.objects.exclude(head__clean_mark=None)] == [hard.pk]
    mark = Dialogue.objects.get(pk=hard.pk).head.clean_mark
    set_fields(actor=team.administrator, project=team.project, fields=[required | {"required": False}], seen=1)
    jobs.run(Job.objects.get(kind="field_checks", state="queued").pk)
    assert found(clean) == found(hard) == []
    assert not Dialogue.objects.filter(head__clean_mark=None).exists()
    assert Dialogue.objects.get(pk=hard.pk).head.clean_mark != mark
