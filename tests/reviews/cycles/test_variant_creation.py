"""A variant is a copy to translate; it is reviewed, and what is stale in either variant is shown."""

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotator.errors import Conflict, Denied, Invalid
from annotator.models import Dialogue, Revision, VariantMatch
from annotator.models.content import DialogueStatus
from annotator.services.dialogues.revisions import lock_dialogue, revise
from annotator.services.dialogues.variant_comparison import UNTRANSLATED, compare_with_variant, variant_findings
from annotator.services.dialogues.variants import match_variants, variants_of
from annotator.services.history.events import broken_links
from reviews.models import Slot
from reviews.services.variant_creation import make_variant, variant_languages
from tests.api_client import ApiClient, refusal
from tests.factories import Team, adopt_c3, begin, make_dialogue, make_document

pytestmark = pytest.mark.django_db


@pytest.fixture
def source(team: Team) -> Dialogue:
    adopt_c3(team)
    dialogue = make_dialogue(team.project, make_document("east"), external_id="trip", language="en")
    begin(team.project, [dialogue])
    return current(dialogue)


def current(dialogue: Dialogue) -> Dialogue:
    return Dialogue.objects.select_related("head", "project").get(pk=dialogue.pk)


def edit(team: Team, dialogue: Dialogue, **texts: str) -> Dialogue:
    with transaction.atomic():
        locked = lock_dialogue(dialogue.pk)
        assert locked.head is not None
        document = locked.head.document()
        document["tasks"][0].update({key: text for key, text in texts.items() if key != "text"})
        document["tasks"][0]["steps"][-1].update({key: text for key, text in texts.items() if key == "text"})
        revise(actor=team.annotator, dialogue=locked, seen=locked.head, document=document, message="Edited")
    return current(dialogue)


def stale(team: Team, one: Dialogue, other: Dialogue) -> list[tuple[int, str]]:
    found = compare_with_variant(actor=team.annotator, dialogue=current(one), other=other.public_id)
    return [(mark.side, mark.place) for mark in found.stale]


def test_a_variant_is_a_copy_in_review(team: Team, source: Dialogue) -> None:
    made = make_variant(actor=team.administrator, dialogue=source, language="zh")
    source = current(source)
    assert (made.external_id, made.language, made.variant_group) == ("trip-zh", "zh", "trip")
    assert (made.status, made.stage, source.variant_group) == (DialogueStatus.IN_REVIEW, source.stage, "trip")
    assert made.head is not None
    assert source.head is not None
    assert made.head.document() == source.head.document() | {"language": "zh"}
    assert Slot.objects.filter(dialogue=made).exists()
    assert [broken_links(one) for one in (made, source)] == [[], []]
    assert VariantMatch.objects.get().second_id == made.head_id
    assert variant_languages(source) == variant_languages(made) == []


def test_a_copy_agrees_only_when_it_is_translated_and_compared(team: Team, source: Dialogue) -> None:
    made = current(make_variant(actor=team.administrator, dialogue=source, language="zh"))
    (variant,) = variants_of(actor=team.annotator, dialogue=made)
    assert (variant.why, variant.shared) == (
        "The language variant trip-zh is still a copy. Translate its texts first.",
        True,
    )
    found = [
        one.anchor for one in variant_findings(actor=team.annotator, dialogue=made) if one.check_id == UNTRANSLATED
    ]
    assert "/tasks/t1/user_message" in found
    assert "/tasks/t1/steps/s1/text" in found
    only = [one.check_id for one in variant_findings(actor=team.annotator, dialogue=current(source))]
    assert UNTRANSLATED not in only
    heads = current(source).head, made.head
    seen = (heads[0].public_id, heads[1].public_id)  # type: ignore[union-attr]
    with pytest.raises(Invalid, match="still a copy"):
        match_variants(actor=team.senior, dialogue=current(source), other=made.public_id, seen=seen)
    # Translating makes nothing stale in the source; a change of the source does in the variant.
    made = edit(team, made, user_message="根特天气如何？")
    assert stale(team, source, made) == []
    source = edit(team, source, text="It is cloudy.")
    assert stale(team, source, made) == [(1, "/tasks/t1/steps/s1/text")]
    assert stale(team, made, source) == [(0, "/tasks/t1/steps/s1/text")]
    made = edit(team, made, text="多云。")
    assert stale(team, source, made) == []
    heads = current(source).head, current(made).head
    seen = (heads[0].public_id, heads[1].public_id)  # type: ignore[union-attr]
    match_variants(actor=team.senior, dialogue=current(source), other=made.public_id, seen=seen)
    source = edit(team, source, text="It is sunny.")
    assert stale(team, source, made) == [(1, "/tasks/t1/steps/s1/text")]
    assert [one.why for one in variants_of(actor=team.annotator, dialogue=made)] != [""]


def test_a_change_after_its_translation_is_stale(team: Team, source: Dialogue) -> None:
    made = current(make_variant(actor=team.administrator, dialogue=source, language="zh"))
    made = edit(team, made, user_message="根特天气如何？")
    source = edit(team, source, user_message="What will the weather be?")
    assert stale(team, source, made) == [(1, "/tasks/t1/user_message")]
    made = edit(team, made, user_message="天气会怎样？")
    assert stale(team, source, made) == []


def test_a_group_of_others_is_not_joined(team: Team, source: Dialogue) -> None:
    stranger = make_dialogue(team.project, external_id="other", variant_group="trip", language="zh")
    made = make_variant(actor=team.administrator, dialogue=source, language="zh")
    assert (current(source).variant_group, made.variant_group) == ("trip-2", "trip-2")
    assert [one.dialogue.pk for one in variants_of(actor=team.annotator, dialogue=current(source))] == [made.pk]
    assert current(stranger).variant_group == "trip"


def test_a_copy_of_a_rejected_dialogue_is_still_a_copy(team: Team, source: Dialogue) -> None:
    made = make_variant(actor=team.administrator, dialogue=source, language="zh")
    for rejected, held in ((source, True), (made, False)):
        Dialogue.objects.filter(pk__in=[source.pk, made.pk]).update(status=DialogueStatus.IN_REVIEW)
        Dialogue.objects.filter(pk=rejected.pk).update(status=DialogueStatus.REJECTED)
        (variant,) = variants_of(actor=team.annotator, dialogue=current(made))
        assert ("still a copy" in variant.why) is held


def test_what_cannot_be_made(team: Team, source: Dialogue) -> None:
    def make(actor: object, language: str, dialogue: Dialogue = source) -> Dialogue:
        return make_variant(actor=actor, dialogue=dialogue, language=language)  # type: ignore[arg-type]

    for person in (team.annotator, team.senior):
        with pytest.raises(Denied):
            make(person, "zh")
    with pytest.raises(Invalid, match="Choose a language: en, zh"):
        make(team.administrator, "de")
    with pytest.raises(Conflict, match="already has a variant in this language"):
        make(team.administrator, "en")
    taken = make_dialogue(team.project, external_id="trip-zh")
    with pytest.raises(Conflict, match="already has a dialogue with the id “trip-zh”"):
        make(team.administrator, "zh")
    assert current(source).variant_group == ""
    assert taken.variant_group == ""
    for change, sentence in (
        ({"status": DialogueStatus.REJECTED}, "is rejected"),
        ({"status": DialogueStatus.VERIFIED, "archived_at": timezone.now()}, "is archived"),
    ):
        Dialogue.objects.filter(pk=source.pk).update(**change)
        with pytest.raises(Conflict, match=sentence):
            make(team.administrator, "zh", current(source))
    Dialogue.objects.filter(pk=source.pk).update(gold_role="gold", archived_at=None)
    with pytest.raises(Conflict, match="is a gold item"):
        make(team.administrator, "zh", current(source))
    assert Revision.objects.filter(dialogue__project=team.project).count() == 2


def test_the_page_shows_both_and_what_is_stale(team: Team, source: Dialogue, client: Client) -> None:
    client.force_login(team.administrator)
    page = reverse("dialogue", args=[team.project.slug, source.public_id])
    assert "Make a variant in Chinese" in client.get(page).content.decode()
    answer = client.post(f"{page}variants/", {"language": "zh"}, follow=True)
    made = Dialogue.objects.get(external_id="trip-zh")
    assert "Not translated yet" in answer.content.decode()
    edit(team, made, user_message="根特天气如何？", text="晴。")
    edit(team, source, user_message="What will the weather be?")
    url = reverse("variant", args=[team.project.slug, source.public_id, made.public_id])
    assert answer.redirect_chain[-1][0] == url
    client.force_login(team.annotator)
    shown = client.get(url).content.decode()
    assert "What will the weather be?" in shown
    assert '<button class="primary">Mark as matching</button>' not in shown
    edit(team, source, text="It rains.")
    client.force_login(team.senior)
    shown = client.get(url).content.decode()
    assert '<button class="primary">Mark as matching</button>' in shown
    # A page of a dialogue that is no variant of it does not exist.
    alone = make_dialogue(team.project)
    assert client.get(url.replace(made.public_id, alone.public_id)).status_code == 404


def test_a_program_makes_a_variant(team: Team, source: Dialogue) -> None:
    path = f"/api/projects/{team.project.slug}/dialogues/{source.public_id}/variants/new/"
    made = ApiClient(team.administrator).send(path, {"language": "zh"})
    assert (made.status_code, made.json()["external_id"]) == (201, "trip-zh")
    assert refusal(ApiClient(team.administrator).send(path, {"language": "zh"})) == (409, "conflict")
    assert refusal(ApiClient(team.annotator).send(path, {"language": "zh"})) == (403, "denied")


def test_the_page_marks_the_stale_place_and_says_what_changed(team: Team, client: Client) -> None:
    english = make_dialogue(team.project, make_document("east"), external_id="a", variant_group="a", language="en")
    chinese = make_dialogue(
        team.project, make_document("根特") | {"language": "zh"}, external_id="b", variant_group="a", language="zh"
    )
    edit(team, english, text="It is cloudy and cold.")
    client.force_login(team.annotator)
    shown = client.get(reverse("variant", args=[team.project.slug, english.public_id, chinese.public_id]))
    (stale_place,) = shown.context["stale"]
    assert (stale_place[0].sentence, stale_place[0].after) == ("Task 1, answer s1, text", "It is cloudy and cold.")
    assert stale_place[1] == chinese
    marked = [line for group in shown.context["view"].groups for line in group.lines if any(line.stale)]
    assert [(line.key, line.stale) for line in marked] == [(stale_place[0].key, [False, True])]
