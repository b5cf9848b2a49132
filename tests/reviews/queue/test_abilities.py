"""Languages and skills of people restrict what they are given."""

import pytest
from django.test import Client

from annotator.core.abilities import ANYTHING, Abilities, required_skills
from annotator.errors import Conflict, Denied, Invalid
from annotator.models import Dialogue, Event, MemberAbilities, Role
from annotator.services.abilities import abilities_of, set_abilities
from annotator.services.dialogues.tags import set_tags
from reviews.models import AssignmentPlan
from reviews.services.queue.claims import claim_next, claim_slot, release
from reviews.services.queue.progress import read_my_work
from tests.factories import Team, give_role, make_item, open_slot
from tests.pages import one_line
from tests.reviews.gold.gold_team import always, gold_team, make_gold

pytestmark = pytest.mark.django_db

TEAM = {"annotators": 4}


def test_a_dialogue_is_for_those_who_have_its_language_and_all_its_skills() -> None:
    chinese = Abilities(languages=frozenset({"zh"}))
    assert [chinese.lacks_language(one) for one in ("zh", "en", "")] == [False, True, False]
    assert [ANYTHING.lacks_language(one) for one in ("zh", "")] == [False, False]
    assert required_skills(["hard", "skill-law", "skill-", "skills-x"]) == {"law"}
    lawyer = Abilities(skills=frozenset({"law"}))
    assert lawyer.missing_skills(["skill-law", "skill-rail", "hard"]) == ["rail"]
    assert ANYTHING.missing_skills(["skill-law"]) == []
    assert (ANYTHING.restrict, lawyer.restrict, chinese.restrict) == (False, True, True)


def test_people_get_what_fits(team: Team) -> None:
    person, project, admin = team.annotators[1], team.project, team.administrator
    items = {name: make_item(team, "cross_check") for name in ("english", "chinese", "none", "law")}
    Dialogue.objects.update(language="")
    Dialogue.objects.filter(pk=items["english"].pk).update(language="en")
    Dialogue.objects.filter(pk=items["chinese"].pk).update(language="zh")
    set_tags(actor=admin, dialogue=items["law"], tags=["skill-law", "hard"])

    def given() -> set[str]:
        total, taken = read_my_work(actor=person, project=project).total, []
        while (claim := claim_next(actor=person, project=project)) is not None:
            taken.append(claim)
            claim.slot.holder = None
            type(claim.slot).objects.filter(pk=claim.slot_id).update(state="cancelled", holder=None)
            type(claim).objects.filter(pk=claim.pk).update(state="withdrawn", ended_at=claim.created_at)
        names = {name for name, item in items.items() if item.pk in {claim.slot.dialogue_id for claim in taken}}
        for claim in taken:
            type(claim.slot).objects.filter(pk=claim.slot_id).update(state="open")
            claim.delete()
        assert total == len(names)
        return names

    assert given() == set(items)
    for languages, skills, names in (
        (["zh"], [], {"chinese", "none", "law"}),
        (["en"], [], {"english", "none", "law"}),
        (["en", "zh"], ["rail"], {"english", "chinese", "none"}),
        ([], ["law", "rail"], set(items)),
        (["zh"], ["rail"], {"chinese", "none"}),
    ):
        set_abilities(actor=admin, project=project, user=person, languages=languages, skills=skills)
        assert given() == names
    with pytest.raises(Denied, match="This dialogue is in English"):
        claim_slot(actor=person, slot=open_slot(items["english"]))
    with pytest.raises(Denied, match="needs a skill that isn’t set") as refused:
        claim_slot(actor=person, slot=open_slot(items["law"]))
    assert "law" not in refused.value.sentence
    # What is assigned to a person or claimed by them stays theirs.
    slot = open_slot(items["english"])
    slot.reserved_for = person
    slot.save()
    claim = claim_slot(actor=person, slot=slot)
    release(actor=person, token=claim.token)
    assert given() == {"chinese", "none", "english"}


def test_setting_them_is_recorded_and_checked(team: Team) -> None:
    person, project, admin = team.annotators[1], team.project, team.administrator
    for _ in range(2):
        found = set_abilities(actor=admin, project=project, user=person, languages=["zh"], skills=["Law ", "law"])
        assert (found.languages, found.skills) == ({"zh"}, {"law"})
    [event] = Event.objects.filter(kind="membership.abilities_changed")
    assert event.before == {"user": person.public_id, "languages": [], "skills": []}
    assert event.after == {"user": person.public_id, "languages": ["zh"], "skills": ["law"]}
    give_role(project, person, Role.SENIOR_REVIEWER)
    assert abilities_of(project, person) == found
    assert set_abilities(actor=admin, project=project, user=person, languages=[], skills=[]) == ANYTHING
    assert not MemberAbilities.objects.exists()
    for languages, skills, sentence in (
        (["xx"], [], "no language “xx”"),
        ([], ["a b"], "“a b” can’t be a skill"),
        ([], [" "], "can’t be a skill"),
        ([], [f"s{n}" for n in range(51)], "at most 50 skills"),
    ):
        with pytest.raises(Invalid, match=sentence):
            set_abilities(actor=admin, project=project, user=person, languages=languages, skills=skills)
    with pytest.raises(Denied):
        set_abilities(actor=team.senior, project=project, user=person, languages=[], skills=[])
    with pytest.raises(Conflict, match="isn’t a member"):
        set_abilities(actor=admin, project=project, user=team.outsider, languages=[], skills=[])


def test_a_gold_item_is_for_the_same_people_as_its_dialogue() -> None:
    team = gold_team()
    gold, person = make_gold(team), team.annotators[3]
    always(team)
    Dialogue.objects.filter(pk__in=[gold.source_id, gold.dialogue_id]).update(language="en")
    set_abilities(actor=team.administrator, project=team.project, user=person, languages=["zh"], skills=[])
    assert read_my_work(actor=person, project=team.project).total == 0
    assert claim_next(actor=person, project=team.project) is None
    set_abilities(actor=team.administrator, project=team.project, user=person, languages=["en"], skills=[])
    assert read_my_work(actor=person, project=team.project).total == 1
    claim = claim_next(actor=person, project=team.project)
    assert claim is not None
    assert claim.slot.is_gold


def test_an_administrator_assigns_all_the_same_what_does_not_fit(team: Team, client: Client) -> None:
    item, project = make_item(team, "cross_check"), team.project
    Dialogue.objects.filter(pk=item.pk).update(language="en")
    one, other = team.annotators[1:3]
    set_abilities(actor=team.administrator, project=project, user=one, languages=["zh"], skills=[])
    client.force_login(team.administrator)
    slot = open_slot(item)
    sent = {"action": "reassign", "slots": [slot.public_id], "to": [one.public_id]}
    address = f"/api/projects/{project.slug}/assignments/plans/"
    refused = client.post(address, sent, content_type="application/json").json()
    assert refused["items"] == 0
    assert "This dialogue is in English" in refused["refused"][0][1]
    plan = client.post(address, sent | {"all_the_same": True}, content_type="application/json").json()
    assert (plan["items"], plan["refused"]) == (1, [])
    page = one_line(client.get(f"/p/{project.slug}/assignments/plans/{plan['public_id']}/"))
    assert "People also get what doesn’t fit their languages and skills." in page
    client.post(f"{address}{plan['public_id']}/", content_type="application/json")
    slot.refresh_from_db()
    assert slot.reserved_for == one
    assert claim_slot(actor=one, slot=slot).slot == slot
    assert Event.objects.get(kind="assignments.changed").after["all_the_same"] is True
    # Somebody who fits comes first; what else is refused stays refused.
    form = {"action": "reassign", "slot": [slot.public_id], "to": [one.public_id, other.public_id]}
    client.post(f"/p/{project.slug}/assignments/plan/", form | {"all_the_same": "on"})
    made = AssignmentPlan.objects.latest("pk")
    assert (made.items[0][1], made.parameters["all_the_same"]) == (other.pk, True)
    owner = client.post(
        address, sent | {"to": [team.annotator.public_id], "all_the_same": True}, content_type="application/json"
    )
    assert owner.json()["items"] == 0


def test_administrators_set_them_on_people_and_by_the_api(team: Team, client: Client) -> None:
    person, project = team.annotators[1], team.project
    client.force_login(team.administrator)
    change = f"/p/{project.slug}/people/{person.public_id}/"
    client.post(change, {"action": "abilities", "language": ["zh"], "skills": "law, rail"})
    assert abilities_of(project, person) == Abilities(frozenset({"zh"}), frozenset({"law", "rail"}))
    assert "Chinese, law, rail" in one_line(client.get(f"/p/{project.slug}/people/"))
    address = f"/api/projects/{project.slug}/members/{person.public_id}/abilities/"
    assert client.get(address).json() == {"languages": ["zh"], "skills": ["law", "rail"]}
    sent = {"languages": ["en"], "skills": []}
    assert client.put(address, sent, content_type="application/json").json() == sent
    assert client.put(address, {"languages": ["en"]}, content_type="application/json").status_code == 400
    client.force_login(person)
    assert "Languages and skills" not in one_line(client.get(f"/p/{project.slug}/people/"))
    assert client.put(address, sent, content_type="application/json").status_code == 403
