"""Gold-standard examples: who marks them, which ones fit, what is shown beside the item."""

import pytest
from django.test import Client
from django.urls import reverse

from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Dialogue, Event
from annotator.models.content import GoldRole
from annotator.services.history.events import broken_links
from reviews.models import Claim, Example
from reviews.services.feedback.examples import (
    MAX_COMMENT,
    fitting_examples,
    load_example,
    mark_example,
    visible_examples,
    withdraw_example,
)
from reviews.services.queue.claims import claim_slot
from reviews.services.sampling.draws import close_population_and_draw
from tests.factories import (
    Team,
    adopt_c3,
    changed,
    claim_and_submit,
    current,
    make_document,
    make_item,
    make_team,
    open_slot,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def team() -> Team:
    team = make_team(seniors=2)
    adopt_c3(team, audit_fraction=0.0)
    return team


def verified(team: Team, name: str, *, tasks: int = 1) -> Dialogue:
    item = make_item(team, "cross_check", make_document(name, tasks=tasks))
    for person in team.annotators[1:]:
        claim_and_submit(person, item, "approve")
    close_population_and_draw(actor=team.administrator, project=team.project)
    item.refresh_from_db()
    assert item.status == "verified"
    return item


def mark(team: Team, item: Dialogue, **more: object) -> Example:
    options = {"comment": "Every value has its source."} | more
    return mark_example(actor=team.senior, project=team.project, dialogue=item, **options)  # type: ignore[arg-type]


def test_a_senior_reviewer_marks_what_was_verified(team: Team) -> None:
    item = verified(team, "x", tasks=2)
    example = mark(team, item, task="t2", stages=["cross_check"], policies=["chat"])
    assert (example.revision, example.task, example.stages, example.policies) == (
        item.head, "t2", ["cross_check"], ["chat"],
    )  # fmt: skip
    event = Event.objects.get(dialogue=item, kind="example.marked")
    assert event.after["task"] == "t2"
    assert broken_links(item) == []
    assert mark_example(actor=team.administrator, project=team.project, dialogue=item, comment="All of it.").task == ""


def test_who_may_not_and_what_cannot_be_marked(team: Team) -> None:
    item = verified(team, "x")
    with pytest.raises(Denied, match="senior reviewer"):
        mark_example(actor=team.annotator, project=team.project, dialogue=item, comment="Look.")
    with pytest.raises(Hidden):
        mark_example(actor=team.outsider, project=team.project, dialogue=item, comment="Look.")
    for given, words in (
        ({"comment": "  "}, "Enter what the example shows"),
        ({"comment": "x" * 4001}, "at most 4,000"),
        ({"stages": ["nowhere"]}, "no stage “nowhere”"),
        ({"policies": ["magic"]}, "no policy “magic”"),
        ({"task": "t9"}, "no such task"),
    ):
        with pytest.raises(Invalid, match=words):
            mark(team, item, **given)
    with pytest.raises(Conflict, match="isn’t verified yet"):
        mark(team, make_item(team, "cross_check"))
    example = mark(team, item)
    assert mark(team, item) == example
    with pytest.raises(Conflict, match="already an example"):
        mark(team, item, comment="Something else.")
    item.gold_role = GoldRole.ANSWER
    item.save(update_fields=["gold_role"])
    with pytest.raises(Conflict, match="tests reviewers"):
        mark(team, item, task="t1")


def test_withdrawn_examples_stay_on_record_and_are_shown_to_nobody(team: Team) -> None:
    example = mark(team, verified(team, "x"))
    with pytest.raises(Denied):
        withdraw_example(actor=team.annotator, project=team.project, public_id=example.public_id)
    withdraw_example(actor=team.administrator, project=team.project, public_id=example.public_id)
    assert not visible_examples(actor=team.annotator, project=team.project)
    kept = load_example(actor=team.annotator, project=team.project, public_id=example.public_id)
    assert kept.withdrawn_by == team.administrator
    again = withdraw_example(actor=team.administrator, project=team.project, public_id=example.public_id)
    assert again.withdrawn_at == kept.withdrawn_at
    assert again.dialogue.events.filter(kind="example.withdrawn").count() == 1
    mark(team, Dialogue.objects.get(pk=example.dialogue_id))  # its place is free again


def test_those_of_the_stage_with_the_same_policy_come_first_and_never_the_item_itself(team: Team) -> None:
    one, two, three, four, five = (verified(team, name) for name in "abcde")
    mark(team, one, policies=["chat"])
    mark(team, two)
    mark(team, three, policies=["single_tool", "chat"], stages=["cross_check"])
    mark(team, four, stages=["expert"])
    mark(team, five)

    def fitting(stage: str, *policies: str) -> list[Dialogue]:
        found = fitting_examples(
            actor=team.annotator, project=team.project, stage=stage, policies=policies, without=five
        )
        return [example.dialogue for example in found]

    assert fitting("cross_check", "single_tool") == [three, two, one]
    assert fitting("self_check_single", "clarify") == [two, one]
    assert fitting("expert", "chat") == [one, four, two]


def test_the_panel_opens_beside_the_item_and_the_draft_stays(client: Client, team: Team) -> None:
    example = mark(team, verified(team, "shown", tasks=2), task="t1", policies=["single_tool"])
    item = make_item(team, "self_check_single")
    slot = open_slot(item)
    claim_slot(actor=team.annotator, slot=slot)
    client.force_login(team.annotator)
    work = reverse("workspace", args=[slot.public_id])
    client.post(reverse("workspace-edit", args=[slot.public_id]),
                {"op": "set", "anchor": "/tasks/t1/user_message", "value": "Mine."})  # fmt: skip
    page = client.get(f"{work}?panel=examples").content.decode()
    assert "Every value has its source." in page
    assert "Same policy" in page
    assert reverse("example", args=[team.project.slug, example.public_id]) in page
    opened = client.get(f"{work}?panel=examples&example={example.public_id}").content.decode()
    assert "What is the weather like in Ghent shown?" in opened
    assert "Thank you, that is good news." not in opened  # the other task
    assert "Mine." in opened
    assert Claim.objects.get(slot=slot, state="live").person == team.annotator


def test_a_later_correction_does_not_change_what_people_were_shown(client: Client, team: Team) -> None:
    from reviews.services.cycles.start import begin_cycles

    item = verified(team, "x")
    example = mark(team, item)
    begin_cycles(actor=None, project=team.project, dialogues=[item], hidden=False)
    claim_and_submit(team.annotator, item, "fix", document=changed(current(item)))
    client.force_login(team.annotators[1])
    url = reverse("example", args=[team.project.slug, example.public_id])
    text = client.get(url).content.decode()
    assert "It is clear and 18 degrees in Ghent x." in text
    assert "It is sunny" not in text


def test_pages_mark_list_and_withdraw(client: Client, team: Team, django_assert_max_num_queries: object) -> None:
    item = verified(team, "x")
    client.force_login(team.senior)
    url = reverse("example-mark", args=[team.project.slug, item.public_id])
    assert f'href="{url}"' in client.get(item.get_absolute_url()).content.decode()
    assert client.get(url).status_code == 200
    assert client.post(url, {"comment": ""}).status_code == 422
    # Browsers send two characters for a line break.
    comment = "Look at s0.\n" + "x" * (MAX_COMMENT - 12)
    sent = {"comment": comment.replace("\n", "\r\n"), "task": "t1", "stage": ["expert"], "policy": ["chat"]}
    answer = client.post(url, sent)
    example = Example.objects.get()
    assert example.comment == comment
    assert answer["Location"] == reverse("example", args=[team.project.slug, example.public_id])
    listing = reverse("example-list", args=[team.project.slug])
    assert "Look at s0." in client.get(listing).content.decode()
    assert "Look at s0." not in client.get(listing, {"stage": "cross_check"}).content.decode()
    assert client.post(reverse("example-withdraw", args=[team.project.slug, example.public_id])).status_code == 302
    assert "Look at s0." not in client.get(listing).content.decode()


def test_the_list_asks_as_often_for_ten_as_for_one(client: Client, team: Team, django_assert_num_queries) -> None:
    client.force_login(team.annotator)
    listing = reverse("example-list", args=[team.project.slug])
    mark(team, verified(team, "a"))
    client.get(listing)
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as one:
        client.get(listing)
    for name in "bcd":
        mark(team, verified(team, name))
    with django_assert_num_queries(len(one)):
        client.get(listing)
