"""A variant of the known answer in another language is the answer too: nobody who is tested sees it or works on it."""

import json
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from annotator.core.text import Message
from annotator.errors import Conflict, Invalid
from annotator.management.base import Stop
from annotator.models import Dialogue, Job, Notice, Replay, Revision, Role, VariantMatch
from annotator.services.dialogues.variants import out_of_step, variants_of
from annotator.services.members import grant_role
from reviews.models import Claim, Comment, Example, GoldItem, Slot, StageRun
from reviews.services.cycles.start import publish_batch, supersede_cycle
from reviews.services.gold.creation import make_gold_item, preview
from reviews.services.gold.results import suggest
from reviews.services.gold.settings import retire_gold_item
from reviews.services.protocols.versions import adopt_protocol, current_protocol
from reviews.services.queue.claims import claim_next, release
from reviews.services.queue.gold_claims import involved, items_for
from reviews.services.statistics.counters import COUNTERS, stored_counters
from tests.factories import Team, changed, claim_and_submit, current, make_dialogue, make_document, make_item
from tests.reviews.gold.gold_team import STAGE, certain, gold_team, make_gold, planted, verified

pytestmark = pytest.mark.django_db


@pytest.fixture
def team() -> Team:
    return gold_team()


def in_chinese() -> dict[str, Any]:
    """Return the factory's document with Chinese text."""
    document = changed(make_document(), "根特天气晴朗，气温18度。") | {"language": "zh"}
    document["tasks"][0]["user_message"] = "根特的天气怎么样？"
    document["tasks"][0]["steps"][0]["arguments"] = {"city": "根特"}
    return document


def pair(team: Team) -> tuple[Dialogue, Dialogue]:
    """Two verified variants, the first with a fix; the fifth annotator took part only in the second."""
    english = verified(team)
    chinese = make_item(team, STAGE, in_chinese())
    for person in team.annotators[3:5]:
        claim_and_submit(person, chinese, "approve")
    Dialogue.objects.filter(pk__in=[english.pk, chinese.pk]).update(variant_group="talk-1")
    english.refresh_from_db()
    chinese.refresh_from_db()
    assert chinese.status == "verified"
    return english, chinese


def test_variants_are_hidden_while_the_item_is_in_use_and_each_has_its_own(team: Team) -> None:
    english, chinese = pair(team)
    stranger = make_dialogue(team.project)
    before = stored_counters(team.project)
    item = make_gold(team, english)
    assert (item.source, item.errors) == (english, 1)
    twin = GoldItem.objects.get(source=chinese)
    assert (twin.errors, twin.stage_run.stage) == (0, STAGE)
    assert set(Dialogue.objects.shown_to(team.annotators[5])) == {stranger, item.dialogue, twin.dialogue}
    assert chinese in Dialogue.objects.shown_to(team.senior)
    after = stored_counters(team.project)
    moved = {key: after[key] - before.get(key, 0) for key in after if after[key] != before.get(key, 0)}
    assert moved == {"gold:status:in_review": 2, "gold:status:verified": -2}
    # No counter includes the factory's dialogue, but gold items are counted.
    assert not [row for row in COUNTERS.recount(team.project) if row[0].startswith("gold:")]
    retire_gold_item(actor=team.administrator, project=team.project, public_id=twin.public_id)
    assert not GoldItem.objects.filter(retired_at=None)
    assert {english, chinese, stranger} <= set(Dialogue.objects.shown_to(team.annotators[5]))
    assert stored_counters(team.project).get("gold:status:verified", 0) == 0


def test_an_item_alone_for_its_group_opens_every_variant_when_it_is_retired(team: Team) -> None:
    """As items were made once: the other variants were hidden, and had none of their own."""
    english, chinese = pair(team)
    item = make_gold(team, english)
    twin = GoldItem.objects.get(source=chinese)
    GoldItem.objects.filter(pk=twin.pk).update(retired_at=timezone.now())
    retire_gold_item(actor=team.administrator, project=team.project, public_id=item.public_id)
    assert {english, chinese} <= set(Dialogue.objects.shown_to(team.annotators[5]))


def test_a_command_retires_what_was_made_before_an_update(team: Team, capsys: pytest.CaptureFixture[str]) -> None:
    """By hand each has a page of its own."""
    english, chinese = pair(team)
    item = make_gold(team, english)
    make_gold(team)
    elsewhere = make_gold(gold_team())
    call_command("retire_gold_items", "--project", team.project.slug, "--dry-run")
    assert GoldItem.objects.filter(retired_at=None).count() == 4
    *lines, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert {"item": item.public_id, "dialogue": english.external_id, "planted": False}.items() <= lines[0].items()
    assert (len(lines), last) == (3, {"retired": 0})
    call_command("retire_gold_items", "--project", team.project.slug)
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {"retired": 3}
    assert GoldItem.objects.get(retired_at=None) == elsewhere
    assert {english, chinese} <= set(Dialogue.objects.shown_to(team.annotators[5]))
    with pytest.raises(Stop, match="no project “nowhere”"):
        call_command("retire_gold_items", "--project", "nowhere")


def test_a_group_of_gold_items_looks_like_any_other(team: Team, client: Client) -> None:
    """Every list has as many of it, in the same state, and each page leads to the others."""
    english, _ = pair(team)
    waiting = [make_item(team, STAGE, document) for document in (make_document(), in_chinese())]
    Dialogue.objects.filter(pk__in=[one.pk for one in waiting]).update(variant_group="talk-2")
    make_gold(team, english)
    slug = team.project.slug
    # People who may be tested, the author of the answer, the owner of all of it.
    for person in (team.annotators[5], team.annotators[1], team.annotator):
        client.force_login(person)
        listed = client.get(f"/api/projects/{slug}/dialogues/").json()["results"]
        groups = {
            group: sorted(
                (row["language"], row["status"], row["stage"]) for row in listed if row["variant_group"] == group
            )
            for group in ("talk-1", "talk-2")
        }
        assert groups["talk-1"] == groups["talk-2"] == [("en", "in_review", STAGE), ("zh", "in_review", STAGE)]
        shown = client.get(f"/p/{slug}/dialogues/").content.decode()
        for row in listed:
            assert row["public_id"] in shown
            page = client.get(f"/p/{slug}/dialogues/{row['public_id']}/").content.decode()
            facts = page.partition("<dt>Variants</dt>")[2].partition("</dd>")[0]
            siblings = {one["public_id"] for one in listed if one["variant_group"] == row["variant_group"]}
            named = {
                public_id for public_id in Dialogue.objects.values_list("public_id", flat=True) if public_id in facts
            }
            # The link to the page with both has the dialogue's own id, too.
            assert named == siblings


def test_what_was_found_to_say_the_same_is_so_of_the_items_too(team: Team) -> None:
    """Else every group of gold items would say that one has changed since."""
    english, chinese = pair(team)
    heads = [StageRun.objects.get(cycle__dialogue=one, stage=STAGE).entry_revision for one in (english, chinese)]
    VariantMatch.objects.create(first=heads[0], second=heads[1], author=team.senior, created_at="2020-01-01T00:00:00Z")
    item = make_gold(team, english)
    twin = GoldItem.objects.get(source=chinese)
    match = VariantMatch.objects.latest("pk")
    assert {match.first_id, match.second_id} == {item.dialogue.head_id, twin.dialogue.head_id}


def test_an_error_is_planted_in_every_language(team: Team, client: Client) -> None:
    english, chinese = pair(team)
    slug = team.project.slug
    client.force_login(team.administrator)
    english_fault, chinese_fault = planted(current(english)), planted(current(chinese))
    with pytest.raises(Invalid, match="the dependencies of step 2 of task 1"):
        make_gold(team, english, document=english_fault)
    assert not GoldItem.objects.exists()
    page = client.get(f"/p/{slug}/gold/new/?dialogue={english.external_id}").content.decode()
    assert f'name="document-{chinese.public_id}"' in page
    assert "The same error" not in page.partition('name="document"')[0]
    sent = {
        "dialogue": english.external_id,
        "stage": STAGE,
        "show": "planted",
        "document": json.dumps(english_fault),
        f"document-{chinese.public_id}": json.dumps(chinese_fault),
    }
    assert client.post(f"/p/{slug}/gold/new/", sent | {f"document-{chinese.public_id}": "{"}).status_code == 422
    assert client.post(f"/p/{slug}/gold/new/", sent).status_code == 302
    assert list(GoldItem.objects.values_list("planted", "errors")) == [(True, 1), (True, 1)]
    for one in GoldItem.objects.all():
        assert [
            other.why for other in variants_of(actor=team.annotators[5], dialogue=one.dialogue) if other.shared
        ] == []


def test_an_error_of_words_stands_in_one_language_alone(team: Team) -> None:
    english, chinese = pair(team)
    make_gold(team, english, document=changed(current(english), "It snows."))
    twin = GoldItem.objects.get(source=chinese)
    assert (twin.planted, twin.errors) == (True, 0)


def test_who_had_a_hand_in_a_variant_is_not_tested(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    english, _ = pair(team)
    found = preview(project=team.project, source=english, stage=STAGE)
    assert found.people == [team.annotators[5]]
    make_gold(team, english)
    make_item(team, STAGE)
    certain(monkeypatch, team)
    for person, gold in ((team.annotators[4], False), (team.annotators[5], True)):
        claim = claim_next(actor=person, project=team.project, stage=STAGE)
        assert claim is not None
        assert GoldItem.objects.filter(dialogue=claim.slot.dialogue_id).exists() is gold
        release(actor=person, token=claim.token)


INVOLVED = {
    "owns it": lambda dialogue, person: Dialogue.objects.filter(pk=dialogue.pk).update(owner=person),
    "wrote a revision": lambda dialogue, person: Revision.objects.create(
        dialogue=dialogue, author=person, number=9, parent=dialogue.head, content=dialogue.head.content,
        toolset_revision=dialogue.head.toolset_revision, content_hash=dialogue.head.content_hash,
    ),
    "commented": lambda dialogue, person: Comment.objects.create(dialogue=dialogue, author=person, text="Why?"),
    "got a notice": lambda dialogue, person: Notice.objects.create(
        project=dialogue.project, dialogue=dialogue, person=person, kind="reply", message=Message("Why?")
    ),
    "had it replayed": lambda dialogue, person: Replay.objects.create(
        project=dialogue.project, dialogue=dialogue, requester=person, revision=dialogue.head,
        job=Job.objects.create(project=dialogue.project, kind="replay"),
    ),
    "had an item of it": lambda dialogue, person: Claim.objects.create(
        project=dialogue.project, slot=Slot.objects.filter(dialogue=dialogue)[0], person=person, state="released",
        stage=STAGE, lease=timedelta(hours=1), ended_at=timezone.now(),
        **dict.fromkeys(["created_at", "heartbeat_at", "expires_at"], timezone.now()),
    ),
    "oversaw the project": lambda dialogue, person: grant_role(
        actor=dialogue.project.memberships.get(role="administrator").user,
        project=dialogue.project, user=person, role=Role.SENIOR_REVIEWER,
    ),
}  # fmt: skip


@pytest.mark.parametrize("which", [0, 1], ids=["source", "variant"])
@pytest.mark.parametrize("how", INVOLVED)
def test_a_person_who_was_involved_gets_no_item_of_it(team: Team, how: str, which: int) -> None:
    both, person = pair(team), team.annotators[5]
    item = make_gold(team, both[0])
    find = partial(items_for, actor=person, project_id=team.project.pk, stage=STAGE)
    assert (item.pk, 0) in find()
    assert person.pk not in involved(item.source)
    INVOLVED[how](both[which], person)
    assert find() == []
    item.source.refresh_from_db()
    assert person.pk in involved(item.source)


def test_a_variant_under_way_or_in_use_bars_the_other(team: Team) -> None:
    english, chinese = pair(team)
    under_way = make_item(team, STAGE)
    Dialogue.objects.filter(pk=under_way.pk).update(variant_group="talk-1")
    with pytest.raises(Conflict, match=r"The variant .+ isn’t verified"):
        make_gold(team, english)
    Dialogue.objects.filter(pk=under_way.pk).update(variant_group="")
    make_gold(team, english)
    with pytest.raises(Conflict, match="already part of a gold item"):
        make_gold_item(actor=team.administrator, project=team.project, source=chinese, stage=STAGE)


def test_what_a_variant_bars_is_not_offered(team: Team, client: Client) -> None:
    english, chinese = pair(team)
    alone, shown = verified(team), verified(team)
    Example.objects.create(
        project=team.project, dialogue=shown, revision=shown.head, comment="So.", author=team.administrator
    )

    def offered() -> set[Dialogue]:
        found = set(suggest(project=team.project, stage=STAGE))
        for one in found:
            preview(project=team.project, source=one, stage=STAGE)
        return found

    assert offered() == {english, alone}
    Dialogue.objects.filter(pk=chinese.pk).update(archived_at=timezone.now())
    assert offered() == {english, alone}
    Dialogue.objects.filter(pk=chinese.pk).update(archived_at=None)
    supersede_cycle(actor=team.administrator, dialogue=chinese, reason="An erratum.")
    assert offered() == {alone}
    client.force_login(team.administrator)
    base = f"/p/{team.project.slug}/gold/new/"
    assert client.get(f"{base}?dialogue={english.external_id}").status_code == 422
    page = client.get(base).content.decode()
    assert (alone.external_id in page, english.external_id in page) == (True, False)


def test_what_began_under_another_protocol_is_not_offered(team: Team) -> None:
    """It is refused, too: a gold item would show its first cycle."""
    before = verified(team)
    protocol = current_protocol(team.project)
    assert protocol is not None
    stages = [one.model_copy(update={"title": "Second look"}) if one.key == STAGE else one for one in protocol.stages]
    changed_stage = protocol.model_copy(update={"stages": tuple(stages)})
    adopt_protocol(actor=team.administrator, project=team.project, protocol=changed_stage)
    assert suggest(project=team.project, stage=STAGE) == []
    supersede_cycle(actor=team.administrator, dialogue=before, reason="An erratum.")
    for _ in range(2):
        claim_and_submit(team.annotator, before)
    for person in team.annotators[3:5]:
        claim_and_submit(person, before, "fix", document=changed(current(before), "Twice mended."))
    since = verified(team)
    with pytest.raises(Conflict, match="under a different protocol version"):
        preview(project=team.project, source=Dialogue.objects.get(pk=before.pk), stage=STAGE)
    assert suggest(project=team.project, stage=STAGE) == [since]


def test_an_item_is_retired_when_a_variant_is_worked_on_again(team: Team) -> None:
    english, chinese = pair(team)
    make_gold(team, english)
    supersede_cycle(actor=team.administrator, dialogue=chinese, reason="An erratum.")
    assert not GoldItem.objects.filter(retired_at=None)
    assert set(
        Dialogue.objects.filter(variant_group="talk-1", archived_at=None).values_list("gold_role", flat=True)
    ) == {""}


def test_an_item_is_retired_when_another_variant_comes_in(team: Team) -> None:
    english, _ = pair(team)
    make_gold(team, english)
    job = Job.objects.create(
        project=team.project, requester=team.administrator, kind="import", state="done", ended_at=timezone.now(),
        checkpoint={},
    )  # fmt: skip
    make_dialogue(team.project, batch=job, published=False, variant_group="talk-2")
    publish_batch(job=job)
    assert GoldItem.objects.filter(retired_at=None).count() == 2
    make_dialogue(team.project, batch=job, published=False, variant_group="talk-1")
    publish_batch(job=job)
    assert all("variant" in item.retired_why for item in GoldItem.objects.all())


def test_answers_out_of_step_are_released_no_more_than_others(team: Team) -> None:
    english, chinese = pair(team)
    before = out_of_step(project=team.project, dialogues=[english, chinese])
    make_gold(team, english)
    assert out_of_step(project=team.project, dialogues=[english, chinese]) == before == {english.pk, chinese.pk}
