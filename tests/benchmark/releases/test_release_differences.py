"""Two frozen releases of a project compared: the service, the page, its files and the API."""

import json
import re
from copy import deepcopy
from dataclasses import dataclass
from html import unescape
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone

from annotator.core.schema import read_document
from annotator.models import Dialogue, Role, User
from annotator.services.dialogues.revisions import lock_dialogue, revise
from benchmark.core.archives.differing import compare_archives
from benchmark.core.archives.next_version import Counts
from benchmark.models import Release
from benchmark.services.releases import differences
from benchmark.services.releases.requests import archive_path
from reviews.models import Cycle
from tests.benchmark.conftest import make_verified, run_release
from tests.factories import Team, changed, current, give_role, make_user

pytestmark = pytest.mark.django_db


@dataclass
class Scene:
    team: Team
    before: Release
    after: Release

    def page(self, **query: str) -> str:
        return f"/p/{self.team.project.slug}/releases/{self.before.public_id}/diff/{_query(to=self.to, **query)}"

    def api(self, **query: str) -> str:
        address = f"/api/projects/{self.team.project.slug}/releases/{self.before.public_id}/diff/"
        return address + _query(**({"to": self.to} | query))

    @property
    def to(self) -> str:
        return self.after.public_id


def _query(**query: str) -> str:
    return "?" + "&".join(f"{name}={value}" for name, value in query.items())


def change_verified(dialogue: Dialogue, document: dict[str, Any]) -> None:
    """Give a verified dialogue another verified revision, as a later cycle would."""
    with transaction.atomic():
        dialogue = lock_dialogue(dialogue.pk)
        assert dialogue.head is not None
        revision = revise(
            actor=None, dialogue=dialogue, seen=dialogue.head, document=read_document(document), message="Fixed"
        )
        last = Cycle.objects.filter(dialogue=dialogue).latest("number")
        later = Cycle.objects.create(
            dialogue=dialogue, project=dialogue.project, protocol=last.protocol, number=last.number + 1,
            state="verified", entry_revision=revision, exit_revision=revision, ended_at=timezone.now(),
        )  # fmt: skip
        # With the reviews that led to it.
        last.stage_runs.update(cycle=later)


@pytest.fixture
def scene(team: Team) -> Scene:
    """1.0 has a to d. In 2.0, a has another answer, b has new metadata, c is gone, and e is new."""
    a, b, c, _ = (make_verified(team, name) for name in "abcd")
    before = run_release(team)
    change_verified(a, changed(current(a)))
    change_verified(b, {**deepcopy(current(b)), "extra": {"source": "<b>web</b>"}})
    Dialogue.objects.filter(pk=c.pk).update(archived_at=timezone.now())
    make_verified(team, "e")
    return Scene(team, before, run_release(team, "2.0"))


def visit(person: User, address: str) -> Any:
    client = Client()
    client.force_login(person)
    response = client.get(address)
    content = b"".join(response.streaming_content) if response.streaming else response.content  # type: ignore[attr-defined]
    response.text_seen = content.decode()  # type: ignore[attr-defined]
    return response


def test_stored_releases_differ_as_their_archives_do(scene: Scene) -> None:
    pair = differences.compare(scene.before, scene.after)
    assert pair.counts == Counts(added=1, removed=1, changed=2, unchanged=1)
    stored = differences.difference_of(pair)
    with compare_archives(archive_path(scene.before), archive_path(scene.after)) as written:
        assert stored.summary() == written.summary()
        for name in ("added", "removed", "renamed"):
            assert list(getattr(stored, name)) == list(getattr(written, name)), name
        found = list(stored.changed())
        assert found == list(written.changed())
    assert [(one["id"], one["categories"], one["reference"]) for one in found] == [
        ("a", ["answer"], True),
        ("b", ["other"], False),
    ]
    pseudonyms = {one["reviewer"] for one in found[0]["reviews"]}
    assert pseudonyms == {person.pseudonym for person in scene.team.annotators[:3]}
    assert (pair.suggestion.level, pair.suggestion.version) == ("major", "2.0")
    backwards = differences.compare(scene.after, scene.before)
    assert (backwards.counts.added, backwards.counts.removed, backwards.suggestion.version) == (1, 1, "3.0")


def test_only_some_changed_dialogues_are_examined_and_the_page_says_so(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(differences, "EXAMINED", 1)
    differences._compare.cache_clear()
    pair = differences.compare(scene.before, scene.after)
    assert (pair.examined, pair.counts.changed) == (1, 2)
    assert [item.dialogue.external_id for item in differences.list_items(pair)] == ["a", "b"]
    assert [one["id"] for one in differences.difference_of(pair).changed()] == ["a"]
    assert "cover the first 1 of 2 changed dialogues" in visit(scene.team.annotator, scene.page()).text_seen
    monkeypatch.setattr(differences, "EXAMINED", 2)
    monkeypatch.setattr(differences, "MAX_CHARACTERS", 1)
    differences._compare.cache_clear()
    assert differences.compare(scene.before, scene.after).examined == 1
    differences._compare.cache_clear()


@pytest.mark.any_database
def test_the_page_shows_counts_changes_and_reviews_to_every_member(scene: Scene) -> None:
    reader = give_role(scene.team.project, make_user(), Role.ANNOTATOR)
    text = visit(reader, scene.page()).text_seen
    assert "From 1.0 to 2.0" in text
    assert "1 dialogue was removed and the reference of 1 dialogue changed" in text
    assert "Task 1, answer s1, text" in text
    assert "&lt;b&gt;web&lt;/b&gt;" in text
    assert scene.team.annotators[1].pseudonym in text
    assert not any(person.display_name in text for person in scene.team.annotators[:3])
    only = visit(reader, scene.page(category="answer")).text_seen
    assert "Task 1, answer s1, text" in only
    assert "Extra field source" not in only
    shown = {name: visit(reader, scene.page(show=name)) for name in ("added", "removed")}
    ids = {one.external_id: one.public_id for one in Dialogue.objects.all()}
    assert f"/dialogues/{ids['e']}/" in shown["added"].text_seen
    assert f"/dialogues/{ids['c']}/" in shown["removed"].text_seen
    assert f"/dialogues/{ids['c']}/" not in shown["added"].text_seen
    detail = visit(reader, f"/p/{scene.team.project.slug}/releases/{scene.after.public_id}/").text_seen
    assert f"/releases/{scene.before.public_id}/diff/?to={scene.to}" in detail


@pytest.mark.any_database
def test_wrong_parameters_of_the_page_are_refused(scene: Scene) -> None:
    reader = scene.team.annotator
    slug = scene.team.project.slug
    for query in ({"category": "colour"}, {"show": "all"}, {"after": "x"}, {"colour": "red"}):
        assert visit(reader, scene.page(**query)).status_code == 400, query
    address = f"/p/{slug}/releases/{scene.before.public_id}"
    assert visit(reader, f"{address}/diff/?to={scene.before.public_id}").status_code == 400
    assert visit(reader, f"{address}/diff.json?to=none").status_code == 400
    assert visit(reader, f"{address}/diff/").status_code == 200
    assert visit(make_user(), scene.page()).status_code == 404


@pytest.mark.any_database
def test_pages_follow_each_other_and_keep_the_choice(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmark.views.release_differences.PAGE", 1)
    first = visit(scene.team.annotator, scene.page(show="changed")).text_seen
    assert 'rel="prev"' not in first
    (following,) = re.findall(r'rel="next" href="([^"]+)"', first)
    second = visit(scene.team.annotator, scene.page().partition("?")[0] + unescape(following)).text_seen
    assert "Extra field source" in second
    assert "answer s1, text" not in second
    assert 'rel="prev"' in second


@pytest.mark.any_database
def test_files_have_the_whole_difference(scene: Scene) -> None:
    slug = scene.team.project.slug
    address = f"/p/{slug}/releases/{scene.before.public_id}/diff"
    got = visit(scene.team.annotator, f"{address}.json?to={scene.to}")
    assert got["Content-Disposition"] == f'attachment; filename="{slug}-1.0-to-2.0.json"'
    content = json.loads(got.text_seen)
    assert (content["added"], content["removed"], content["renamed"]) == (["e"], ["c"], [])
    assert [one["id"] for one in content["changed"]] == ["a", "b"]
    page = visit(scene.team.annotator, f"{address}.html?to={scene.to}")
    assert page["Content-Type"].startswith("text/html")
    assert "&lt;b&gt;web&lt;/b&gt;" in page.text_seen


def test_the_api_pages_through_the_difference(scene: Scene) -> None:
    first = json.loads(visit(scene.team.annotator, scene.api(size="1")).text_seen)
    assert first["counts"] == {"added": 1, "removed": 1, "changed": 2, "unchanged": 1}
    assert (first["suggestion"]["level"], first["suggestion"]["version"]) == ("major", "2.0")
    assert first["categories"] == {"answer": 1, "other": 1}
    (one,) = first["results"]
    assert (one["id"], one["show"], one["total"]) == ("a", "changed", 1)
    assert one["changes"][0]["after"] == "It is sunny, 18 degrees."
    second = json.loads(visit(scene.team.annotator, first["next"]).text_seen)
    assert [(one["id"], one["reference"]) for one in second["results"]] == [("b", False)]
    assert second["next"] is None
    (gone,) = json.loads(visit(scene.team.annotator, scene.api(show="removed")).text_seen)["results"]
    assert (gone["id"], gone["show"], gone["changes"]) == ("c", "removed", [])
    (answer,) = json.loads(visit(scene.team.annotator, scene.api(category="answer")).text_seen)["results"]
    assert answer["id"] == "a"
    for year, there in (("2000", ["a", "b"]), ("2100", [])):
        since = scene.api(updated_since=f"{year}-01-01T00:00:00Z")
        assert [one["id"] for one in json.loads(visit(scene.team.annotator, since).text_seen)["results"]] == there
    for query in ({"to": ""}, {"to": "none"}, {"category": "colour"}, {"show": "all"}, {"updated_since": "now"}):
        assert visit(scene.team.annotator, scene.api(**query)).status_code == 400, query


@pytest.mark.any_database
def test_the_form_of_the_next_release_says_which_version_fits(team: Team) -> None:
    address = f"/p/{team.project.slug}/releases/"

    def said() -> str:
        return " ".join(visit(team.administrator, address).text_seen.split())

    one = make_verified(team, "a")
    assert "Suggested version:" not in said()
    run_release(team)
    assert "Nothing has changed since release 1.0: a new one would have the same content." in said()
    change_verified(one, {**current(one), "extra": {"source": "web"}})
    assert "<strong>1.0.1</strong>" in said()
    make_verified(team, "b")
    assert "<strong>1.1</strong>" in said()
    assert "1 dialogue was added, and no reference changed." in said()
    change_verified(one, changed(current(one)))
    assert "<strong>2.0</strong>" in said()
    assert "Suggested version:" not in visit(team.annotator, address).text_seen


@pytest.mark.any_database
def test_a_release_that_is_not_frozen_is_compared_with_none(scene: Scene) -> None:
    Release.objects.filter(pk=scene.before.pk).update(state="failed")
    assert visit(scene.team.administrator, scene.page()).status_code == 409
    assert visit(scene.team.annotator, scene.page()).status_code == 404
    address = f"/p/{scene.team.project.slug}/releases/{scene.to}/diff/"
    assert "No other release" in visit(scene.team.annotator, address).text_seen
    assert visit(scene.team.annotator, address.replace("/diff/", "/diff.html")).status_code == 409
