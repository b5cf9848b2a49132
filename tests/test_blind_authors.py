"""In a blind stage nobody who may review a dialogue learns who wrote what of it, or why; nor who is through already."""

import re
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotator.models import Dialogue, Membership, Role, User
from reviews.models import Claim, Review, WorkloadCount
from reviews.services.feedback.comments import add_comment
from reviews.services.protocols.versions import current_protocol
from reviews.services.queue.claims import claim_slot
from reviews.services.queue.slot_work import load_slot_work
from reviews.services.simulation.dry_runs import assumptions_for
from reviews.services.statistics import throughput
from reviews.services.statistics.all_counts import fold_all
from reviews.services.statistics.workload import WORK
from reviews.services.submission.submit import submit_review
from reviews.services.submission.waivers import HIDDEN_REASON, live_waivers, waive
from tests.factories import (
    Team,
    adopt_c3,
    begin,
    changed,
    claim_and_submit,
    current,
    make_dialogue,
    make_document,
    make_team,
    open_slot,
)
from tests.test_access_matrix import NAMES, VARIABLES

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

#: What the author said of it, each in a place of its own.
WORDS = ("yakreason", "yakwaiver", "yaknote")
#: Addresses of one dialogue, of its revisions and of the work on it, and the lists that name its owner.
NAMING = [name for name in NAMES if {"public_id", "slot"} & {*VARIABLES[name]} or name.endswith("dialogue-list")]


@dataclass(frozen=True)
class Scene:
    """An item that its author fixed, with a message; one of its cross-checkers is working on it."""

    team: Team
    item: Dialogue
    claim: Claim
    warned: tuple[str, str, str]

    @property
    def reader(self) -> User:
        return self.claim.person


@pytest.fixture
def scene() -> Scene:
    team = make_team()
    adopt_c3(team)
    # Its short name would be found in other words.
    type(team.annotator).objects.filter(pk=team.annotator.pk).update(display_name="Yakauthor Yakson")
    item = make_dialogue(team.project, make_document("it"), external_id="yak-1")
    begin(team.project, [item])
    claim = claim_slot(actor=team.annotator, slot=open_slot(item))
    work = load_slot_work(actor=team.annotator, public_id=claim.slot.public_id)
    anchor = "/tasks/t1/steps/s1/text"
    add_comment(actor=team.annotator, work=work, anchor=anchor, text="Is this so?")
    warned = ("label.x", anchor, "0" * 16)
    waive(actor=team.annotator, work=work, check=warned[0], anchor=anchor, value_hash=warned[2], reason="yakwaiver")
    submit_review(
        actor=team.annotator,
        slot=claim.slot,
        token=claim.token,
        verdict="fix",
        document=changed(current(item)),
        named_errors=[{"kind": "answer_wrong", "anchor": anchor, "note": "yaknote"}],
        reason="yakreason",
    )
    claim_and_submit(team.annotator, item)
    item.refresh_from_db()
    return Scene(team, item, claim_slot(actor=team.annotators[1], slot=open_slot(item)), warned)


def read(scene: Scene, person: User) -> dict[str, str]:
    """Every address that can name an author, panels included: {address: text}."""
    head = scene.item.head
    assert head is not None
    parent = head.parent
    assert parent is not None
    ids = {
        "slug": scene.team.project.slug, "public_id": scene.item.public_id, "slot": scene.claim.slot.public_id,
        "revision_id": head.public_id, "other_id": parent.public_id, "task": "t1",
    }  # fmt: skip
    client, out = Client(raise_request_exception=False), {}
    client.force_login(person)
    paths = [reverse(name, kwargs={one: ids.get(one, "none") for one in VARIABLES[name]}) for name in NAMING]
    paths += [f"/work/{ids['slot']}/?panel={panel}" for panel in ("revisions", "comments", "findings", "edit")]
    for path in paths:
        response: Any = client.get(path)
        if response.status_code == 200:
            out[path] = response.content.decode()
    return out


def telling(scene: Scene, pages: dict[str, str]) -> dict[str, list[str]]:
    author = scene.team.annotator
    secrets = [*WORDS, "Yakauthor", author.public_id, author.username, author.pseudonym]
    found = {path: [one for one in secrets if one in text] for path, text in pages.items()}
    return {path: words for path, words in found.items() if words}


def test_whoever_may_review_reads_no_name_and_no_reason(scene: Scene) -> None:
    for person in scene.team.annotators[1:]:
        pages = read(scene, person)
        assert len(pages) >= 10
        # The panel of comments offers everybody's name to mention.
        pages = {path: re.sub(r"<datalist.*?</datalist>", "", text, flags=re.DOTALL) for path, text in pages.items()}
        assert telling(scene, pages) == {}
        page = pages[f"/p/{scene.team.project.slug}/dialogues/{scene.item.public_id}/"]
        # The author's name in that dialogue is the same at every place.
        assert len(set(re.findall(r"Colleague ([0-9a-f]{4})", page))) == 1
    panel = read(scene, scene.reader)[f"/work/{scene.claim.slot.public_id}/?panel=revisions"]
    assert "Colleague" in panel
    assert "don’t see each other’s names or reviews" in panel


def test_the_list_of_a_colleagues_dialogues_does_not_name_what_is_under_blind_review(scene: Scene) -> None:
    owner = f"?owner={scene.team.annotator.public_id}"
    for person, seen in ((scene.reader, False), (scene.team.annotator, True), (scene.team.senior, True)):
        client = Client()
        client.force_login(person)
        for path in (f"/p/{scene.team.project.slug}/dialogues/", f"/api/projects/{scene.team.project.slug}/dialogues/"):
            assert ("yak-1" in client.get(path + owner).content.decode()) == seen
    # An overseer who reviews the project blind counts as a reviewer.
    Membership.objects.create(project=scene.team.project, user=scene.reader, role=Role.SENIOR_REVIEWER)
    client.force_login(scene.reader)
    path = f"/p/{scene.team.project.slug}/dialogues/"
    assert "yak-1" in client.get(path).content.decode()
    assert "yak-1" not in client.get(path + owner).content.decode()


def test_authors_see_their_own_and_overseers_all(scene: Scene) -> None:
    path = f"/p/{scene.team.project.slug}/dialogues/{scene.item.public_id}/"
    for person in (scene.team.annotator, scene.team.senior, scene.team.administrator):
        page = read(scene, person)[path]
        assert "Yakauthor" in page
        assert "yakreason" in page
        assert "Colleague" not in page


def test_the_projects_history_keeps_still_about_what_one_reviews_blind(scene: Scene) -> None:
    project = scene.team.project
    for role in (Role.SENIOR_REVIEWER, Role.ADMINISTRATOR):
        Membership.objects.create(project=project, user=scene.reader, role=role)

    def told(person: User) -> list[bool]:
        client = Client()
        client.force_login(person)
        query = f"?person={scene.team.annotator.public_id}"
        page = client.get(f"/p/{project.slug}/history/{query}").content.decode()
        file: Any = client.get(reverse("history-export", args=[project.slug]))
        return ["yak-1" in page, "yakreason" in page, b"yak-1" in b"".join(file.streaming_content)]

    assert told(scene.reader) == [False, False, False]
    assert told(scene.team.administrator)[0]
    submit_review(actor=scene.reader, slot=scene.claim.slot, token=scene.claim.token, verdict="approve")
    assert told(scene.reader) == [False, False, False]
    claim_and_submit(scene.team.annotators[2], scene.item, "approve")
    assert told(scene.reader)[0]


def test_a_colleagues_waiver_holds_and_its_reason_is_told_later(scene: Scene) -> None:
    given = live_waivers(actor=scene.reader, dialogue=scene.item, blind=True)
    assert given == {scene.warned: HIDDEN_REASON}
    assert live_waivers(actor=scene.team.annotator, dialogue=scene.item, blind=True) == {scene.warned: "yakwaiver"}


def test_all_is_told_once_the_stage_has_settled(scene: Scene) -> None:
    submit_review(actor=scene.reader, slot=scene.claim.slot, token=scene.claim.token, verdict="approve")
    claim_and_submit(scene.team.annotators[2], scene.item, "approve")
    page = read(scene, scene.reader)[f"/p/{scene.team.project.slug}/dialogues/{scene.item.public_id}/"]
    assert "Yakauthor" in page
    assert "yakreason" in page


def test_counts_of_a_person_wait_until_the_stage_has_settled(scene: Scene) -> None:
    """For others; one's own are one's own."""
    slug, person, stage = scene.team.project.slug, scene.reader, "cross_check"

    def seen(reader: User) -> tuple[bool, bool]:
        client = Client()
        client.force_login(reader)
        fold_all()
        own = client.get(f"/api/projects/{slug}/statistics/people/{person.public_id}/").json()
        everybody = client.get(f"/p/{slug}/statistics/").content.decode()
        row = re.search(rf"<tr>(?:(?!</tr>).)*{person}.*?</tr>", everybody, re.DOTALL)
        return stage in str(own), row is not None

    assert seen(scene.team.administrator) == (False, False)
    submit_review(actor=person, slot=scene.claim.slot, token=scene.claim.token, verdict="approve")
    assert seen(scene.team.administrator) == seen(scene.team.senior) == (False, False)
    assert seen(person)[0]
    claim_and_submit(scene.team.annotators[2], scene.item, "approve")
    assert seen(scene.team.administrator) == seen(scene.team.senior) == (True, True)


def test_how_long_a_colleague_took_is_told_once_the_stage_has_settled(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The figures before and after a review would reveal its time to the second. That it was submitted is shown."""
    slug, person, stage = scene.team.project.slug, scene.reader, "cross_check"
    colleague = scene.team.annotators[2]

    def seen(reader: User) -> list[bool]:
        client = Client()
        client.force_login(reader)
        api, pages = f"/api/projects/{slug}/statistics/", f"/p/{slug}/statistics/"
        told = [
            str(client.get(f"{api}progress/").json()["times"]),
            client.get(f"{pages}?csv=time-per-item").content.decode(),
        ]
        of_person = client.get(f"{api}people/{person.public_id}/")
        if of_person.status_code == 200:
            told += [
                str(of_person.json()["times"]),
                client.get(f"{pages}people/{person.public_id}/?csv=time-per-item").content.decode(),
            ]
        return [re.search("cross.check", one, re.IGNORECASE) is not None for one in told]

    submit_review(actor=person, slot=scene.claim.slot, token=scene.claim.token, verdict="approve")
    Review.objects.filter(person=person).update(seconds=52)
    read_unsettled = throughput.count_unsettled

    def count_meanwhile(*given: Any, **named: Any) -> Any:
        fold_all()
        return read_unsettled(*given, **named)

    with monkeypatch.context() as patch:
        # The review is counted while a page is made.
        patch.setattr(throughput, "count_unsettled", count_meanwhile)
        assert not any(seen(scene.team.senior))
    assert WorkloadCount.objects.filter(what="time", stage=stage).exists()
    for reader, places in ((colleague, 2), (scene.team.senior, 4), (scene.team.administrator, 4)):
        assert seen(reader) == [False] * places
    assert seen(person) == [True] * 4
    days = Client()
    days.force_login(colleague)
    assert stage in str(days.get(f"/api/projects/{slug}/statistics/progress/").json()["by_day"])
    claim_and_submit(colleague, scene.item, "approve")
    assert all(seen(scene.team.senior) + seen(colleague))
    assert WORK.recount(scene.team.project) == []


def test_the_dry_run_of_a_protocol_measures_no_review_that_is_sealed(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    protocol = current_protocol(scene.team.project)
    assert protocol is not None
    monkeypatch.setattr("reviews.services.simulation.dry_runs.ENOUGH", 1)
    before = assumptions_for(project=scene.team.project, protocol=protocol)
    submit_review(actor=scene.reader, slot=scene.claim.slot, token=scene.claim.token, verdict="approve")
    assert assumptions_for(project=scene.team.project, protocol=protocol) == before
    claim_and_submit(scene.team.annotators[2], scene.item, "approve")
    assert "cross_check" in assumptions_for(project=scene.team.project, protocol=protocol)[1]
