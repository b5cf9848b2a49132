"""Language variants: what they share is compared, and a change of words in one is looked at before a release."""

import copy
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse

from annotator.core.comparison.variants import shared_difference
from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Dialogue, VariantMatch
from annotator.services.dialogues.revisions import lock_dialogue, revise
from annotator.services.dialogues.variant_comparison import CHECK
from annotator.services.dialogues.variants import match_variants, variants_of
from annotator.services.history.events import broken_links
from tests.annotator.case_documents import case
from tests.factories import Team, make_dialogue, make_document

pytestmark = pytest.mark.django_db

Pair = tuple[Dialogue, Dialogue]


@pytest.fixture
def pair(team: Team) -> Pair:
    chinese = make_document("北京") | {"language": "zh"}
    return (
        make_dialogue(team.project, make_document("Beijing"), external_id="one", variant_group="one"),
        make_dialogue(team.project, chinese, external_id="one:zh", variant_group="one"),
    )


def edit(team: Team, dialogue: Dialogue, change: Any) -> Dialogue:
    with transaction.atomic():
        locked = lock_dialogue(dialogue.pk)
        assert locked.head is not None
        document = copy.deepcopy(locked.head.document())
        change(document)
        revise(actor=team.annotator, dialogue=locked, seen=locked.head, document=document, message="Mended")
    return Dialogue.objects.select_related("head", "project").get(pk=dialogue.pk)


def say_the_same(team: Team, pair: Pair, actor: Any = None) -> VariantMatch:
    one, other = (Dialogue.objects.select_related("head", "project").get(pk=each.pk) for each in pair)
    assert one.head is not None
    assert other.head is not None
    seen = (one.head.public_id, other.head.public_id)
    return match_variants(actor=actor or team.senior, dialogue=one, other=other.public_id, seen=seen)


def whys(team: Team, pair: Pair) -> list[str]:
    return [variant.why for one in pair for variant in variants_of(actor=team.annotator, dialogue=one)]


def call(document: dict[str, Any]) -> dict[str, Any]:
    return next(step for step in document["tasks"][0]["steps"] if step["type"] == "call")


def first_argument(document: dict[str, Any]) -> tuple[dict[str, Any], str]:
    arguments = call(document)["arguments"]
    return arguments, next(key for key, value in arguments.items() if isinstance(value, str))


def other_argument(document: dict[str, Any]) -> None:
    arguments, key = first_argument(document)
    arguments[key] = "Bruges"


def other_message(document: dict[str, Any]) -> None:
    document["tasks"][0]["user_message"] += " Please."


@pytest.mark.parametrize("change", [other_argument, other_message])
def test_changed_words_mark_the_other_variant_until_somebody_has_compared_them(
    team: Team, pair: Pair, change: Any
) -> None:
    assert whys(team, pair) == ["", ""]
    edit(team, pair[0], change)
    mine, theirs = whys(team, pair)
    assert "This dialogue has changed since it was last compared" in mine
    assert "The language variant one has changed since the two were last compared" in theirs
    with pytest.raises(Denied):
        say_the_same(team, pair, team.annotator)
    match = say_the_same(team, pair)
    assert match.author == team.senior
    assert say_the_same(team, pair).pk == match.pk
    assert whys(team, pair) == ["", ""]
    assert [one.events.filter(kind="dialogue.variant_matched").count() for one in pair] == [1, 1]
    assert [broken_links(one) for one in pair] == [[], []]
    # The next change in either of the two asks again; an answer that fits again is valid again.
    changed = edit(team, pair[1], other_message)
    assert all(whys(team, pair))
    edit(team, changed, lambda document: document["tasks"][0].update(user_message=_before(document)))
    assert whys(team, pair) == ["", ""]


def _before(document: dict[str, Any]) -> str:
    return str(document["tasks"][0]["user_message"]).removesuffix(" Please.")


def test_what_variants_share_is_edited_not_waved_through(team: Team, pair: Pair) -> None:
    edit(team, pair[0], lambda document: call(document)["arguments"].update(days=3))
    assert all("the arguments of step 1 of task 1" in why for why in whys(team, pair))
    with pytest.raises(Invalid, match="differ in a part that they must share: the arguments of step 1 of task 1"):
        say_the_same(team, pair)
    edit(team, pair[1], lambda document: call(document)["arguments"].update(days=3))
    say_the_same(team, pair)
    assert whys(team, pair) == ["", ""]


def test_a_word_about_versions_that_have_moved_on_is_refused(team: Team, pair: Pair) -> None:
    one, other = pair
    assert one.head is not None
    assert other.head is not None
    seen = (one.head.public_id, other.head.public_id)
    edit(team, other, other_message)
    with pytest.raises(Conflict, match="has changed since you looked"):
        match_variants(actor=team.senior, dialogue=one, other=other.public_id, seen=seen)
    alone = make_dialogue(team.project)
    with pytest.raises(Hidden):
        match_variants(actor=team.senior, dialogue=one, other=alone.public_id, seen=seen)


def test_the_api_has_a_variant_out_of_step_among_the_findings(team: Team, pair: Pair) -> None:
    def found(one: Dialogue) -> list[tuple[str, str, str]]:
        client = Client()
        client.force_login(team.annotator)
        sent = client.get(f"/api/projects/{team.project.slug}/dialogues/{one.public_id}/").json()["findings"]
        return [(each["check"], each["anchor"], each["message"]) for each in sent if each["check"] == CHECK]

    assert [found(one) for one in pair] == [[], []]
    edit(team, pair[0], other_message)
    mine, theirs = whys(team, pair)
    assert [found(one) for one in pair] == [[(CHECK, "", mine)], [(CHECK, "", theirs)]]
    say_the_same(team, pair)
    assert [found(one) for one in pair] == [[], []]


def test_the_list_tells_overseers_which_are_not_in_step(team: Team, pair: Pair) -> None:
    client, url = Client(), reverse("dialogue-list", args=[team.project.slug])
    counts = []
    for change in (None, other_message):
        if change:
            edit(team, pair[1], change)
        for person in (team.administrator, team.senior, team.annotator):
            client.force_login(person)
            counts.append(client.get(url).content.decode().count("Variants out of sync"))
    assert counts == [0, 0, 0, 2, 2, 0]


def test_the_page_says_what_has_changed_and_takes_the_word_of_a_senior_reviewer(team: Team, pair: Pair) -> None:
    edit(team, pair[0], other_argument)
    url = reverse("dialogue", args=[team.project.slug, pair[1].public_id])
    client = Client()
    for person, offered in ((team.annotator, False), (team.senior, True)):
        client.force_login(person)
        page = client.get(url).content.decode()
        assert "The language variant one has changed since the two were last compared" in page
        assert ("<button>Mark as matching</button>" in page) is offered
    fields = {"variant": pair[0].public_id}
    for name in ("revision", "variant_revision"):
        fields[name] = page.partition(f'name="{name}" value="')[2].partition('"')[0]
    assert client.post(f"{url}variant/", fields).status_code == 302
    assert "<button>Mark as matching</button>" not in client.get(url).content.decode()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d["context"].append({"role": "user", "content": "Hi"}), "the dialogue so far"),
        (lambda d: d["tasks"][0].update(policy="chat"), "the policy of task 1"),
        (lambda d: d["tasks"][0].update(information="partial_information"), "the information label of task 1"),
        (lambda d: call(d).update(name="another_tool"), "the steps of task 1"),
        (lambda d: d["tasks"][0]["steps"][-1].update(depends_on=[]), "the dependencies of step 2 of task 1"),
        (lambda d: d["tasks"].append(copy.deepcopy(d["tasks"][0])), "the number of tasks"),
        (lambda d: call(d)["arguments"].pop(first_argument(d)[1]), "the arguments of step 1 of task 1"),
        (lambda d: call(d)["observation"].update(degrees=19), "the observation of step 1 of task 1"),
    ],
)
def test_all_that_is_no_word_is_shared(change: Any, words: str) -> None:
    one, other = make_document("Ghent"), make_document("根特") | {"language": "zh"}
    assert shared_difference(one, other) == ""
    change(other)
    assert shared_difference(one, other) == words
    assert shared_difference(other, one) == words


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d.update(scenario="single_hop"), "scenario"),
        (lambda d: d["constraints"][0].update(category="interaction rounds"), "constraints"),
        (lambda d: d["constraints"][1]["parameters"]["order_constraints"][0].reverse(), "constraints"),
        (lambda d: d["constraints"][0]["variants"][0].update(first=["read_timetable"]), "constraints"),
        (lambda d: d["constraints"][4]["validator"].update(form="ends_with"), "constraints"),
        (lambda d: d["reference_trajectory"][0]["calls"][0].update(name="read_timetable"), "reference trajectory"),
    ],
)
def test_labels_and_tools_of_a_case_are_shared(change: Any, words: str) -> None:
    one = case()
    other = case(user_query="Wann fährt das letzte Boot?", answer="Um 21:40.")
    for document, text in ((one, "Best regards"), (other, "Mit freundlichen Grüßen")):
        document["constraints"][0]["variants"] = [{"first": ["find_ferry"], "parameters": {"max_callTimes": 3}}]
        document["constraints"][4]["validator"] |= {"code": None, "form": "contains", "parameters": {"texts": [text]}}
    other["unsolved_set"]["find_ferry"] = ["Möwe"]
    other["reference_trajectory"][0]["calls"][0]["arguments"] = {"harbour": "Nordhafen"}
    assert shared_difference(one, other) == ""
    change(other)
    assert shared_difference(one, other) == words


def test_ids_of_steps_are_each_variants_own() -> None:
    one, other = make_document("Ghent"), make_document("Ghent")
    names = {step["id"]: f"other-{step['id']}" for step in other["tasks"][0]["steps"]}
    for step in other["tasks"][0]["steps"]:
        step["id"] = names[step["id"]]
        for need in step["depends_on"] or ():
            need["id"] = names[need["id"]]
    assert shared_difference(one, other) == ""


@pytest.mark.parametrize(("mine", "theirs"), [(40, 40.0), (1, True), (0.0, -0.0), ([0], [False])])
def test_values_of_another_kind_are_not_shared(mine: Any, theirs: Any) -> None:
    one, other = make_document("Ghent"), make_document("根特") | {"language": "zh"}
    call(one)["arguments"]["count"], call(other)["arguments"]["count"] = mine, theirs
    assert shared_difference(one, other) == "the arguments of step 1 of task 1"
    call(other)["arguments"]["count"] = mine
    assert shared_difference(one, other) == ""
