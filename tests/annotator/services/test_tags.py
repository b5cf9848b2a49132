"""Tags: what is one, who sees and sets them, and that they reveal nothing to others."""

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.tags import MAX_LENGTH, tag_of
from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Dialogue, DialogueTag, Role, User
from annotator.services.database.filters import UnknownFilter
from annotator.services.dialogues.listing import Filters, list_dialogues, matching_dialogues
from annotator.services.dialogues.tags import change_tags, read_tags, set_tags
from annotator.services.history.events import broken_links
from reviews.services.history.dialogue_history import read_history
from reviews.services.queue.claims import claim_slot
from tests.factories import Team, adopt_c3, begin, give_role, make_dialogue, make_item, open_slot
from tests.pages import one_line

pytestmark = pytest.mark.django_db


def shown(team: Team, person: User, tag: str = "") -> dict[str, tuple[str, ...]]:
    page = list_dialogues(actor=person, project=team.project, filters=Filters(tag=tag))
    return {row.external_id: row.tag_names for row in page.rows}


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        (" Hard ", "hard"),
        ("date-format_2", "date-format_2"),
        ("难题", "难题"),
        ("हिन्दी", "हिन्दी"),
        ("e\u0301t\u00e9", "été"),
        ("a" * 40, "a" * 40),
        ("a" * 41, ""),
        ("two words", ""),
        ("-x", ""),
        ("=1+1", ""),
        ("a,b", ""),
        ("a\x00", ""),
        ("\ud800", ""),
        ("", ""),
    ],
)
def test_a_tag_is_a_word_of_letters_digits_hyphens_and_underscores(text: str, tag: str) -> None:
    assert tag_of(text) == tag


@given(st.text(max_size=60))
def test_a_tag_names_itself(text: str) -> None:
    tag = tag_of(text)
    assert not tag or (tag_of(tag) == tag and len(tag) <= MAX_LENGTH)


def test_tags_are_added_removed_and_replaced_and_each_change_is_in_the_history(team: Team) -> None:
    dialogue = make_dialogue(team.project)
    before, updated_at = dialogue.content_hash, dialogue.updated_at
    assert change_tags(actor=team.senior, dialogue=dialogue, add=["Hard", "dates", "hard"]) == ["dates", "hard"]
    assert change_tags(actor=team.administrator, dialogue=dialogue, add=["x"], remove=["hard"]) == ["dates", "x"]
    assert set_tags(actor=team.senior, dialogue=dialogue, tags=["x", "new"]) == ["new", "x"]
    # Without a difference, nothing is recorded.
    change_tags(actor=team.senior, dialogue=dialogue, add=["x"], remove=["gone"])
    events = list(dialogue.events.filter(kind="dialogue.tags_changed").order_by("number"))
    assert [event.after["tags"] for event in events] == [["dates", "hard"], ["dates", "x"], ["new", "x"]]
    assert events[2].before == {"tags": ["dates", "x"]}
    assert broken_links(dialogue) == []
    dialogue.refresh_from_db()
    assert (dialogue.content_hash, dialogue.updated_at) == (before, updated_at)


def test_a_dialogue_has_at_most_twenty_tags(team: Team) -> None:
    dialogue = make_dialogue(team.project)
    change_tags(actor=team.senior, dialogue=dialogue, add=[f"t{number}" for number in range(20)])
    with pytest.raises(Invalid, match="would have 21 tags"):
        change_tags(actor=team.senior, dialogue=dialogue, add=["more"])
    # A place that became free is used again.
    assert len(change_tags(actor=team.senior, dialogue=dialogue, add=["more"], remove=["t3"])) == 20
    with pytest.raises(IntegrityError), transaction.atomic():
        DialogueTag.objects.create(dialogue=dialogue, project=team.project, name="one-more", number=20)


def test_annotators_neither_see_nor_set_tags_nor_learn_of_them(team: Team) -> None:
    dialogue, other = make_dialogue(team.project), make_dialogue(team.project)
    history = len(read_history(actor=team.annotator, dialogue=dialogue))
    change_tags(actor=team.senior, dialogue=dialogue, add=["wrong-date"])
    assert shown(team, team.senior) == {dialogue.external_id: ("wrong-date",), other.external_id: ()}
    assert shown(team, team.senior, "wrong-date") == {dialogue.external_id: ("wrong-date",)}
    assert shown(team, team.annotator) == {dialogue.external_id: (), other.external_id: ()}
    # A tag that exists and one that does not give the same.
    assert shown(team, team.annotator, "wrong-date") == shown(team, team.annotator, "other") == {}
    assert len(read_history(actor=team.annotator, dialogue=dialogue)) == history
    assert "Tags: wrong-date" in [entry.text for entry in read_history(actor=team.senior, dialogue=dialogue)]
    with pytest.raises(Denied):
        change_tags(actor=team.annotator, dialogue=dialogue, add=["x"])
    with pytest.raises(Hidden):
        change_tags(actor=team.outsider, dialogue=dialogue, add=["x"])


def test_overseers_who_review_blind_do_not_see_tags_until_the_stage_ends(team: Team) -> None:
    adopt_c3(team)
    item, other = make_item(team, "cross_check"), make_dialogue(team.project)
    for one in (item, other):
        change_tags(actor=team.administrator, dialogue=one, add=["wrong-date"])
    reviewer = give_role(team.project, team.senior, Role.ANNOTATOR)
    assert shown(team, reviewer, "wrong-date").keys() == {item.external_id, other.external_id}
    claim_slot(actor=reviewer, slot=open_slot(item))
    assert shown(team, reviewer)[item.external_id] == ()
    assert shown(team, reviewer, "wrong-date").keys() == {other.external_id}
    keys = matching_dialogues(actor=reviewer, project=team.project, filters=Filters(tag="wrong-date"), limit=10)
    assert keys == [other.pk]
    assert not any("Tags" in entry.text for entry in read_history(actor=reviewer, dialogue=item))
    with pytest.raises(Conflict, match="in a blind stage"):
        change_tags(actor=reviewer, dialogue=item, remove=["wrong-date"])
    assert read_tags([item.pk]) == {item.pk: ["wrong-date"]}


def test_a_filter_that_is_no_tag_is_refused(team: Team) -> None:
    with pytest.raises(UnknownFilter, match="can’t be “a b”"):
        Filters.of({"tag": "a b"}, project=team.project, stages=tuple)
    assert Filters.of({"tag": " HARD "}, project=team.project, stages=tuple).tag == "hard"


def test_the_page_of_a_dialogue_adds_and_removes_tags(team: Team, client: Client) -> None:
    dialogue = make_dialogue(team.project)
    client.force_login(team.senior)
    path = f"/p/{team.project.slug}/dialogues/{dialogue.public_id}/"
    assert client.post(f"{path}tags/", {"add": "hard, dates"}).status_code == 302
    assert "Remove the tag dates" in one_line(client.get(path))
    assert client.post(f"{path}tags/", {"remove": "dates"}).status_code == 302
    refused = client.post(f"{path}tags/", {"add": "a!b"})
    assert refused.status_code == 422
    assert "“a!b” can’t be a tag" in one_line(refused)
    assert 'value="a!b"' in one_line(refused)
    assert read_tags([dialogue.pk]) == {dialogue.pk: ["hard"]}
    client.force_login(team.annotator)
    assert "hard" not in one_line(client.get(path))


def test_programs_read_and_set_tags(team: Team, client: Client) -> None:
    adopt_c3(team)
    [dialogue] = begin(team.project, [make_dialogue(team.project)])
    base = f"/api/projects/{team.project.slug}/dialogues/"
    path = f"{base}{dialogue.public_id}/"
    client.force_login(team.senior)
    kind = "application/json"
    assert client.post(f"{path}tags/", {"add": ["Hard", "x"]}, kind).json() == {"tags": ["hard", "x"]}
    assert client.put(f"{path}tags/", {"tags": ["y"]}, kind).json() == {"tags": ["y"]}
    assert client.get(f"{base}?tag=y").json()["results"][0]["tags"] == ["y"]
    assert client.get(path).json()["tags"] == ["y"]
    assert client.put(f"{path}tags/", {"tags": ["a b"]}, kind).status_code == 422
    client.force_login(team.annotator)
    assert client.get(path).json()["tags"] == []
    assert client.get(f"{base}?tag=y").json()["results"] == []
    assert client.put(f"{path}tags/", {"tags": []}, kind).status_code == 403
    assert Dialogue.objects.get().tags.count() == 1
