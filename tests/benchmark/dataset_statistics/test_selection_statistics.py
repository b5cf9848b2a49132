"""Statistics of the filtered list: as its reader sees it, at once or by a job."""

import pytest
from django.test import Client
from django.urls import reverse

from annotator.core.roles import Role
from annotator.models import Dialogue, Job, JobState, Project, ToolsetCategory, User
from annotator.services.dialogues.listing import NAMES, Filters
from annotator.services.jobs import jobs
from benchmark.models import SimilarDialogue
from benchmark.services.dataset_statistics import selections
from benchmark.views.dataset_statistics import _chosen
from tests.annotator.toolset_documents import described_toolset
from tests.api_client import ApiClient
from tests.factories import (
    Team,
    give_role,
    make_dialogue,
    make_dialogues,
    make_document,
    make_toolset,
)

pytestmark = pytest.mark.django_db


def page_of(person: User, project: Project, query: str = "") -> str:
    client = Client()
    client.force_login(person)
    answer = client.get(reverse("dialogue-statistics", args=[project.slug]) + query)
    assert answer.status_code == 200
    return answer.content.decode()


def counted(person: User, project: Project, **filters: str) -> selections.Counted:
    found = selections.read_statistics(actor=person, project=project, filters=Filters(**filters)).counted
    assert found is not None
    return found


def test_a_small_list_is_counted_at_once_with_its_filters(team: Team) -> None:
    make_dialogue(team.project, make_document("one", tasks=2), status="verified")
    make_dialogue(team.project, make_document("two"))
    toolset = make_toolset(team.project).toolset
    toolset.category = ToolsetCategory.objects.create(project=team.project, name="Skies")
    toolset.save()
    everything = counted(team.annotator, team.project).statistics
    assert (everything["dialogues"], everything["tasks"]) == (2, 3)
    assert everything["toolset_categories"] == [["Skies", 2]]
    verified = counted(team.annotator, team.project, status="verified").statistics
    assert (verified["dialogues"], verified["dialogues_by_tasks"]) == (1, [[2, 1]])
    assert "what is the" in page_of(team.annotator, team.project)
    assert "Verified</dd>" in page_of(team.annotator, team.project, "?status=verified")
    listed = Client()
    listed.force_login(team.annotator)
    link = f'{reverse("dialogue-statistics", args=[team.project.slug])}?status=verified"'
    assert link in listed.get(reverse("dialogue-list", args=[team.project.slug]) + "?status=verified&sort=-id").text


def test_gold_items_and_known_answers_count_as_the_reader_sees_them(team: Team) -> None:
    gold = make_dialogue(team.project, make_document("shown"), gold_role="gold")
    make_dialogue(team.project, make_document("known", tasks=3), gold_role="answer")
    # For those whom it tests, a gold item is like any other, also alone; they see no known answer.
    assert counted(team.annotator, team.project).statistics["dialogues_by_tasks"] == [[1, 1]]
    assert counted(team.annotator, team.project, text=gold.external_id).statistics["dialogues"] == 1
    for person in (team.senior, team.administrator):
        assert counted(person, team.project).statistics["dialogues_by_tasks"] == [[3, 1]]


def test_content_that_the_reader_may_not_open_is_not_counted(team: Team) -> None:
    dialogue = make_dialogue(team.project)
    type(dialogue.head).objects.filter(pk=dialogue.head_id).update(sealed=True, number=None)
    found = counted(team.annotator, team.project)
    assert (found.statistics["dialogues"], found.unreadable) == (0, 1)
    assert "Not counted: 1 dialogue" in page_of(team.annotator, team.project)


def test_a_long_list_is_counted_by_a_job_of_its_reader(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selections, "AT_ONCE", 2)
    make_dialogues(team.project, 5)
    client = Client()
    client.force_login(team.annotator)
    address = reverse("dialogue-statistics", args=[team.project.slug]) + "?language=en"
    assert "Count these dialogues" in client.get(address).text
    assert client.post(address, {"do": "count"}).headers["Location"] == address
    job = Job.objects.get(kind=selections.KIND)
    # The same again joins the job; another list waits for it.
    client.post(address, {"do": "count"})
    assert "Another list is being counted for you." in client.post(address + "&status=candidate", follow=True).text
    assert Job.objects.filter(kind=selections.KIND).count() == 1
    assert "hx-trigger" in client.get(address).text
    assert jobs.run(job.pk).state == JobState.DONE
    shown = client.get(address).text
    assert "Count again" in shown
    assert "Tools called" in shown
    # Neither another list nor another person has it, nor the reader with other rights.
    assert "Count these dialogues" in client.get(address.replace("?language=en", "")).text
    assert "Count these dialogues" in page_of(team.administrator, team.project, "?language=en")
    give_role(team.project, team.annotator, Role.SENIOR_REVIEWER)
    assert "Count these dialogues" in client.get(address).text


def test_a_job_can_be_cancelled_and_fails_for_somebody_who_has_left(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selections, "AT_ONCE", 2)
    make_dialogues(team.project, 3)
    client = Client()
    client.force_login(team.annotator)
    address = reverse("dialogue-statistics", args=[team.project.slug])
    client.post(address, {"do": "count"})
    client.post(address, {"do": "cancel"})
    assert Job.objects.get(kind=selections.KIND).state == JobState.CANCELLED
    assert "Count these dialogues" in client.get(address).text
    job = selections.start_counting(actor=team.annotator, project=team.project, filters=Filters())
    team.annotator.memberships.all().delete()
    assert jobs.run(job.pk).state == JobState.FAILED


def test_a_list_of_very_long_dialogues_is_counted_by_a_job(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selections, "CHARACTERS_AT_ONCE", 100)
    make_dialogue(team.project)
    assert selections.read_statistics(actor=team.annotator, project=team.project, filters=Filters()).counted is None


def test_groups_of_similar_dialogues_are_counted_within_the_list_for_overseers(team: Team) -> None:
    rows = make_dialogues(team.project, 4)
    Dialogue.objects.filter(pk__in=[row.pk for row in rows[:3]]).update(language="zh")
    SimilarDialogue.objects.bulk_create(
        [SimilarDialogue(project=team.project, dialogue=row, group=rows[first], size=2) for first, row in
         zip((0, 0, 2, 2), rows, strict=True)]
    )  # fmt: skip
    given = {"actor": team.senior, "project": team.project}
    found = selections.similar_groups(**given, filters=Filters())
    assert (found.groups, found.dialogues) == (2, 4)
    # Only one dialogue of the second group is in this list.
    found = selections.similar_groups(**given, filters=Filters(language="zh"))
    assert (found.groups, found.dialogues, found.largest) == (1, 2, [(rows[0], 2)])
    page = page_of(team.senior, team.project)
    assert "4 of these dialogues are in 2 groups of similar dialogues." in " ".join(page.split())
    assert reverse("similar-group", args=[team.project.slug, rows[2].public_id]) in page
    assert "Similar dialogues" not in page_of(team.annotator, team.project)


def test_programs_read_the_same_and_start_the_job(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    make_dialogues(team.project, 3)
    client = ApiClient(team.annotator, scopes=["annotate"])
    address = reverse("api-dialogue-statistics", args=[team.project.slug])
    found = client.get(address + "?language=en").json()
    assert (found["statistics"]["dialogues"], found["counted_at"], found["job"]) == (3, None, None)
    monkeypatch.setattr(selections, "AT_ONCE", 2)
    assert client.get(address).json() == dict.fromkeys(["statistics", "unreadable", "counted_at", "job"])
    answer = client.send(address)
    assert (answer.status_code, answer.json()["state"]) == (202, "queued")
    jobs.run(Job.objects.get(kind=selections.KIND).pk)
    found = client.get(address).json()
    assert (found["statistics"]["dialogues"], found["job"]["state"]) == (3, "done")
    assert found["counted_at"]


def test_every_filter_in_use_is_said_in_words(team: Team) -> None:
    values = dict.fromkeys(NAMES, "1") | {"owner": team.annotator.public_id, "sequence": "chat,clarify"}
    given = {"text" if name == "q" else name: value for name, value in values.items()}
    chosen = _chosen(Filters(**given), {})
    assert len({words for words, _value in chosen}) == len(NAMES)
    assert chosen[-1] == ("Sequence", "Chat → Clarify")
    assert "Sequence" in page_of(team.annotator, team.project, "?sequence=chat,clarify")


def test_toolsets_count_by_kind_without_tasks(team: Team) -> None:
    make_dialogue(team.project, described_toolset(), toolset=make_toolset(team.project, [], "none"))
    make_dialogue(team.project)
    found = counted(team.annotator, team.project).statistics
    assert sorted(found["kinds"]) == [["multi_turn", 1], ["toolset", 1]]
    assert found["dialogues_by_tasks"] == [[1, 1]]
    assert "Toolsets" in page_of(team.annotator, team.project)


@pytest.mark.any_database
def test_groups_of_similar_dialogues_in_a_search(team: Team) -> None:
    rows = make_dialogues(team.project, 3)
    SimilarDialogue.objects.bulk_create(
        SimilarDialogue(project=team.project, dialogue=row, group=rows[0], size=3) for row in rows
    )
    Dialogue.objects.filter(pk__in=[row.pk for row in rows[:2]]).update(search_text="ferry harbour")
    Dialogue.objects.filter(pk=rows[2].pk).update(search_text="train")
    given = {"actor": team.senior, "project": team.project}
    found = selections.similar_groups(**given, filters=Filters(text="ferry"))
    assert found.largest == [(rows[0], 2)]
    assert "2 of these dialogues" in " ".join(page_of(team.senior, team.project, "?q=ferry").split())


def test_a_poll_reads_the_job_alone(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selections, "AT_ONCE", 1)
    make_dialogues(team.project, 2)
    selections.start_counting(actor=team.annotator, project=team.project, filters=Filters())
    monkeypatch.setattr(selections, "read_statistics", None)
    client = Client()
    client.force_login(team.annotator)
    address = reverse("dialogue-statistics", args=[team.project.slug])
    answer = client.get(address, headers={"HX-Request": "true", "HX-Target": "statistics-state"})
    assert "hx-trigger" in answer.text
