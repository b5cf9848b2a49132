"""Gold items look ordinary at every address: order, cursors, counts, releases, and what one list has and another not.

The addresses come from the URL conf, as in ``tests/test_access_matrix.py``, so that a new list cannot be forgotten.
"""

import io
import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import pytest
from django.core import signing
from django.db import transaction
from django.test import Client
from django.urls import reverse

from annotator.models import Dialogue, User, Waiver
from annotator.services.dialogues.sorting import VALUES
from annotator.services.projects import publish_guideline
from benchmark.models import Release
from benchmark.services.releases.runner import hand_out
from benchmark.services.stored_files import full_path
from reviews.models import GoldItem
from reviews.services.submission.waivers import waive_all
from tests.access_table import EXPECTED
from tests.benchmark.conftest import run_release
from tests.factories import (
    Team,
    begin,
    changed,
    claim_and_submit,
    current,
    make_dialogue,
    make_document,
    make_item,
    open_slot,
)
from tests.reviews.gold.gold_team import STAGE, certain, gold_team, make_gold, take
from tests.test_access_matrix import NAMES, VARIABLES, address

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

#: Addresses without an id of a thing in them: lists, figures, forms.
LISTS = [name for name in NAMES if set(VARIABLES[name]) <= {"slug"} and not name.startswith("account_")]
#: What the known answer says, and nothing else does.
ANSWER = "zebraanswer"
#: They describe gold items, and the same to everybody.
DESCRIPTIONS = ("api-docs", "api-schema", "change-list")
#: Words that only who oversees the project may read.
TELLING = ("Gold item", "Known answer", "gold item", "known answer", "gold_role")
_CURSOR = re.compile(r"(?:after|before|cursor)=([^\"&<>\s]+)")


@dataclass(frozen=True)
class Scene:
    """Seven dialogues that came in one after the other and were checked by their author; the rest is told by fields."""

    team: Team
    #: d-0001 to d-0007 as they came in, each pair of variants one after the other; of d-0003 and d-0004 gold items are
    #: made.
    dialogues: list[Dialogue]
    gold: list[Dialogue]
    #: One from before the gold items, and one that leaves their answers out.
    releases: list[Release]
    #: An annotator who may be tested, and one who made the answer.
    readers: list[User]

    @property
    def waiting(self) -> list[str]:
        """Return what waits in the cross-check as an annotator has to see it: public ids."""
        rows = [*self.dialogues[:2], *self.gold, self.dialogues[4]]
        return [row.public_id for row in rows]


@pytest.fixture(scope="module")
def made(django_db_setup: None, django_db_blocker: Any) -> Iterator[Scene]:
    """One scene for all these tests: making it costs more than reading it."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield make_scene()
        transaction.set_rollback(True)


@pytest.fixture
def scene(made: Scene, db: None) -> Scene:
    """Every test ends with the files gone; the archive is built again."""
    for release in made.releases:
        hand_out(release, full_path(release.archive))
    return made


def make_scene() -> Scene:
    """d-0003, d-0004 and d-0006 were verified; d-0006 is in a release, the others are answers; d-0007 failed."""
    team = gold_team()
    publish_guideline(actor=team.administrator, project=team.project, text="Read every step.", seen=0)
    dialogues = [make_item(team, STAGE, external_id=f"d-000{n}") for n in range(1, 8)]
    for n, dialogue in enumerate(dialogues[:6]):
        dialogue.variant_group = f"pair-{n // 2}"
        dialogue.save(update_fields=["variant_group"])
    for person in team.annotators[1:3]:
        claim_and_submit(person, dialogues[5], "approve")
        claim_and_submit(person, dialogues[6], "reject")
    release = run_release(team)
    assert (release.state, release.item_count) == ("frozen", 1)
    for person in team.annotators[1:3]:
        claim_and_submit(person, dialogues[2], "approve")
        claim_and_submit(person, dialogues[3], "fix", document=changed(current(dialogues[3]), ANSWER))
    dialogues[3].refresh_from_db()
    make_gold(team, dialogues[3])
    gold = [item.dialogue for item in GoldItem.objects.order_by("source_id")]
    # One that leaves the answers out.
    spared = run_release(team, "3.0", leave_out_gold=True)
    assert (spared.state, spared.item_count) == ("frozen", 1)
    # One that fails must not tell what it would have held: the answers as well.
    assert run_release(team, "2.0", require_all=True).state == "failed"
    assert all(item.live for item in GoldItem.objects.all())
    return Scene(team, dialogues, gold, [release, spared], [team.annotators[3], team.annotators[1]])


def texts(client: Client, path: str) -> list[str]:
    """The content of an address and of the pages that follow it; of an archive, the content of its members."""
    out: list[str] = []
    while path and len(out) < 20:
        response = client.get(path)
        if response.status_code != 200:
            break
        content = b"".join(response.streaming_content) if response.streaming else response.content
        if content.startswith(b"PK"):
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                content = b"\n".join(archive.read(name) for name in archive.namelist())
        out.append(content.decode(errors="replace"))
        following = re.search(r'"next": ?"([^"]+)"', out[-1])
        path = following[1] if following else ""
    return out


def read(scene: Scene, person: User, name: str, query: str = "") -> list[str]:
    client = Client()
    client.force_login(person)
    return texts(client, address(name, {"slug": scene.team.project.slug}) + query)


@pytest.mark.any_database
@pytest.mark.parametrize("name", LISTS)
def test_no_list_tells_a_gold_item_from_an_ordinary_one(scene: Scene, name: str) -> None:
    """One test for each: what is there in order, what is missing, and what its cursors say."""
    answers = scene.dialogues[2:4]
    keys = {str(row.pk): row for row in [*scene.dialogues, *scene.gold]}
    ids = {row.public_id: row for row in [*scene.dialogues, *scene.gold]}
    for person in scene.readers:
        whole = read(scene, person, name)
        assert bool(whole) == (EXPECTED[name, "GET"]["annotator"] == "200"), person
        # The API's lists once more in short pages, so that there are cursors; what is no list takes no size.
        paged = name.startswith("api-") and any('"next":' in text for text in whole)
        for pages in (whole, read(scene, person, name, "?size=2")) if paged else (whole,):
            assert bool(pages) == bool(whole), person
            text = "\n".join(pages)
            assert not [one for one in answers if one.public_id in text]
            assert ANSWER not in text
            assert name in (*DESCRIPTIONS, "training") or not [word for word in TELLING if word in text]
            found = list(dict.fromkeys(re.findall("|".join(ids), text)))
            # In the order they came in, or the other way round; and whatever has one that waits has all that wait.
            order = [ids[one].external_id for one in found]
            assert order in (sorted(order), sorted(order, reverse=True))
            waiting = [one for one in found if one in scene.waiting]
            assert waiting in ([], scene.waiting, scene.waiting[::-1])
            for cursor in _CURSOR.findall(text):
                at, public_id = signing.Signer(salt="annotator.keyset").unsign_object(unquote(cursor))
                assert not isinstance(at, int)
                assert public_id not in keys
                assert public_id in text


def test_every_filter_has_the_gold_item_where_it_has_ordinary_ones(scene: Scene) -> None:
    queries = ["", "?status=in_review", f"?stage={STAGE}", "?language=en", "?policy=single_tool", "?problems=clean"]
    queries += [f"?owner={scene.team.annotator.public_id}", "?q=weather", "?status=verified", "?status=candidate"]
    for person in scene.readers:
        for query in queries:
            for name in ("dialogue-list", "api-dialogue-list"):
                text = "\n".join(read(scene, person, name, query))
                assert {one in text for one in scene.waiting} in ({True}, {False}), query


@pytest.mark.parametrize("sort", VALUES)
def test_every_order_has_the_gold_item_where_its_values_belong(scene: Scene, sort: str) -> None:
    """Equal values are in the order of import; the time of the last change is that of entering the stage."""
    fields = {"id": "external_id", "errors": "error_count", "warnings": "warning_count", "tasks": "task_count",
              "calls": "call_count", "imported": "created_at", "changed": "updated_at"}  # fmt: skip
    name, down = sort.removeprefix("-"), sort.startswith("-")
    for person in scene.readers:
        (page,) = read(scene, person, "api-dialogue-list", f"?sort={sort}")
        rows = json.loads(page)["results"]
        field = fields.get(name, name)
        assert rows == sorted(rows, key=lambda row: (row[field], row["created_at"], row["public_id"]), reverse=down)
        waiting = [row["public_id"] for row in rows if row["public_id"] in scene.waiting]
        if name in ("changed", "imported", "id"):
            assert waiting == (scene.waiting[::-1] if down else scene.waiting)
        assert len(waiting) == len(scene.waiting)


def test_what_is_counted_is_what_is_listed(scene: Scene) -> None:
    for person in scene.readers:
        (status,) = read(scene, person, "api-project-status")
        for state, count in json.loads(status)["dialogues"].items():
            (page,) = read(scene, person, "api-dialogue-list", f"?status={state}")
            assert len(json.loads(page)["results"]) == count, state


def test_ids_and_times_have_no_gap_and_no_cluster(scene: Scene) -> None:
    """A gold item takes the place of the dialogue that it is made from: same id, group and time."""
    (page,) = read(scene, scene.readers[0], "api-dialogue-list")
    rows = json.loads(page)["results"]
    assert [row["external_id"] for row in rows] == [f"d-000{n}" for n in range(1, 8)]
    assert [row["created_at"] for row in rows] == sorted({row["created_at"] for row in rows})
    assert [row["variant_group"] for row in rows] == [f"pair-{n // 2}" if n < 6 else "" for n in range(7)]
    waiting = [row["owner"] for row in rows if row["status"] == "in_review"]
    assert all(re.fullmatch(r"colleague-[0-9a-f]{4}", one) for one in waiting)
    assert len({frozenset(row) for row in rows}) == 1


def test_no_release_tells_by_what_it_has_not(scene: Scene) -> None:
    """Omitted items are not shown to people who may be tested, neither on a page nor in the archive."""
    slug, release = scene.team.project.slug, scene.releases[0]
    paths = [
        path
        for one in scene.releases
        for path in (
            f"/p/{slug}/releases/{one.public_id}/",
            f"/p/{slug}/releases/{one.public_id}/dialogues/",
            f"/p/{slug}/releases/{one.public_id}/archive.zip",
            f"/api/projects/{slug}/releases/{one.public_id}/",
            f"/api/projects/{slug}/releases/{one.public_id}/archive/",
        )
    ]
    failed = Release.objects.get(state="failed")
    for person in scene.readers:
        client = Client()
        client.force_login(person)
        for path in paths:
            text = "\n".join(texts(client, path))
            assert text
            assert not re.search(r"d-000[123457]|left_out|Left out", text.replace('"left_out_count":null', "")), path
        assert client.get(f"/api/projects/{slug}/releases/{release.public_id}/left-out/").status_code == 403
        for path in (f"/p/{slug}/releases/", f"/api/projects/{slug}/releases/"):
            # As a version: the seconds of a moment may well read 42.01.
            assert not re.search(r"(?<!\d)2\.0(?!\d)", client.get(path).content.decode())
            assert client.get(f"{path}{failed.public_id}/").status_code == 404
    for person in (scene.team.senior, scene.team.administrator):
        client = Client()
        client.force_login(person)
        assert "Left out: 6" in client.get(paths[0]).content.decode()
        left = client.get(f"/api/projects/{slug}/releases/{release.public_id}/left-out/").json()["results"]
        assert {row["external_id"] for row in left} == {f"d-000{n}" for n in (1, 2, 3, 4, 5, 7)}
        assert client.get(f"/p/{slug}/releases/{failed.public_id}/").status_code == 200


@pytest.mark.any_database
@pytest.mark.parametrize("given", ["Meant so.", ""], ids=["author has waived such", "author has waived nothing"])
def test_a_planted_errors_waiver_reads_as_any_other(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    """For the person who gets the item, their colleagues, and the author of the revision that the error replaces.

    That person reads the reason as their own: so it is one that they gave, or one that anybody might give.
    """
    team = gold_team()
    waiting = make_dialogue(team.project, make_document("[your city]"), external_id="waiting")
    begin(team.project, [waiting])
    for _ in range(2):
        waive_all(actor=team.annotator, slot=open_slot(waiting), reason=given or "It is a form.")
        claim_and_submit(team.annotator, waiting)
    if not given:
        Waiver.objects.update(check_id="label.x")
    source = make_item(team, STAGE)
    for person in team.annotators[1:3]:
        claim_and_submit(person, source, "approve")
    source.refresh_from_db()
    item = make_gold(team, source, document=changed(current(source), "It is sunny in [your city].")).dialogue
    waivers = list(Waiver.objects.filter(dialogue=item))
    assert {(one.author, one.reason) for one in waivers} == {(team.annotator, given or "This is intended.")}
    certain(monkeypatch, team)
    claim = take(team.annotators[3], team)
    assert claim.slot.dialogue == item
    assert item.head is not None
    ids = {
        "slug": team.project.slug, "public_id": item.public_id, "slot": claim.slot.public_id, "task": "t1",
        "revision_id": item.head.public_id, "other_id": item.head.public_id,
    }  # fmt: skip
    names = [name for name in NAMES if not {*VARIABLES[name]} - {*ids} and name not in DESCRIPTIONS]
    paths = [reverse(name, kwargs={one: ids[one] for one in VARIABLES[name]}) for name in names]
    paths += [f"/work/{ids['slot']}/?panel={panel}" for panel in ("findings", "edit", "revisions")]
    for person in (team.annotator, team.annotators[1], team.annotators[3]):
        client = Client(raise_request_exception=False)
        client.force_login(person)
        pages = {path: "\n".join(texts(client, path)) for path in paths if "logout" not in path}
        assert not [path for path, text in pages.items() if re.search("planted|by the program", text)], person
        read = [path for path, text in pages.items() if waivers[0].reason in text]
        assert bool(read) == (person == team.annotator)
        told = [path for path, text in pages.items() if "Waived by a colleague" in text]
        assert bool(told) != (person == team.annotator)
