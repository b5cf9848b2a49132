"""The search for near-duplicates in the database: pairs, findings, groups, the threshold and its preview."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Dialogue, Event, Finding, Job, Waiver
from annotator.services.jobs import jobs
from benchmark.core.grouping import Extent
from benchmark.models import ImportBatch, SimilarDialogue, SimilarityBand, SimilarPair
from benchmark.services.similarity.groups import compared, group_size, list_groups, load_group
from benchmark.services.similarity.pairs import MAX_IN_BAND, store_pairs
from benchmark.services.similarity.settings import change_threshold, preview, search_again, threshold_of
from tests.benchmark.conftest import as_lines, begin_import, candidate, report_of
from tests.factories import Team, claim_and_submit, current

pytestmark = pytest.mark.django_db
RunImport = Callable[..., ImportBatch]

BOOK = "Book a table in {} for {} people on {} and mail me the bill"
#: 15 tokens with masked values, so 13 shingles; with one more word at the end, 13 of 14.
FERRY = "When does the last boat leave the old harbour and may I take a dog"


def said(**texts: str) -> list[dict[str, Any]]:
    """Records whose user says only this, by their ids."""
    records = []
    for name, text in texts.items():
        record = candidate(name)
        record["document"]["tasks"][0]["user_message"] = text
        records.append(record)
    return records


def search(team: Team) -> dict[str, Any]:
    """Run the search that waits."""
    job = Job.objects.filter(project=team.project, kind="near_duplicates", state="queued").get()
    done = jobs.run(job.pk)
    assert (done.state, done.error) == ("done", "")
    return done.result


def found() -> dict[str, str]:
    """The dialogues with the finding, and what it says."""
    rows = Finding.objects.filter(check_id="dialogue.near_duplicate").order_by("dialogue")
    out = dict(rows.values_list("dialogue__external_id", "message"))
    assert len(out) == rows.count()
    for dialogue in Dialogue.objects.all():
        assert dialogue.warning_count == dialogue.findings.filter(revision=dialogue.head, severity="warning").count()
    return {name: message.partition(". ")[0].removeprefix("The user’s messages ") for name, message in out.items()}


def group_of() -> dict[str, str]:
    return dict(SimilarDialogue.objects.values_list("dialogue__external_id", "group__external_id"))


@pytest.fixture
def six(team: Team, run_import: RunImport) -> Team:
    """Two that say hi, two from one template, two that overlap by 92 %."""
    run_import(
        said(
            hi1="Hi",
            book1=BOOK.format("Porto", 4, "2026-03-01"),
            ferry1=FERRY,
            hi2="hi ",
            book2=BOOK.format("New York", 12, "5 May"),
            ferry2=FERRY + " please",
        )
    )
    assert search(team) == {"compared": 6, "near_duplicates": 3}
    return team


def test_findings_say_how_two_dialogues_are_alike(six: Team) -> None:
    assert found() == {
        "hi2": "are the same as those of “hi1”",
        "book2": "are the same as those of “book1” but for values such as names and numbers",
        "ferry2": "overlap by 92 % with those of “ferry1”",
    }
    assert group_of() == {
        "hi1": "hi1", "hi2": "hi1", "book1": "book1", "book2": "book1", "ferry1": "ferry1", "ferry2": "ferry1",
    }  # fmt: skip
    assert set(SimilarDialogue.objects.values_list("size", flat=True)) == {2}


def test_a_preview_changes_nothing_and_a_change_searches_the_whole_project(six: Team) -> None:
    for dialogue in Dialogue.objects.filter(external_id__in=["ferry2", "book2"]):
        finding = Finding.objects.get(dialogue=dialogue, check_id="dialogue.near_duplicate")
        Waiver.objects.create(
            dialogue=dialogue, author=six.annotator, reason="On purpose.", check_id=finding.check_id,
            anchor=finding.anchor, value_hash=finding.value_hash,
        )  # fmt: skip
    before, rows = found(), list(Finding.objects.order_by("pk").values())
    assert preview(actor=six.administrator, project=six.project, threshold=93) == [
        *(Extent(threshold, 3, 6) for threshold in (50, 60, 70, 80, 90)), Extent(93, 2, 4), Extent(100, 2, 4),
    ]  # fmt: skip
    assert list(Finding.objects.order_by("pk").values()) == rows

    assert change_threshold(actor=six.administrator, project=six.project, threshold=93, seen=80) is not None
    assert search(six) == {"compared": 6, "near_duplicates": 2}
    assert found() == {name: words for name, words in before.items() if name != "ferry2"}
    assert set(group_of()) == {"hi1", "hi2", "book1", "book2"}
    # The finding that stays is the same row; a waiver counts again when its finding comes back.
    assert Finding.objects.get(dialogue__external_id="book2", check_id="dialogue.near_duplicate").pk in {
        row["id"] for row in rows
    }
    assert change_threshold(actor=six.administrator, project=six.project, threshold=60) is not None
    assert search(six) == {"compared": 6, "near_duplicates": 3}
    assert found() == before
    ferry = Finding.objects.get(dialogue__external_id="ferry2", check_id="dialogue.near_duplicate")
    assert Waiver.objects.in_effect().filter(dialogue=ferry.dialogue, value_hash=ferry.value_hash).exists()
    changes = Event.objects.filter(kind="similarity.changed").order_by("pk").values_list("before", "after")
    assert list(changes) == [({"threshold": 80}, {"threshold": 93}), ({"threshold": 93}, {"threshold": 60})]


def test_a_second_search_changes_nothing(six: Team) -> None:
    def stored() -> list[Any]:
        return [
            list(Finding.objects.order_by("pk").values()),
            sorted(SimilarityBand.objects.values_list("dialogue", "band")),
            sorted(SimilarPair.objects.values_list("dialogue", "other", "percent", "kind")),
            sorted(SimilarDialogue.objects.values_list("dialogue", "group", "size")),
            list(Dialogue.objects.order_by("pk").values_list("warning_count", "updated_at")),
        ]

    before = stored()
    search_again(actor=six.administrator, project=six.project)
    search(six)
    assert stored() == before


def test_the_threshold_is_checked_and_set_by_administrators_one_at_a_time(six: Team) -> None:
    mine = {"actor": six.administrator, "project": six.project}
    for wrong in (49, 101):
        with pytest.raises(Invalid):
            change_threshold(**mine, threshold=wrong)
        with pytest.raises(Invalid):
            preview(**mine, threshold=wrong)
    for person in (six.annotator, six.senior):
        with pytest.raises(Denied):
            change_threshold(actor=person, project=six.project, threshold=90)
        with pytest.raises(Denied):
            preview(actor=person, project=six.project)
    assert change_threshold(**mine, threshold=80) is None
    with pytest.raises(Conflict):
        change_threshold(**mine, threshold=90, seen=70)
    change_threshold(**mine, threshold=90, seen=80)
    # While the search waits or runs, nothing else starts.
    with pytest.raises(Conflict):
        change_threshold(**mine, threshold=70)
    with pytest.raises(Conflict):
        search_again(**mine)
    assert threshold_of(six.project) == 90
    assert Job.objects.filter(kind="near_duplicates", state="queued").count() == 1


def test_an_import_that_ends_later_uses_the_new_threshold(six: Team, run_import: RunImport) -> None:
    change_threshold(actor=six.administrator, project=six.project, threshold=95)
    search(six)
    run_import(said(ferry3=FERRY + " thanks", hi3="hi"))
    assert search(six) == {"compared": 2, "near_duplicates": 1}
    assert set(found()) == {"hi2", "book2", "hi3"}
    assert SimilarDialogue.objects.get(dialogue__external_id="hi3").size == 3


def test_many_that_say_the_same_cost_a_bounded_amount(team: Team, run_import: RunImport) -> None:
    run_import(said(**{f"hi{n:03}": "hi" for n in range(MAX_IN_BAND + 20)}))
    assert search(team)["near_duplicates"] == MAX_IN_BAND + 19
    assert SimilarityBand.objects.count() == MAX_IN_BAND
    assert set(found().values()) == {"are the same as those of “hi000”"}
    assert list_groups(actor=team.senior, project=team.project).get().size == MAX_IN_BAND + 20
    last = Dialogue.objects.get(external_id="hi083")
    with CaptureQueriesContext(connection) as queries:
        store_pairs(team.project.pk, {last.pk: "hi"})
    assert len(queries) < 10
    assert SimilarityBand.objects.count() == MAX_IN_BAND


def test_the_same_text_is_found_among_many_from_one_template(team: Team, run_import: RunImport) -> None:
    texts = {f"t{n:03}": BOOK.format("Porto", n, "2026-03-01") for n in range(MAX_IN_BAND + 6)}
    run_import(said(**texts, again=texts["t067"]))
    search(team)
    assert found()["again"] == "are the same as those of “t067”"


def test_an_edited_dialogue_has_no_finding_and_is_compared_as_it_is(six: Team, run_import: RunImport) -> None:
    run_import(said(twin="Hello, Ghent book2!"))
    search(six)
    book = Dialogue.objects.get(external_id="book2")
    edited = current(book)
    edited["tasks"][0]["user_message"] = "hello, Ghent book2!"
    claim_and_submit(six.annotator, book, "fix", document=edited)
    assert set(found()) == {"hi2", "ferry2"}
    search_again(actor=six.administrator, project=six.project)
    search(six)
    assert found()["twin"] == "are the same as those of “book2”"
    assert set(found()) == {"hi2", "ferry2", "twin"}
    assert set(group_of()) == {"hi1", "hi2", "book2", "twin", "ferry1", "ferry2"}


def test_overseers_see_groups_and_what_differs(six: Team, client: Client) -> None:
    book = Dialogue.objects.get(external_id="book2")
    for person in (six.administrator, six.senior):
        first, size, rows = load_group(actor=person, project=six.project, public_id=book.public_id)
        assert (first.external_id, size) == ("book1", 2)
        assert [(one.dialogue.external_id, one.likeness and one.likeness.kind) for one in compared(first, rows)] == [
            ("book1", None), ("book2", "values"),
        ]  # fmt: skip
        assert group_size(actor=person, dialogue=book) == 2
    for person in six.annotators:
        assert group_size(actor=person, dialogue=book) == 0
        with pytest.raises(Denied):
            load_group(actor=person, project=six.project, public_id=book.public_id)
    link = reverse("similar-group", args=[six.project.slug, book.public_id])
    for person, sees in ((six.senior, True), (six.annotator, False)):
        client.force_login(person)
        page = client.get(reverse("dialogue", args=[six.project.slug, book.public_id])).content.decode()
        assert (link in page) == sees
    client.force_login(six.senior)
    page = client.get(link).content.decode()
    assert "The same but for values" in page
    assert "<ins>New</ins>" in page or "<ins>New " in page
    SimilarDialogue.objects.filter(dialogue=book).delete()
    with pytest.raises(Hidden):
        load_group(actor=six.senior, project=six.project, public_id=book.public_id)


def test_the_list_of_groups_reads_no_content(six: Team, client: Client) -> None:
    client.force_login(six.senior)
    with CaptureQueriesContext(connection) as queries:
        page = client.get(reverse("similar-list", args=[six.project.slug])).content.decode()
    assert page.count("Compare the group of") == 3
    assert not any("annotator_revision" in query["sql"] for query in queries)


def test_the_page_of_the_threshold_previews_saves_and_searches(six: Team, client: Client) -> None:
    client.force_login(six.administrator)
    address = reverse("similar-settings", args=[six.project.slug])
    shown = client.post(address, {"threshold": "93", "seen": "80", "do": "preview"})
    assert shown.status_code == 200
    assert "your preview" in shown.content.decode()
    assert threshold_of(six.project) == 80
    assert client.post(address, {"threshold": "20", "seen": "80", "do": "save"}).status_code == 422
    assert client.post(address, {"threshold": "93", "seen": "70", "do": "save"}).status_code == 409
    assert client.post(address, {"threshold": "93", "seen": "80", "do": "save"}).status_code == 302
    assert threshold_of(six.project) == 93
    assert client.post(address, {"do": "search"}).status_code == 409
    search(six)
    assert client.post(address, {"do": "search"}).status_code == 302


def test_a_preview_and_a_dry_run_say_which_new_dialogues_repeat_others(team: Team, run_import: RunImport) -> None:
    run_import(said(a=FERRY, b="Something else that has more than seven words in all"))
    search(team)
    # A known id is no new dialogue.
    records = said(a=FERRY, c=FERRY + " along", d="Here is something that has not been said before")
    batch = begin_import(team, as_lines(records), "more.jsonl", native_format="", preview=True)
    jobs.run(batch.job_id)
    batch = ImportBatch.objects.get(pk=batch.pk)
    assert batch.job.result["repeats"] == [["c", "a", 92]]
    client = Client()
    client.force_login(team.administrator)
    page = " ".join(client.get(reverse("import-preview", args=[team.project.slug, batch.public_id])).text.split())
    assert "1 new dialogue in the first 3 records nearly repeats one of this project: c (a, 92 %)" in page

    tried = run_import(records, dry_run=True)
    [note] = [note for note in report_of(tried) if note["check"] == "dialogue.near_duplicate"]
    assert (note["id"], note["line"], note["severity"]) == ("c", 2, "warning")
    assert note["message"].startswith("The user’s messages overlap by 92 % with those of “a”.")
