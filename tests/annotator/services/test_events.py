"""Events: chains that show what was removed or altered, sealing, and that nothing written is ever changed."""

import hashlib

import pytest
from django.db import IntegrityError, connection, transaction

from annotator.core.schema import canonical
from annotator.models import Event, Guideline, Revision, ToolsetRevision
from annotator.services.history.events import EventLine, append_event, append_events, broken_links, event_digest
from tests.factories import make_dialogue
from tests.racing import overlap

pytestmark = pytest.mark.django_db


@pytest.fixture
def dialogue(team):
    return make_dialogue(team.project)


@pytest.fixture
def chain(team, dialogue):
    """Four events on the dialogue's chain."""
    return append_events(
        actor=team.annotator,
        project=team.project,
        dialogue=dialogue,
        lines=[EventLine("test.happened", before={"n": n}, after={"n": n + 1, "wort": "Übung"}) for n in range(4)],
    )


@pytest.fixture
def unguarded():
    """Let a test do what a person with access to the tables could do: nothing keeps them from it but the chain."""

    def off():
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                # A table with constraints still to be checked cannot be altered.
                cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
                cursor.execute("ALTER TABLE annotator_event DISABLE TRIGGER USER")
            else:
                cursor.execute("DROP TRIGGER annotator_event_append_only")

    return off


def test_the_hash_of_a_link_is_what_its_docstring_says(team, dialogue, chain):
    first = chain[0]
    body = canonical(
        [
            "",
            team.project.pk,
            dialogue.pk,
            1,
            team.annotator.pk,
            "test.happened",
            {"n": 0},
            {"n": 1, "wort": "Übung"},
            first.created_at.isoformat(timespec="microseconds"),
        ]
    )
    assert first.hash == hashlib.sha256(body.encode()).hexdigest()
    assert [event.number for event in chain] == [1, 2, 3, 4]
    assert [event.previous_hash for event in chain] == ["", *(event.hash for event in chain[:-1])]


def test_a_chain_that_was_left_alone_holds(dialogue, chain):
    assert broken_links(dialogue) == []


def test_a_chain_goes_on_where_it_ended(team, dialogue, chain):
    event = append_event(actor=None, project=team.project, dialogue=dialogue, kind="test.more", after={"x": 1.0})
    assert (event.number, event.previous_hash) == (5, chain[-1].hash)
    assert broken_links(dialogue) == []


def test_numbers_of_every_kind_survive_the_database(team, dialogue):
    after = {"whole": 3.0, "part": 0.1, "big": 2**60, "small": 5e-324, "minus": -0.0, "none": None, "list": [1, [2.5]]}
    append_event(actor=None, project=team.project, dialogue=dialogue, kind="test.numbers", after=after)
    assert broken_links(dialogue) == []


@pytest.mark.parametrize(("removed", "shown"), [(0, [2]), (1, [3]), (2, [4])])
def test_a_removed_event_shows_at_the_next(dialogue, chain, unguarded, removed, shown):
    unguarded()
    Event.objects.filter(pk=chain[removed].pk).delete()
    assert broken_links(dialogue) == shown


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "test.nothing"},
        {"before": {"n": 7}},
        {"after": {}},
        {"actor": None},
        {"hash": "0" * 64},
        {"previous_hash": "1" * 64},
    ],
    ids=str,
)
def test_an_altered_event_shows(dialogue, chain, unguarded, change):
    unguarded()
    Event.objects.filter(pk=chain[1].pk).update(**change)
    assert 2 in broken_links(dialogue)


def test_an_altered_time_shows(dialogue, chain, unguarded):
    unguarded()
    Event.objects.filter(pk=chain[1].pk).update(created_at="2020-02-02T02:02:02Z")
    assert broken_links(dialogue) == [2]


def test_events_that_changed_places_show(dialogue, chain, unguarded):
    unguarded()
    one, two = chain[1], chain[2]
    Event.objects.filter(pk=one.pk).update(number=99)
    Event.objects.filter(pk=two.pk).update(number=2)
    Event.objects.filter(pk=one.pk).update(number=3)
    assert broken_links(dialogue) == [2, 3, 4]


def test_an_event_that_was_altered_and_hashed_anew_shows_at_the_next(team, dialogue, chain, unguarded):
    unguarded()
    event = chain[1]
    forged = event_digest(
        previous_hash=event.previous_hash,
        project_id=team.project.pk,
        dialogue_id=dialogue.pk,
        number=2,
        actor_id=event.actor_id,
        kind="test.forged",
        before=event.before,
        after=event.after,
        created_at=event.created_at.isoformat(timespec="microseconds"),
    )
    Event.objects.filter(pk=event.pk).update(kind="test.forged", hash=forged)
    assert broken_links(dialogue) == [3]


def test_unsealing_leaves_the_chain_as_it_is(team, dialogue):
    event = append_event(actor=team.annotator, project=team.project, dialogue=dialogue, kind="test.secret", sealed=True)
    hashed = event.hash
    Event.objects.filter(pk=event.pk).update(sealed=False)
    event.refresh_from_db()
    assert (event.sealed, event.hash, broken_links(dialogue)) == (False, hashed, [])


def test_events_of_a_project_are_in_no_chain(team, dialogue, chain):
    for _ in range(2):
        event = append_event(actor=None, project=team.project, kind="project.thing")
        assert (event.number, event.dialogue_id, event.previous_hash) == (None, None, "")
    assert broken_links(dialogue) == []


def test_who_sees_an_event(team, dialogue):
    open_one = append_event(actor=None, project=team.project, dialogue=dialogue, kind="test.open")
    secret = append_event(
        actor=team.annotator, project=team.project, dialogue=dialogue, kind="test.secret", sealed=True
    )

    def sees(person):
        return set(Event.objects.visible_to(person).filter(dialogue=dialogue)) & {open_one, secret}

    assert sees(team.annotator) == {open_one, secret}
    for person in (team.annotators[1], team.senior, team.administrator):
        assert sees(person) == {open_one}
    assert sees(team.outsider) == set()


# --- append-only ------------------------------------------------------------------------------------------------------


def refused(change):
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        change()


@pytest.mark.parametrize("change", [{"kind": "x"}, {"after": {"x": 1}}, {"actor": None}, {"hash": "0"}], ids=str)
def test_the_database_refuses_to_change_an_event(chain, change):
    refused(lambda: Event.objects.filter(pk=chain[0].pk).update(**change))


def test_the_database_refuses_to_change_a_revision(team, dialogue):
    revision = Revision.objects.filter(dialogue=dialogue)
    for change in ({"content": "{}"}, {"content_hash": "0"}, {"author": team.annotator}, {"message": "other"}):
        refused(lambda change=change: revision.update(**change))
    revision.update(sealed=True, number=None)
    revision.update(sealed=False, number=7)


def test_the_database_refuses_to_change_toolsets_and_guidelines(team, dialogue):
    guideline = Guideline.objects.create(project=team.project, number=1, text="Be kind.")
    refused(lambda: ToolsetRevision.objects.filter(project=team.project).update(content="{}"))
    refused(lambda: Guideline.objects.filter(pk=guideline.pk).update(text="Be quick."))
    Guideline.objects.filter(pk=guideline.pk).update(note="a note is not the text")


@pytest.mark.postgres
def test_postgresql_refuses_to_delete_an_event_that_people_may_have_seen(team, dialogue, chain):
    refused(lambda: Event.objects.filter(pk=chain[-1].pk).delete())
    refused(lambda: append_event(actor=None, project=team.project, kind="project.thing").delete())
    dialogue.published = False
    dialogue.save()
    Event.objects.filter(dialogue=dialogue).delete()


# --- two connections --------------------------------------------------------------------------------------------------


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_chain_never_forks(team, dialogue):
    """Without a lock on the dialogue, writing fails instead of adding a second event with the same number."""

    def append():
        return append_event(actor=None, project=team.project, dialogue=dialogue, kind="test.at-once")

    _, late = overlap(append, append)
    assert isinstance(late, IntegrityError)
    assert list(Event.objects.filter(dialogue=dialogue).values_list("number", flat=True)) == [1]
    assert broken_links(dialogue) == []
