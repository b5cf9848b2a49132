"""An annotator reads all there is of a gold item and of an ordinary one, and cannot tell which is which."""

import csv
import errno
import json
import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from django.db.models import Q
from django.test import Client
from django.utils import timezone

from annotator.errors import Conflict, Invalid
from annotator.models import Dialogue, Draft, Event, Job, Notice, Revision, User, Waiver
from annotator.services.jobs import jobs
from benchmark.models import LeftOutDialogue, Release, ReleaseItem
from benchmark.services.releases.requests import start_release
from reviews.core.protocols import load_preset
from reviews.models import Claim, Comment, Draw, GoldItem, GoldRate, Review, Slot, StageRun
from reviews.services.cycles.migration import start_migration
from reviews.services.cycles.start import supersede_cycle
from reviews.services.feedback.comments import add_comment
from reviews.services.gold import results
from reviews.services.gold.settings import retire_gold_item
from reviews.services.protocols.versions import adopt_protocol, current_protocol
from reviews.services.queue.claims import claim_next
from reviews.services.queue.slot_work import load_slot_work
from reviews.services.sampling.draws import close_population_and_draw
from reviews.services.statistics.all_counts import fold_all
from reviews.services.submission.waivers import waive_all
from tests.benchmark.conftest import run_release
from tests.factories import (
    Team,
    adopt_c3,
    begin,
    changed,
    claim_and_submit,
    current,
    make_dialogue,
    make_document,
    make_item,
    open_slot,
)
from tests.pages import one_line
from tests.reviews.cycles.test_rounds import drawn as drawn_of
from tests.reviews.cycles.test_rounds import look, next_round
from tests.reviews.gold.gold_team import STAGE, always, answer_with, certain, gold_team, make_gold, take, verified

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


@pytest.fixture
def team() -> Team:
    return gold_team()


RULING = {"choice": "left", "reason_kind": "other", "reason": "So it is."}

#: Of what people read in either dialogue.
TAG = "of late"


def signed_in(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def comment(team: Team, dialogue: Dialogue) -> None:
    """Its author asked something in the first self-check, and somebody answered."""
    run = StageRun.objects.filter(cycle__dialogue=dialogue).order_by("pk")[0]
    fields = {"dialogue": dialogue, "stage_run": run, "anchor": "/tasks/t1", "created_at": run.opened_at}
    asked = Comment.objects.create(author=team.annotator, text="Is it the Belgian one?", **fields)
    Comment.objects.create(author=team.senior, text="Yes.", parent=asked, **fields)


class Pair:
    """A gold item and an ordinary one that came the same way, both held by one annotator.

    Each has a variant; whichever of the gold ones comes first is held.
    """

    def __init__(self, team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
        self.team, self.person = team, team.annotators[3]
        answers = [verified(team, external_id=f"pair-1-000000{n}", tag=TAG) for n in (1, 2)]
        ordinary = [make_item(team, STAGE, make_document(TAG), external_id=f"pair-1-000000{n}") for n in (3, 4)]
        for group, rows in (("talk-1", answers), ("talk-2", ordinary)):
            Dialogue.objects.filter(pk__in=[row.pk for row in rows]).update(variant_group=group)
        self.ordinary, other = ordinary
        for row in (*answers, *ordinary):
            comment(team, row)
        # Dealt with as the dialogue was verified.
        asked = Comment.objects.filter(dialogue__in=answers, parent=None)
        asked.update(resolved_at=timezone.now(), resolved_by=team.senior)
        answers[0].refresh_from_db()
        make_gold(team, answers[0])
        self.client = signed_in(self.person)
        certain(monkeypatch, team)
        self.claims = {"gold": self.claim()}
        claimed = Q(stage_run__slots__public_id=self.claims["gold"]["slot"])
        self.item, twin = GoldItem.objects.get(claimed), GoldItem.objects.get(~claimed)
        self.siblings = {"gold": twin.dialogue, "ordinary": other}
        monkeypatch.setattr("reviews.services.queue.gold_claims.is_due", lambda secret, **turn: False)
        # Both are held at once, as by somebody whose first lease was still running when they gave it back.
        self.claims["ordinary"] = self.second()

    def claim(self) -> dict[str, Any]:
        response = self.client.post(
            f"/api/projects/{self.team.project.slug}/claims/", {"stage": STAGE}, content_type="application/json"
        )
        assert response.status_code == 201
        return dict(response.json())

    def second(self) -> dict[str, Any]:
        held = Claim.objects.get(person=self.person, state="live")
        Claim.objects.filter(pk=held.pk).update(state="released", ended_at="2025-01-01T00:00:00Z")
        claim = self.claim()
        Claim.objects.filter(pk=held.pk).update(state="live", ended_at=None)
        return claim

    def dialogue(self, which: str) -> Dialogue:
        return self.item.dialogue if which == "gold" else self.ordinary

    def plain(self, which: str, text: str) -> str:
        """Return an answer's text without the names, keys and times that no two items share."""
        dialogue = self.dialogue(which)
        dialogue.refresh_from_db()
        names = {dialogue.external_id: "NAME", dialogue.public_id: "DIALOGUE", dialogue.variant_group: "GROUP"}
        sibling = self.siblings[which]
        names |= {sibling.external_id: "SIBLING", sibling.public_id: "OTHER"}
        for model, word in (
            (Revision, "REVISION"),
            (Slot, "SLOT"),
            (Review, "REVIEW"),
            (Draft, "DRAFT"),
            (Comment, "COMMENT"),
        ):
            rows = model._default_manager.filter(dialogue=dialogue).order_by("pk")
            # The slots of an ordinary item are there beforehand, those of a gold item come with the people.
            names |= {row.public_id: word for row in rows}  # type: ignore[attr-defined]
        names |= {claim.token: "TOKEN" for claim in Claim.objects.filter(slot__dialogue=dialogue)}
        for name, word in names.items():
            text = text.replace(name, word)
        # A pseudonym holds for one dialogue, and its chip has a tone and letters made of it.
        text = re.sub(
            r'person-mark tone-\w+" aria-hidden="true">\w+(</span><span class="clip">)Colleague', r"\1Colleague", text
        )
        text = re.sub(r"(Colleague |colleague-)[0-9a-f]{4}", "COLLEAGUE", text)
        text = re.sub(r"<time[^>]*>.*?</time>", "TIME", text, flags=re.S)
        text = re.sub(r"\d{4}-\d\d-\d\d[T ][\d:.]+(Z|\+00:00)?", "TIME", text)
        text = re.sub(r"\b[0-9a-f]{64}\b|\b[0-9a-f]{16}\b", "HASH", text)
        return re.sub(r"\b[A-Za-z0-9]{64}\b", "SECRET", text)

    def read(self, which: str, template: str) -> tuple[int, str]:
        dialogue = self.dialogue(which)
        assert dialogue.head is not None
        address = template.format(
            p=f"/p/{self.team.project.slug}",
            api=f"/api/projects/{self.team.project.slug}",
            dialogue=dialogue.public_id,
            revision=dialogue.head.public_id,
            name=dialogue.external_id,
            slot=self.claims[which]["slot"],
        )
        response = self.client.get(address)
        return response.status_code, self.plain(which, one_line(response))


ADDRESSES = [
    "{p}/dialogues/?q={name}",
    "{p}/dialogues/{dialogue}/",
    "{p}/dialogues/{dialogue}/?revision={revision}",
    "{p}/dialogues/{dialogue}/changes/",
    "{p}/dialogues/{dialogue}/tasks/t1/paths/",
    "{api}/dialogues/{dialogue}/",
    "{api}/dialogues/{dialogue}/reviews/",
    "{api}/dialogues/{dialogue}/revisions/",
    "{api}/dialogues/{dialogue}/revisions/{revision}/",
    "/work/{slot}/",
    "/work/{slot}/?panel=graph",
    "/work/{slot}/?panel=findings",
    "/work/{slot}/?panel=comments",
    "/work/{slot}/?panel=tools",
    "/work/{slot}/?panel=revisions",
    "/work/{slot}/submit/?verdict=approve",
    "/work/{slot}/settle/",
    "/work/{slot}/merge/",
    "/work/{slot}/tasks/t1/paths/",
]


def test_held_and_handed_in_they_answer_alike(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    pair = Pair(team, monkeypatch)
    shapes = {which: pair.plain(which, json.dumps(claim)) for which, claim in pair.claims.items()}
    assert shapes["gold"] == shapes["ordinary"]
    for which in pair.claims:
        pair.read(which, "/work/{slot}/")
    # The drafts were begun in two minutes, as they may be.
    Draft.objects.filter(dialogue=pair.item.dialogue).update(updated_at="2025-01-01T00:00:00Z")
    for address in ADDRESSES:
        assert pair.read("gold", address) == pair.read("ordinary", address), address
    for which in pair.claims:
        work = load_slot_work(actor=pair.person, public_id=pair.claims[which]["slot"])
        add_comment(actor=pair.person, work=work, anchor="/tasks/t1", text="Is this one request?")
        document = changed(current(pair.dialogue(which)), "It rains.")
        response = pair.client.post(
            f"/api/work/{pair.claims[which]['slot']}/submit/",
            {"token": pair.claims[which]["token"], "verdict": "fix", "document": document},
            content_type="application/json",
        )
        assert response.status_code == 201
        shapes[which] = pair.plain(which, one_line(response))
    assert shapes["gold"] == shapes["ordinary"]
    for address in ADDRESSES:
        assert pair.read("gold", address) == pair.read("ordinary", address), address


def test_warnings_are_waived_of_the_item_as_of_what_was_handed_in(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    """No ordinary dialogue comes into the stage with a warning that nobody waived."""
    document = make_document("x")
    document["tasks"][0]["user_message"] += " [your city]"
    sources = []
    for name in ("as-it-came", "planted"):
        sources.append(make_dialogue(team.project, document, external_id=name))
        begin(team.project, sources[-1:])
        for _ in range(2):
            waive_all(actor=team.annotator, slot=open_slot(sources[-1]), reason="Meant so.")
            claim_and_submit(team.annotator, sources[-1])
        for person in team.annotators[1:3]:
            claim_and_submit(person, sources[-1], "approve")
        sources[-1].refresh_from_db()
    make_gold(team, sources[0])
    error = changed(document, "It is sunny in [your city].")
    make_gold(team, sources[1], document=error)
    make_item(team, STAGE)
    certain(monkeypatch, team)
    person = team.annotators[3]
    for _ in sources:
        claim = take(person, team)
        assert claim.slot.dialogue.gold_role == "gold"
        assert claim.slot.dialogue.warning_count
        page = signed_in(person).get(f"/p/{team.project.slug}/dialogues/{claim.slot.dialogue.public_id}/")
        assert "Waived by a colleague" in one_line(page)
        answer_with(person, claim, "approve")
    planted = Waiver.objects.filter(dialogue__gold_role="gold", anchor="/tasks/t1/steps/s1/text")
    assert [one.author for one in planted] == [team.annotator] * planted.count()
    assert planted.exists()


def test_to_colleagues_they_look_alike_before_and_after(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    pair = Pair(team, monkeypatch)
    outlooks = [address for address in ADDRESSES if "{slot}" not in address]
    for colleague in (team.annotator, team.annotators[1], team.annotators[5]):
        pair.client = signed_in(colleague)
        for address in outlooks:
            assert pair.read("gold", address) == pair.read("ordinary", address), address
    for claim in pair.claims.values():
        answer_with(pair.person, Claim.objects.get(token=claim["token"]), "approve")
    for address in outlooks:
        assert pair.read("gold", address) == pair.read("ordinary", address), address


def test_the_answer_is_nowhere_while_the_item_is_in_use(team: Team) -> None:
    source = verified(team)
    item = make_gold(team, source)
    slug, words = team.project.slug, "sunny"
    for person in team.annotators:
        client = signed_in(person)
        assert client.get(f"/p/{slug}/dialogues/{source.public_id}/").status_code == 404
        assert client.get(f"/api/projects/{slug}/dialogues/{source.public_id}/").status_code == 404
        listed = client.get(f"/api/projects/{slug}/dialogues/").json()["results"]
        assert [row["public_id"] for row in listed] == [item.dialogue.public_id]
        assert source.public_id not in one_line(client.get(f"/p/{slug}/dialogues/?q={words}"))
        assert client.get(f"/p/{slug}/gold/").status_code == 403
    for person in (team.senior, team.administrator):
        for dialogue, mark in ((source, "Known answer"), (item.dialogue, "Gold item")):
            page = one_line(signed_in(person).get(f"/p/{slug}/dialogues/{dialogue.public_id}/"))
            # Neither may become an example, because annotators see examples.
            assert mark in page
            assert "Mark as an example" not in page
            assert mark in one_line(signed_in(person).get(f"/p/{slug}/dialogues/"))
    retire_gold_item(actor=team.administrator, project=team.project, public_id=item.public_id)
    client = signed_in(team.annotators[3])
    assert client.get(f"/p/{slug}/dialogues/{source.public_id}/").status_code == 200


def test_lists_and_figures_agree_for_an_annotator(team: Team) -> None:
    """As many dialogues in each list as the project's page counts: nobody finds gold items by counting."""
    for _ in range(2):
        make_gold(team)
    verified(team, fix="")
    make_item(team, STAGE)
    slug = team.project.slug
    client = signed_in(team.annotators[3])
    counted = client.get(f"/api/projects/{slug}/status/").json()["dialogues"]
    for status, count in counted.items():
        rows = client.get(f"/api/projects/{slug}/dialogues/?status={status}").json()["results"]
        assert len(rows) == count, status
    record = signed_in(team.administrator).get(f"/api/projects/{slug}/status/").json()["dialogues"]
    assert (counted["verified"], counted["in_review"]) == (1, 3)
    assert (record["verified"], record["in_review"]) == (3, 1)


def test_figures_leave_out_what_became_of_the_answers(team: Team) -> None:
    """Three that have passed, and one that the lists show as passed: then two of those that wait are gold items."""
    for _ in range(2):
        make_gold(team)
    verified(team)
    make_item(team, STAGE)
    fold_all()
    slug = team.project.slug

    def read(person: User) -> list[object]:
        def get(what: str) -> Any:
            return signed_in(person).get(f"/api/projects/{slug}/{what}").json()

        stage = next(one for one in get("status/")["stages"] if one["key"] == STAGE)
        accuracy, verdicts = get("statistics/accuracy/"), get(f"statistics/agreement/?stage={STAGE}&label=verdict")
        units = sum(verdicts["labels"][0]["patterns"].values())
        return [
            get("status/")["dialogues"]["verified"], stage["settled"], stage["compared"],
            accuracy["verified"], accuracy["by_stage"][0]["of"], accuracy["unfinished"], units,
            get("statistics/progress/")["forecast"]["open"] - sum(one["open"] for one in get("status/")["stages"]),
        ]  # fmt: skip

    assert read(team.annotators[4]) == [1, 1, 1, 1, 1, 3, 1, 0]
    assert read(team.administrator) == [3, 3, 3, 3, 3, 1, 3, 0]


def test_an_error_that_was_mended_before_the_stage_is_not_planted(team: Team) -> None:
    """The revision with the fix would equal the one before it, which never happens in an ordinary dialogue."""
    item = make_item(team, "self_check_multi")
    came = current(item)
    claim_and_submit(team.annotator, item, "fix", document=changed(came))
    for person in team.annotators[1:3]:
        claim_and_submit(person, item, "approve")
    item.refresh_from_db()
    for error in (came, changed(came, f"  {came['tasks'][0]['steps'][-1]['text']} ")):
        with pytest.raises(Invalid, match="Revisions 1 and 2 of the item would have the same content"):
            make_gold(team, item, document=error)
    made = make_gold(team, item, document=changed(came, "It rains."))
    contents = [one.content for one in Revision.objects.filter(dialogue=made.dialogue)]
    assert len(contents) == len({*contents}) == 2


def test_errors_that_were_named_in_answers_are_not_counted_for_annotators(team: Team) -> None:
    """Their reviews are on no page that annotators see: the difference told of the gold items."""
    error = {"named_errors": [{"kind": "wrong_argument_value", "anchor": "/tasks/t1/steps/s0", "note": ""}]}
    for _ in range(2):
        item = make_item(team, STAGE)
        for person in team.annotators[1:3]:
            claim_and_submit(person, item, "fix", document=changed(current(item)), **error)
    item.refresh_from_db()
    make_gold(team, item)
    fold_all()
    for person, seen in ((team.annotators[4], 2), (team.senior, 4)):
        client = signed_in(person)
        named = client.get(f"/api/projects/{team.project.slug}/statistics/progress/").json()["error_types"]
        assert [sum(one["by_stage"].values()) for one in named] == [seen]
        text = client.get(f"/p/{team.project.slug}/statistics/?csv=error-types").content.decode()
        assert re.search(rf",{seen}\b", text)


def test_errors_that_were_named_in_answers_are_not_counted_for_those_who_named_or_received_them(team: Team) -> None:
    """A count of errors in a blind stage that has not settled would say that it has: the dialogue is a known answer."""
    error = {"named_errors": [{"kind": "wrong_argument_value", "anchor": "/tasks/t1/steps/s0", "note": ""}]}
    items = [make_item(team, "self_check_multi") for _ in range(2)]
    for item in items:
        claim_and_submit(team.annotator, item, "fix", document=changed(current(item), "Sunny, 18 degrees."))
        for person in team.annotators[1:3]:
            claim_and_submit(person, item, "fix", document=changed(current(item)), **error)
        item.refresh_from_db()
    make_gold(team, items[0])
    fold_all()

    def read(reader: User, whose: User) -> list[int]:
        path = f"/api/projects/{team.project.slug}/statistics/people/{whose.public_id}/"
        found = signed_in(reader).get(path).json()
        return [
            sum(sum(one["by_stage"].values()) for one in found[key])
            for key in ("error_types_named", "error_types_received")
        ]

    namer, author = team.annotators[1], team.annotators[0]
    assert [read(namer, namer), read(author, author)] == [[1, 0], [0, 2]]
    assert [read(team.senior, namer), read(team.senior, author)] == [[2, 0], [0, 4]]


def test_the_work_of_experts_on_answers_is_not_counted_for_annotators(team: Team) -> None:
    """An item that seems to wait in the cross-check was not with an expert, and nobody submitted it there."""
    source = make_item(team, STAGE)
    claim_and_submit(team.annotators[1], source, "reject")
    claim_and_submit(team.annotators[2], source, "approve")
    claim_and_submit(team.senior, source, "approve")
    Review.objects.filter(stage_run__stage="expert").update(seconds=62)
    source.refresh_from_db()
    fold_all()

    def read(person: User) -> tuple[set[str], set[str]]:
        found = signed_in(person).get(f"/api/projects/{team.project.slug}/statistics/progress/").json()
        return {one["stage"] for one in found["by_day"]["stages"]}, {one["stage"] for one in found["times"]}

    people = (team.administrator, team.annotators[4])
    before = read(team.administrator)
    assert before[1] == {"expert"}
    assert [read(person) for person in people] == [before, before]
    make_gold(team, source)
    assert [read(person) for person in people] == [before, (before[0] - {STAGE, "expert"}, set())]


def test_it_has_every_version_that_reviewers_of_an_earlier_blind_stage_made(team: Team) -> None:
    """Revisions that were not used are listed for an ordinary dialogue, too."""
    protocol = current_protocol(team.project)
    assert protocol is not None
    single, multi, check, expert = protocol.stages
    earlier = [one.model_copy(update={"key": f"{one.key}_one"}) for one in (check, expert)]
    stages = (single, multi, *earlier, check, expert)
    adopt_protocol(
        actor=team.administrator, project=team.project, protocol=protocol.model_copy(update={"stages": stages})
    )
    items = []
    for name in ("source", "waiting"):
        item = make_dialogue(team.project, make_document(TAG), external_id=name)
        begin(team.project, [item])
        for _ in range(2):
            claim_and_submit(team.annotator, item)
        for person, text in zip(team.annotators[1:3], ("It is sunny.", "It rains."), strict=True):
            claim_and_submit(person, item, "fix", document=changed(current(item), text))
        claim_and_submit(team.senior, item, rulings={"/tasks/t1/steps/s1/text": RULING})
        item.refresh_from_db()
        assert item.stage == STAGE
        items.append(item)
    for person in team.annotators[3:5]:
        claim_and_submit(person, items[0], "approve")
    items[0].refresh_from_db()
    item = make_gold(team, items[0], document=changed(current(items[0]), "It snows.")).dialogue

    def shapes(dialogue: Dialogue) -> list[tuple[int, bool, bool]]:
        path = f"/api/projects/{team.project.slug}/dialogues/{dialogue.public_id}/revisions/"
        rows = signed_in(team.annotators[5]).get(path).json()["results"]
        return [(row["number"], row["branch"] == "main", row["parent"] is None) for row in rows]

    assert shapes(item) == shapes(items[1])
    assert len(shapes(item)) == 4
    # The left fix says what the expert took of it, where the error was planted: it shows nothing beside it.
    assert not item.revisions.filter(content_hash=items[0].content_hash).exists()


def test_its_history_names_the_protocol_that_was_in_force_then(team: Team) -> None:
    """“Protocol 2” on a day when there was none told a gold item from what came in beside it."""

    def adopt(title: str) -> None:
        protocol = current_protocol(team.project)
        assert protocol is not None
        first = protocol.stages[0].model_copy(update={"title": title})
        new = protocol.model_copy(update={"stages": (first, *protocol.stages[1:])})
        adopt_protocol(actor=team.administrator, project=team.project, protocol=new)

    sources = [verified(team) for _ in range(3)]
    waiting = make_item(team, STAGE)
    adopt("Self-check I")
    item = make_gold(team, sources[0]).dialogue
    supersede_cycle(actor=team.administrator, dialogue=sources[1], reason="An erratum.")
    for person in (team.annotators[0], team.annotators[0], *team.annotators[3:5]):
        claim_and_submit(person, sources[1], "approve")
    sources[1].refresh_from_db()
    again = make_gold(team, sources[1]).dialogue

    def began(dialogue: Dialogue) -> list[str]:
        page = signed_in(team.annotators[4]).get(f"/p/{team.project.slug}/dialogues/{dialogue.public_id}/")
        return re.findall(r"Review began[^<]*", one_line(page))

    assert began(item) == began(again) == began(waiting) == ["Review began (cycle 1, protocol 1)"]
    times = Event.objects.filter(dialogue__in=(sources[1], again), kind="cycle.begun").order_by("pk")
    assert times.last().created_at == times.first().created_at  # type: ignore[union-attr]
    # Once all that waits has been moved, it says so, and what ended before does not.
    start_migration(actor=team.administrator, project=team.project)
    with pytest.raises(Conflict, match="under a different protocol version"):
        make_gold(team, sources[2])
    assert results.suggest(project=team.project, stage=STAGE) == []


def test_a_draw_names_its_population_to_overseers_alone(team: Team) -> None:
    """Its hash says of any dialogue that seems to wait whether it was in there."""
    draw = Draw.objects.create(
        project=team.project, stage="expert", number=1, fraction=0.1, seed="5eed", population_hash="ab" * 32,
        population_size=1234, sample_size=124,
    )  # fmt: skip
    telling = [draw.population_hash, "1,234", "1234", "124"]
    for path in ("", "statistics/samples/", "statistics/samples/?csv=draws"):
        for person, seen in ((team.annotators[4], False), (team.senior, True)):
            text = one_line(signed_in(person).get(f"/p/{team.project.slug}/{path}"))
            assert draw.seed in text
            assert any(re.search(rf"\b{word}\b", text) for word in telling) is seen, (path, person)


def test_what_rounds_found_in_an_answer_is_for_overseers_alone(team: Team) -> None:
    """Others see it in the stage before theirs: anything more would reveal that it is a gold item."""
    wild, check = load_preset("wild", round_fraction=0.5), load_preset("c3").stage(STAGE)
    stages = (wild.stages[0], check, *wild.stages[1:])
    adopt_protocol(actor=team.administrator, project=team.project, protocol=wild.model_copy(update={"stages": stages}))
    for _ in range(4):
        item = make_dialogue(team.project)
        begin(team.project, [item])
        for person in team.annotators[:3]:
            claim_and_submit(person, item, "approve")
    first = next_round(team)
    wrong, disputed = drawn_of(first)
    look(wrong, "fix", "fix", text="The same for both.")
    look(disputed, "approve", "fix")
    claim_and_submit(team.senior, disputed, rulings={"/tasks/t1/steps/s1/text": RULING | {"choice": "right"}})
    while not (draw := next_round(team)).closing:
        for item in drawn_of(draw):
            look(item, "approve", "approve")
    names = ("seen", "errors", "disputes")

    def read(person: User) -> tuple[list[str], set[str]]:
        path = f"/p/{team.project.slug}/statistics/samples/?csv=rounds-rounds"
        rows = list(csv.DictReader(signed_in(person).get(path).content.decode().splitlines()))
        return [rows[0][name] for name in names], {"population", "unseen", "drawn"} & rows[0].keys()

    sizes = {"population", "unseen", "drawn"}
    assert [read(one) for one in (team.senior, team.annotators[4])] == [
        (["2", "2", "1"], sizes),
        (["2", "2", "1"], set()),
    ]
    for source, left in ((wrong, ["1", "1", "1"]), (disputed, ["0", "0", "0"])):
        source.refresh_from_db()
        make_gold(team, source)
        assert [read(one)[0] for one in (team.senior, team.annotators[4])] == [["2", "2", "1"], left]


@pytest.fixture
def drawn(team: Team) -> list[Dialogue]:
    """Four that were drawn from; the last one waits for the expert."""
    adopt_c3(team, audit_fraction=0.25)
    items = [make_item(team, STAGE) for _ in range(4)]
    for item in items:
        for person in team.annotators[1:3]:
            claim_and_submit(person, item, "approve")
    close_population_and_draw(actor=team.administrator, project=team.project)
    return sorted(Dialogue.objects.all(), key=lambda item: item.stage == "expert")


def test_no_item_is_made_of_what_a_release_says_was_drawn_from(team: Team, drawn: list[Dialogue]) -> None:
    """The archive holds the hash of each draw's population: with what is released beside it, it names what is not."""
    assert run_release(team).item_count == 3
    claim_and_submit(team.senior, drawn[3], "approve")
    drawn[3].refresh_from_db()
    with pytest.raises(Conflict, match=r"when release 1\.0 was frozen"):
        make_gold(team, drawn[3])


def test_a_release_retires_the_item_whose_answer_it_says_was_drawn_from(
    team: Team, drawn: list[Dialogue], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_gold(team, drawn[0])
    monkeypatch.setattr(
        "benchmark.services.releases.freezing._Freezing._outside",
        lambda freezing, one, cycle, variants: "" if one.pk in (drawn[1].pk, drawn[2].pk) else "It is not fit for it.",
    )
    assert run_release(team).item_count == 2
    assert not GoldItem.objects.get().live


def test_a_release_can_leave_answers_out_so_that_their_gold_items_stay_in_use(
    team: Team, drawn: list[Dialogue]
) -> None:
    """The form names them; without the option they are retired, and every administrator is notified."""
    item = make_gold(team, drawn[0])
    admin, address = signed_in(team.administrator), f"/p/{team.project.slug}/releases/"
    form = one_line(admin.get(address))
    assert "3 dialogues are verified" in form
    assert f'<a href="/p/{team.project.slug}/gold/items/{item.public_id}/">{item.source.external_id}</a>' in form
    started = admin.post(address, {"version": "1.0", "native_format": "neutral", "leave_out_gold": "on"})
    jobs.run(Job.objects.get(kind="release").pk)
    release = Release.objects.get()
    assert (started.status_code, release.state, release.item_count) == (302, "frozen", 2)
    assert item.source.external_id not in {row.dialogue.external_id for row in ReleaseItem.objects.all()}
    left = LeftOutDialogue.objects.get(dialogue=item.source)
    assert left.reason == "It is the known answer of a gold item in use."
    # A draw that is missing would show that it had an answer.
    assert (release.frozen["draws"], release.frozen["populations"]) == ([], [])
    assert GoldItem.objects.get().live
    claim_and_submit(team.senior, drawn[3], "approve")
    drawn[3].refresh_from_db()
    make_gold(team, drawn[3])
    assert not Notice.objects.filter(kind="alarm").exists()
    second = run_release(team, "2.0")
    assert second.item_count == 4
    assert not GoldItem.objects.filter(retired_at=None).exists()
    assert len(second.frozen["draws"]) == 1
    notice = Notice.objects.get(kind="alarm")
    assert (notice.person, notice.target) == (team.administrator, f"/p/{team.project.slug}/gold/")
    assert notice.text == "Gold items were retired. Reason: Published in release 2.0."
    assert "Gold items retired" in one_line(admin.get(f"{address}{second.public_id}/"))
    for one, held in ((release, False), (second, True)):
        assert (f">{item.source.external_id}<" in one_line(admin.get(f"{address}{one.public_id}/dialogues/"))) == held
    assert "Published in release 2.0." in one_line(admin.get(f"/p/{team.project.slug}/gold/"))
    assert "leave_out_gold" not in one_line(admin.get(address))


@pytest.mark.parametrize("held", [False, True], ids=["left out", "held"])
def test_figures_of_a_release_leave_out_the_answers_that_stay_hidden(team: Team, held: bool) -> None:
    """Beside what the pages say, one finished dialogue more says that there is a gold item, and how it was verified."""
    for _ in range(3):
        verified(team, fix="")
    source = verified(team)
    make_gold(team, source)
    release = run_release(team, leave_out_gold=not held)
    assert release.item_count == 3 + held
    figures = release.frozen["figures"]
    # Three were imported as verified, and their reviewers agreed; both reviewers fixed the fourth.
    assert (figures["accuracy"]["finished"], figures["accuracy"]["verified"]) == (3 + held, 3 + held)
    assert {(one["key"], one["right"], one["of"]) for one in figures["accuracy"]["by_stage"]} >= {
        ("baseline", 3, 3 + held), (STAGE, 3 + held, 3 + held)
    }  # fmt: skip
    verdicts = next(one for one in figures["agreement"] if one["label"] == "verdict")
    assert {one["n"] for one in verdicts["figures"]} == {3 + held}
    page = signed_in(team.annotators[4]).get(f"/api/projects/{team.project.slug}/statistics/accuracy/").json()
    assert page["finished"] == 3 + held


def test_ones_own_results_are_told_of_retired_items_alone(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    items = [make_gold(team), make_gold(team)]
    make_item(team, STAGE)
    certain(monkeypatch, team)
    person = team.annotators[3]
    for _ in items:
        answer_with(person, take(person, team), "approve")
    address, client = f"/p/{team.project.slug}/gold/", signed_in(person)
    retire_gold_item(actor=team.administrator, project=team.project, public_id=items[0].public_id)
    assert client.get(address).status_code == 403
    theirs = (f"/p/{team.project.slug}/feedback/", f"/p/{team.project.slug}/statistics/people/{person.public_id}/")
    assert not any("Known answers" in one_line(client.get(page)) for page in theirs)
    GoldRate.objects.update(reveal=True)
    shown = one_line(client.get(address))
    for page in theirs:
        told = one_line(client.get(page))
        # One of the two: the other is still in use.
        assert "1 of your reviews was of an item with a known answer" in " ".join(told.split())
        assert f'href="{address}"' in told
    assert items[0].dialogue.external_id in shown
    assert items[1].dialogue.external_id not in shown
    assert items[1].source.external_id not in shown
    # A colleague who had neither.
    assert items[0].dialogue.external_id not in one_line(signed_in(team.annotators[4]).get(address))


def test_a_person_alone_cannot_see_it_in_what_waits(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    make_gold(team)
    make_item(team, STAGE)
    person = team.annotators[3]
    home = one_line(signed_in(person).get("/"))
    certain(monkeypatch, team)
    claim = claim_next(actor=person, project=team.project, stage=STAGE)
    assert claim is not None
    assert GoldItem.objects.get().dialogue_id == claim.slot.dialogue_id
    assert claim.slot.dialogue.external_id in one_line(signed_in(person).get("/"))
    assert claim.slot.dialogue.external_id not in home


def test_the_pages_show_overseers_what_there_is(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    item = make_gold(team)
    suggested = verified(team)
    make_item(team, STAGE)
    always(team)
    certain(monkeypatch, team)
    answer_with(team.annotators[3], take(team.annotators[3], team), "approve")
    take(team.annotators[4], team)
    slug = team.project.slug
    for person in (team.senior, team.administrator):
        client = signed_in(person)
        page = one_line(client.get(f"/p/{slug}/gold/"))
        assert "0 of 1" in page
        assert "answer (1)" in page
        page = one_line(client.get(f"/p/{slug}/gold/items/{item.public_id}/"))
        assert "missed" in page
        assert str(team.annotators[4]) in page
    page = one_line(client.get(f"/p/{slug}/gold/new/"))
    assert suggested.external_id in page
    assert "3 possible reviewers" in one_line(client.get(f"/p/{slug}/gold/new/?dialogue={suggested.external_id}"))
    send = {"dialogue": suggested.external_id, "stage": STAGE}
    refused = client.post(f"/p/{slug}/gold/new/", send | {"show": "planted", "document": "{"})
    assert (refused.status_code, "isn’t valid JSON" in one_line(refused)) == (422, True)
    planted = json.dumps(changed(current(suggested), "It snows."))
    assert client.post(f"/p/{slug}/gold/new/", send | {"show": "planted", "document": planted}).status_code == 302
    assert GoldItem.objects.latest("pk").planted
    for percent, words in (("nan", "from 0 % to 50 %"), ("1e999", "from 0 % to 50 %"), ("much", "such as 5")):
        refused = client.post(f"/p/{slug}/gold/rate/", {"stage": STAGE, "percent": percent})
        assert refused.status_code == 422
        assert words in one_line(refused)
        assert f'value="{percent}" required aria-invalid="true"' in one_line(refused)
    assert client.post(f"/p/{slug}/gold/rate/", {"stage": STAGE, "percent": "7,5"}).status_code == 302
    assert GoldRate.objects.get().rate == 0.075
    # Two windows: what one has left as it was is not taken back from the other.
    seen = {"stage": STAGE, "seen:percent": "7.5", "seen:reveal": ""}
    page = one_line(client.get(f"/p/{slug}/gold/"))
    assert all(f'name="{name}" value="{value}"' in page for name, value in seen.items())
    client.post(f"/p/{slug}/gold/rate/", seen | {"percent": "20"})
    client.post(f"/p/{slug}/gold/rate/", seen | {"percent": "7.5", "reveal": "on"})
    assert GoldRate.objects.values_list("rate", "reveal").get() == (0.2, True)
    client.post(f"/p/{slug}/gold/rate/", seen | {"percent": "7.5", "seen:percent": "20", "seen:reveal": "on"})
    assert GoldRate.objects.values_list("rate", "reveal").get() == (0.075, False)
    assert client.post(f"/p/{slug}/gold/items/{item.public_id}/retire/", {"reason": "Old."}).status_code == 302
    assert not GoldItem.objects.get(pk=item.pk).live


def test_the_pages_say_which_item_is_older_than_all_that_waits_beside_it(team: Team) -> None:
    """If a queue follows the order of an import, all verified items have smaller ids and earlier times."""
    client, slug = signed_in(team.administrator), team.project.slug

    def pages(source: Dialogue) -> list[str]:
        new = one_line(client.get(f"/p/{slug}/gold/new/?dialogue={source.external_id}"))
        return [new, one_line(client.get(f"/p/{slug}/gold/"))]

    source = verified(team)
    # Nothing waits, so nobody gets it.
    assert "It is older" not in "".join(pages(source))
    later = [make_item(team, STAGE) for _ in range(2)]
    assert "It is older than all 2 other dialogues waiting in this stage" in pages(source)[0]
    make_gold(team, source)
    assert "It is older than all 2 other dialogues waiting in this stage" in pages(source)[1]
    # One that waits came in before it, but into the stage after it: its id tells, or its times do.
    Dialogue.objects.filter(pk=later[0].pk).update(created_at="2025-01-01T00:00:00Z")
    assert "It is older" in pages(source)[1]
    StageRun.objects.filter(cycle__dialogue=later[0]).update(opened_at="2025-01-01T00:00:00Z")
    assert "It is older" not in pages(source)[1]
    for person in team.annotators[1:3]:
        claim_and_submit(person, later[1], "approve")
    # Only an older one is left.
    assert "It is newer than the only other dialogue waiting in this stage" in pages(source)[1]


@pytest.mark.parametrize("people", [1, 3])
def test_the_page_asks_the_database_a_fixed_number_of_times(
    team: Team, monkeypatch: pytest.MonkeyPatch, people: int, django_assert_max_num_queries: Any
) -> None:
    item = make_gold(team)
    make_gold(team)
    make_item(team, STAGE)
    certain(monkeypatch, team)
    for person in team.annotators[3 : 3 + people]:
        answer_with(person, take(person, team), "approve")
    client = signed_in(team.administrator)
    with django_assert_max_num_queries(20):
        client.get(f"/p/{team.project.slug}/gold/")
    with django_assert_max_num_queries(24):
        client.get(f"/p/{team.project.slug}/gold/items/{item.public_id}/")


def test_a_release_holds_the_answer_and_retires_the_item(team: Team) -> None:
    from annotator.models import Job
    from benchmark.models import LeftOutDialogue, ReleaseItem
    from benchmark.services.releases.freezing import _Freezing, where_released

    source = verified(team)
    item = make_gold(team, source)
    claim_and_submit(team.annotators[1], make_item(team, STAGE), "approve")
    job = Job.objects.create(project=team.project, kind="release")
    release = Release.objects.create(
        project=team.project, job=job, version="1.0", native_format="neutral", state="freezing", canary="c"
    )
    freezing = _Freezing(release)
    freezing.run()
    assert list(ReleaseItem.objects.values_list("dialogue", flat=True)) == [source.pk]
    assert item.dialogue_id not in LeftOutDialogue.objects.values_list("dialogue", flat=True)
    assert where_released(source) == ""
    Release.objects.update(frozen_at="2025-01-01T00:00:00Z")
    assert "Release 1.0 contains" in where_released(source)
    assert freezing.summary()["counts"]["dialogues"] == 1
    assert GoldItem.objects.get().live


@pytest.mark.parametrize(
    ("error", "state"),
    # A full disk is no reason to fail: the job is continued when there is room.
    [(0, "frozen"), (errno.EIO, "failed"), (errno.ENOSPC, "freezing")],
    ids=["frozen", "broken disk", "full disk"],
)
def test_only_a_release_that_appears_retires_the_item(
    team: Team, monkeypatch: pytest.MonkeyPatch, error: int, state: str
) -> None:
    def build(release: Release, target: Path, progress: Any = None) -> None:
        if error:
            raise OSError(error, "Not written")
        target.write_bytes(b"zip")

    make_gold(team, verified(team))
    release = start_release(
        actor=team.administrator, project=team.project, version="1.0", native_format="neutral", wake_worker=False
    )
    monkeypatch.setattr("benchmark.services.releases.runner.build_archive", build)
    with pytest.raises(OSError, match="Not written") if state == "failed" else nullcontext():
        jobs.run(release.job_id)
    release.refresh_from_db()
    assert release.state == state
    assert GoldItem.objects.get().live is (state != "frozen")
