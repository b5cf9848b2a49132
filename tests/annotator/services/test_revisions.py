"""Revisions and toolsets: content is written once, numbered without gaps, and the head is what lists show."""

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from annotator.core.schema import SchemaProblem, canonical, content_hash, read_document
from annotator.errors import Conflict, Invalid
from annotator.models import Dialogue, Event, Finding, Guideline, Revision, Toolset, ToolsetRevision
from annotator.services.dialogues import revisions
from annotator.services.dialogues.drafts import open_draft
from annotator.services.toolsets.storing import ensure_toolset_revision
from tests.factories import WEATHER_TOOLS, broken, changed, make_dialogue, make_document, make_team
from tests.racing import overlap, race

pytestmark = pytest.mark.django_db


@pytest.fixture
def dialogue(team):
    return make_dialogue(team.project, make_document())


def create(team, dialogue, document=None, **fields):
    fields = {"actor": team.annotator, "parent": dialogue.head} | fields
    return revisions.create_revision(dialogue=dialogue, document=document or changed(make_document()), **fields)


def tool(name):
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}


def ensure(team, tools, name="weather"):
    return ensure_toolset_revision(actor=team.administrator, project=team.project, tools=tools, name=name)


# --- writing ----------------------------------------------------------------------------------------------------------


def test_a_revision_holds_canonical_text_and_its_hash(team, dialogue):
    document = changed(make_document(), "Sunny – 晴天.")
    revision = create(team, dialogue, document, message="m" * 600)
    assert revision.content == canonical(read_document(document))
    assert revision.content_hash == content_hash(revision.content)
    assert revision.document() == read_document(document)
    assert (revision.number, revision.parent, revision.author, revision.branch) == (
        2,
        dialogue.head,
        team.annotator,
        "main",
    )
    assert len(revision.message) == 500
    dialogue.refresh_from_db()
    assert dialogue.head_id != revision.pk


def test_numbers_have_no_gap_where_sealed_revisions_stand(team, dialogue):
    first, second = (create(team, dialogue, sealed=True, branch=f"slot-{n}") for n in range(2))
    assert (first.number, second.number) == (None, None)
    assert create(team, dialogue).number == 2
    revisions.unseal([second, first])
    assert [Revision.objects.get(pk=r.pk).number for r in (first, second)] == [3, 4]
    revisions.unseal([first, second])
    assert Revision.objects.get(pk=first.pk).number == 3


def test_a_revision_remembers_the_guideline_in_force_without_reading_it(team, dialogue):
    assert create(team, dialogue).guideline is None
    for n in (1, 2):
        Guideline.objects.create(project=team.project, number=n, text="x" * 1000)
    with CaptureQueriesContext(connection) as queries:
        revision = create(team, dialogue)
    assert revision.guideline.number == 2
    assert not any('annotator_guideline"."text"' in query["sql"] for query in queries)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda d: d.update(tasks=[]), "tasks"),
        (lambda d: d["tasks"][0].update(user_message=None), "user_message"),
        (lambda d: d["tasks"][0].update(user_message="a\x00b"), "NUL"),
        (lambda d: d["tasks"][0].update(user_message="\ud800"), "surrogate"),
        (lambda d: d.update(surprise=1), "surprise"),
    ],
)
def test_what_cannot_be_read_is_not_stored(team, dialogue, spoil, words):
    document = make_document()
    spoil(document)
    with pytest.raises(Invalid, match="The dialogue can’t be saved") as refused:
        create(team, dialogue, document)
    assert words in refused.value.sentence + str(refused.value.details)
    assert refused.value.details["problems"]
    assert dialogue.revisions.count() == 1


def test_a_first_revision_needs_a_toolset(team, dialogue):
    with pytest.raises(ValueError, match="needs a toolset"):
        create(team, dialogue, parent=None)


def test_the_database_keeps_numbers_and_seals_together(team, dialogue):
    for fields in ({"number": None, "sealed": False}, {"number": 9, "sealed": True}, {"number": 1, "sealed": False}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Revision.objects.create(
                dialogue=dialogue,
                toolset_revision=dialogue.head.toolset_revision,
                content="{}",
                content_hash="x",
                **fields,
            )


# --- the head ---------------------------------------------------------------------------------------------------------


def test_moving_the_head_moves_what_lists_show(team, dialogue):
    document = broken(make_document(tasks=3))
    document["tasks"][0]["user_message"] = "Wie ist das Wetter in Gent?"
    revisions.revise(
        actor=team.annotator,
        dialogue=revisions.lock_dialogue(dialogue.pk),
        seen=dialogue.head,
        document=document,
        message="three tasks",
    )
    row = Dialogue.objects.get(pk=dialogue.pk)
    assert row.head.message == "three tasks"
    assert row.content_hash == row.head.content_hash
    assert (row.title, row.task_count, row.call_count, row.switches) == ("Wie ist das Wetter in Gent?", 3, 1, 1)
    assert row.policies == ",single_tool,chat,chat,"
    assert row.policy_list == ["single_tool", "chat", "chat"]
    assert row.topologies == ",single,,,"
    assert row.information == ",explicit,coreferential_reference,coreferential_reference,"
    assert row.error_count >= 1
    assert "wetter" in row.search_text
    findings = list(row.findings.filter(severity="error"))
    assert len(findings) == row.error_count
    assert {finding.revision_id for finding in row.findings.all()} == {row.head_id}


def test_findings_of_the_version_before_are_gone(team):
    dialogue = make_dialogue(team.project, broken(make_document()))
    assert dialogue.error_count >= 1
    for document in (make_document(), broken(make_document())):
        locked = revisions.lock_dialogue(dialogue.pk)
        revisions.revise(actor=team.annotator, dialogue=locked, seen=locked.head, document=document, message="")
    row = Dialogue.objects.get(pk=dialogue.pk)
    assert row.error_count == Finding.objects.filter(dialogue=dialogue, severity="error").count() >= 1


def test_what_was_not_seen_is_not_overwritten(team, dialogue):
    seen = dialogue.head

    def revise(text):
        return revisions.revise(
            actor=team.annotator,
            dialogue=revisions.lock_dialogue(dialogue.pk),
            seen=seen,
            document=changed(make_document(), text),
            message="",
        )

    revise("One.")
    with pytest.raises(Conflict, match="newer revision"):
        revise("Two.")


def test_a_dialogue_of_sixty_four_tasks_fits_its_row(team):
    document = make_document(tasks=64)
    for task in document["tasks"]:
        task["information"] = "coreferential_reference"
    dialogue = make_dialogue(team.project, document)
    assert Dialogue.objects.get(pk=dialogue.pk).policies.count(",") == 65


def test_a_finding_that_has_a_lot_to_say_is_stored(team, dialogue):
    document = make_document()
    document["tasks"][0]["steps"][0]["arguments"] = {"city": "x", "y" * 5000: {"z" * 3000: 1}}
    findings = revisions.check_document(document, dialogue.head.toolset_revision, project=team.project, stage="save")
    rows = revisions.finding_rows(dialogue, dialogue.head, findings)
    Finding.objects.bulk_create(rows)
    assert all(len(row.message) <= 1000 and len(row.anchor) <= 600 for row in rows)


def test_the_projects_own_severities_count(team, dialogue):
    assert dialogue.error_count == 0
    check = revisions.check_document(
        broken(make_document()), dialogue.head.toolset_revision, project=team.project, stage="submit"
    )
    errors = {finding.check for finding in check if finding.severity == "error"}
    team.project.check_settings = dict.fromkeys(errors, "off")
    check = revisions.check_document(
        broken(make_document()), dialogue.head.toolset_revision, project=team.project, stage="submit"
    )
    assert errors
    assert not errors & {finding.check for finding in check}


def test_pages_of_a_long_draft_that_come_at_once_check_it_once(team, dialogue, monkeypatch):
    """Each computed the same for seconds. While one does, nobody gets past the lock of that content."""
    held, checked = [], []

    def check(document, *given, **more):
        held.append([lock for lock in revisions._LOCKS if lock.locked()])
        checked.append(document["tasks"][0]["user_message"])
        return []

    monkeypatch.setattr(revisions, "run_checks", check)
    toolset, project = dialogue.head.toolset_revision, team.project
    for size in (10, revisions._LONG, revisions._LONG):
        document = make_document()
        document["tasks"][0]["user_message"] = "x" * size
        revisions.check_document(document, toolset, project=project, stage="submit")
    assert [len(text) for text in checked] == [10, revisions._LONG]
    assert [len(locks) for locks in held] == [0, 1]
    assert not any(lock.locked() for lock in revisions._LOCKS)


def test_one_content_is_checked_once_until_the_settings_are_others(team, dialogue, monkeypatch):
    made = []
    run_checks = revisions.run_checks
    monkeypatch.setattr(revisions, "run_checks", lambda *args, **given: made.append(args) or run_checks(*args, **given))

    def check(city):
        document, tools = broken(make_document(city)), dialogue.head.toolset_revision
        found = revisions.check_document(document, tools, project=team.project, stage="submit")
        found.clear()
        return revisions.check_document(document, tools, project=team.project, stage="submit")

    first = check("checked once")
    assert first
    assert len(made) == 1
    team.project.check_settings[first[0].check] = "off"
    assert first[0] not in check("checked once")
    check("checked twice")
    assert len(made) == 3


def test_the_latest_guideline(team):
    assert revisions.latest_guideline(team.project) is None
    for n in (1, 2, 3):
        Guideline.objects.create(project=team.project, number=n, text=str(n))
    assert revisions.latest_guideline(team.project).text == "3"


# --- toolsets ---------------------------------------------------------------------------------------------------------


def test_the_same_tools_are_one_revision_whatever_they_are_called(team):
    first = ensure(team, WEATHER_TOOLS)
    assert ensure(team, WEATHER_TOOLS, name="other") == first
    assert (first.number, first.tool_count, first.author) == (1, 2, team.administrator)
    assert first.tools() == WEATHER_TOOLS
    assert Toolset.objects.count() == 1


def test_other_tools_under_one_name_get_a_name_of_their_own(team):
    names = [ensure(team, [tool(f"t{n}")]).toolset.name for n in range(3)]
    assert names == ["weather", "weather (2)", "weather (3)"]
    long = [ensure(team, [tool(f"u{n}")], name="x" * 200).toolset.name for n in range(2)]
    assert long == ["x" * 110, "x" * 110 + " (2)"]


def test_a_new_toolset_stands_in_the_history_once(team):
    revision = ensure(team, WEATHER_TOOLS)
    ensure(team, WEATHER_TOOLS)
    [event] = Event.objects.filter(kind="toolset.added")
    assert (event.actor, event.after["toolset"], event.after["sha256"]) == (
        team.administrator,
        "weather",
        revision.content_hash,
    )


def test_another_projects_toolset_is_another(team):
    assert ensure(team, WEATHER_TOOLS) != ensure(make_team(), WEATHER_TOOLS)


def test_tools_that_cannot_be_read_are_a_problem_with_a_place(team):
    for tools in ("nonsense", [{"type": "function"}], [tool("a\x00b")]):
        with pytest.raises(SchemaProblem):
            ensure(team, tools)
    assert not Toolset.objects.exists()


# --- two connections --------------------------------------------------------------------------------------------------


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_imports_that_bring_the_same_tools_at_once_share_them(team):
    first, second = overlap(lambda: ensure(team, WEATHER_TOOLS, "one"), lambda: ensure(team, WEATHER_TOOLS, "two"))
    assert first == second
    assert list(Toolset.objects.values_list("name", flat=True)) == ["one"]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_imports_that_bring_other_tools_under_one_name_at_once_both_get_them(team):
    _, second = overlap(lambda: ensure(team, [tool("a")]), lambda: ensure(team, [tool("b")]))
    assert second.toolset.name == "weather (2)"
    assert ToolsetRevision.objects.count() == 2


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_many_imports_that_bring_many_tools_at_once(team):
    outcomes = race(
        *[lambda order=order: [ensure(team, [tool(n)]).pk for n in order] for order in ("abcd", "dcba")] * 2
    )
    assert all(isinstance(outcome, list) for outcome in outcomes)
    assert (ToolsetRevision.objects.count(), Toolset.objects.count()) == (4, 4)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_who_revise_the_same_version_at_once_do_not_overwrite_each_other(team, dialogue):
    seen = dialogue.head

    def revise(text):
        with transaction.atomic():
            return revisions.revise(
                actor=team.annotator,
                dialogue=revisions.lock_dialogue(dialogue.pk),
                seen=seen,
                document=changed(make_document(), text),
                message=text,
            )

    first, second = overlap(lambda: revise("One."), lambda: revise("Two."))
    assert isinstance(second, Conflict)
    assert Dialogue.objects.get(pk=dialogue.pk).head == first


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_locked_dialogue_can_be_referred_to(team, dialogue):
    """Somebody submits a review while a colleague opens the dialogue for the first time."""
    with transaction.atomic():
        locked = revisions.lock_dialogue(dialogue.pk)
        (draft,) = race(lambda: open_draft(actor=team.annotator, dialogue=dialogue, base=dialogue.head, branch="main"))
        assert draft.dialogue_id == locked.pk
