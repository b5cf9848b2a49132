"""The protocol's pages: versions, what changed, and the editor, which keeps what is written in its own form."""

import json
from typing import Any

import pytest
from django.test import Client

from reviews.core.protocols import load_preset
from reviews.core.protocols.drafting import TABLES, overlay, step
from reviews.models import ProtocolVersion
from reviews.services.protocols.versions import adopt_protocol, current_protocol
from reviews.services.sampling.draws import close_population_and_draw
from tests.factories import Team, adopt_c3, begin, claim_and_submit, make_dialogue, make_dialogues, make_item, make_team
from tests.pages import one_line

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]
TEAM = {"annotators": 4, "seniors": 2}


@pytest.fixture
def client(team: Team) -> Client:
    client = Client()
    client.force_login(team.administrator)
    return client


def draft(**changes: Any) -> dict[str, Any]:
    return load_preset("c3").model_dump(mode="json") | changes


def address(team: Team, page: str = "edit/") -> str:
    return f"/p/{team.project.slug}/protocol/{page}"


def send(
    client: Client,
    team: Team,
    do: str,
    fields: dict[str, str] | None = None,
    *,
    base: dict[str, Any] | None = None,
    seen: int = 1,
) -> Any:
    body = {"base": json.dumps(base or draft()), "seen": str(seen), "do": do}
    return client.post(address(team), body | (fields or {}))


def text(response: Any) -> str:
    return one_line(response)


def test_the_editor_opens_with_what_is_in_force_and_with_a_preset(client: Client, team: Team) -> None:
    page = text(client.get(address(team)))
    assert 'value="Cross-check"' in page
    assert "Dry run" in page
    one = text(client.get(address(team) + "?preset=c3&cross_check_reviewers=1&audit_fraction=0.25"))
    assert 'name="%/stages/3/entry/fraction" value="25"' in one
    assert client.get(address(team) + "?preset=none").status_code == 400
    refused = client.get(address(team) + "?preset=c3&cross_check_reviewers=7")
    assert refused.status_code == 422
    assert "one or two reviewers" in text(refused)
    for wrong, said in (
        ("audit_fraction=some", "Audited share (0 to 1): “some” isn’t a number."),
        ("audit_fraction=-1", "these options: “Audited share (0 to 1)” is -1.0. Enter a share"),
        ("audit_fraction=nan", "Audited share (0 to 1): “nan” isn’t a number."),
        ("send_back_audited=1.5", "Minimum audited items: “1.5” isn’t a whole number."),
    ):
        refused = client.get(address(team) + f"?preset=c3&{wrong}")
        assert refused.status_code == 422
        assert said in text(refused)
    assert client.get(address(team) + "?preset=c3&require_answers=perhaps").status_code == 422


def test_a_number_of_any_size_is_kept_by_the_editor(client: Client, team: Team) -> None:
    huge = 10**20
    page = client.get(address(team) + f"?preset=c3&send_back_audited={huge}")
    assert page.status_code == 200
    assert f'value="{huge}"' in text(page)
    stages = load_preset("c3", send_back_audited=huge).model_dump(mode="json")["stages"]
    for do in ("look", "check"):
        assert str(huge) in text(send(client, team, do, base=draft(stages=stages)))


def test_an_impossible_option_of_a_preset_leads_back_to_its_form_with_what_was_chosen(
    client: Client, team: Team
) -> None:
    for project in (team, make_team()):
        client.force_login(project.administrator)
        chosen = "?preset=c3&cross_check_reviewers=7&audit_fraction=0.25&require_answers=false&require_answers=true"
        page = client.get(address(project) + chosen)
        assert page.status_code == 422
        [card] = [card for card in page.context["presets"] if card["name"] == "c3"]
        fields = {field.name: field for field in card["options"]}
        assert (fields["cross_check_reviewers"].value, fields["audit_fraction"].value) == ("7", "0.25")
        assert fields["require_answers"].ticked
        assert "one or two reviewers" in fields["cross_check_reviewers"].error
        assert [name for name, field in fields.items() if field.error] == ["cross_check_reviewers"]
        assert 'href="#atcross_5f_check_5f_reviewers"' in text(page)
        assert "Load the page again" not in text(page)
        # The editor holds what it held before.
        assert 'value="Cross-check"' in text(page)


def test_steps_change_the_form_and_nothing_else(client: Client, team: Team) -> None:
    page = send(client, team, "add:/stages", {"/name": "Ours"})
    assert page.status_code == 200
    assert "New stage" in text(page)
    assert 'value="Ours"' in text(page)
    assert ProtocolVersion.objects.filter(project=team.project).count() == 1


def test_what_is_wrong_stands_beside_its_field_and_nothing_is_adopted(client: Client, team: Team) -> None:
    wrong = {"/stages/2/reviewers": "3", "/stages/0/lease_minutes": "soon", "/stages/1/title": ""}
    wrong |= {"%/discrepancy_alarm": "a few"}
    for do in ("check", "adopt"):
        page = send(client, team, do, wrong)
        assert page.status_code == 422
        assert 'id="at-stages-0-lease_5f_minutes-error"' in text(page)
        assert 'href="#at-stages-1-title"' in text(page)
        for name in ("%/discrepancy_alarm", "/stages/0/lease_minutes"):
            assert f'name="{name}" value="{wrong[name]}"' in text(page)
    assert ProtocolVersion.objects.filter(project=team.project).count() == 1


def test_a_table_for_another_number_of_reviewers_is_one_fault_with_its_mend_beside_it(
    client: Client, team: Team
) -> None:
    three = {"/stages/2/reviewers": "3"}
    page = send(client, team, "check", three)
    assert page.status_code == 422
    summary = text(page).partition('class="error-summary"')[2].partition("</details>")[0]
    assert "1 problem to fix" in summary
    assert "“Cross-check” has 3 reviewers." in summary
    for how in TABLES:
        assert f'form="editor" name="do" value="{how}:/stages/2"' in summary
        mended = overlay(draft(), [(name, [value]) for name, value in three.items()])
        assert send(client, team, "check", base=step(mended, f"{how}:/stages/2")).status_code == 200


def test_too_few_people_are_told_at_the_number_of_reviewers(client: Client, team: Team) -> None:
    base = draft()
    base["stages"][2]["reviewers"] = 7
    page = send(client, team, "agree:/stages/2", base=base)
    assert "needs 8 people with one of these roles" in text(page)
    page = send(client, team, "look", base=base)
    assert 'href="#at-stages-2-reviewers"' in text(page)


def test_adopting_takes_a_look_at_what_it_changes(client: Client, team: Team) -> None:
    begin(team.project, make_dialogues(team.project, 3))
    changed = {"/stages/2/title": "Peer check", "%/discrepancy_alarm": "7", "/alarm_after": "50"}
    page = send(client, team, "check", changed)
    assert page.status_code == 200
    assert "<del>5 %</del>" in text(page)
    assert "<ins>7 %</ins>" in text(page)
    assert "Minimum compared items" in text(page)
    assert "3 items in progress" in text(page)
    done = send(client, team, "adopt", changed)
    assert done.status_code == 302
    found = current_protocol(team.project)
    assert found is not None
    assert (found.stages[2].title, found.discrepancy_alarm, found.alarm_after) == ("Peer check", 0.07, 50)
    assert [item.after["number"] for item in team.project.events.filter(kind="protocol.adopted").order_by("pk")] == [
        1,
        2,
    ]


def test_another_share_applies_to_the_whole_pool_and_the_pages_say_so(client: Client, team: Team) -> None:
    """An item that keeps its version would otherwise be expected to keep its share, too."""
    adopting = "The next draw for “Expert verification” takes 50 % of the whole pool"
    assert adopting not in text(send(client, team, "check", {"/name": "Ours"}))
    assert adopting in text(send(client, team, "check", {"%/stages/3/entry/fraction": "50"}))
    items = [make_item(team, "cross_check") for _ in range(2)]
    for item in items:
        for person in team.annotators[1:3]:
            claim_and_submit(person, item, "approve")
    send(client, team, "adopt", {"%/stages/3/entry/fraction": "50"})
    page = text(client.get(f"/p/{team.project.slug}/"))
    assert "takes 50 % of each owner’s items in the pool" in page
    assert 'data-confirm="Draw 50 % of 2 items for “Expert verification”? This can’t be undone."' in page
    drawn = close_population_and_draw(actor=team.administrator, project=team.project)
    assert drawn is not None
    assert (drawn.fraction, drawn.population_size) == (0.5, 2)


def test_the_same_adopted_by_a_second_click_is_adopted_once(client: Client, team: Team) -> None:
    for _ in range(2):
        assert send(client, team, "adopt", {"/name": "Ours"}).status_code == 302
    assert [version.number for version in team.project.protocol_versions.order_by("number")] == [1, 2]


def test_what_somebody_else_adopted_meanwhile_is_not_overwritten_unseen(client: Client, team: Team) -> None:
    adopt_c3(team, audit_fraction=0.3)
    page = send(client, team, "adopt", {"/name": "Ours"})
    assert page.status_code == 409
    assert "Version 2 was adopted while you were editing version 1" in text(page)
    # The page now compares with the newer one, and the next try adopts that.
    assert "a random 30 % of the others" in text(page)
    assert 'name="seen" value="2"' in text(page)
    assert send(client, team, "adopt", {"/name": "Ours"}, seen=2).status_code == 302


def test_understaffed_protocols_are_adopted_only_knowingly(client: Client, team: Team) -> None:
    base = draft()
    base["stages"][3]["eligible"]["roles"] = ["senior_reviewer"]
    base["stages"][3]["reviewers"] = 5
    base["stages"][3]["outcomes"] = [{"verdicts": ["approve"] * 5, "content": "any", "outcome": "pass"}]
    base["stages"][3]["outcomes"] += [{"verdicts": ["any"] * 5, "content": "any", "outcome": "back_to_author"}]
    page = send(client, team, "adopt", base=base)
    assert page.status_code == 409
    assert "There are too few people" in text(page)
    assert send(client, team, "adopt", {"understaffed": "on"}, base=base).status_code == 302


def test_json_is_downloaded_and_read_in(client: Client, team: Team) -> None:
    response = client.get(address(team, "json/"))
    assert "protocol-" in response["Content-Disposition"]
    read = json.loads(response.content)
    read["name"] = "From a file"
    page = send(client, team, "json", {"json": json.dumps(read)})
    assert page.status_code == 200
    assert 'value="From a file"' in text(page)


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ("{", "This isn’t valid JSON"),
        ('{"name": "x", "stages": [], "name": "y"}', "The key “name” appears twice in one object. Remove one."),
        ("1" * 1_001, "digits"),
        ("[]", "Must be an object."),
        ('{"name": "x", "stages": [], "colour": 1}', "/colour"),
        ('{"name": "x", "stages": [{"key": "a", "reviewers": 12}]}', "/stages/0/reviewers"),
        ("x" * 400_001, "longer than 400,000 bytes"),
    ],
)
def test_json_that_is_no_protocol_is_told_place_by_place(client: Client, team: Team, sent: str, words: str) -> None:
    page = send(client, team, "json", {"json": sent})
    assert page.status_code == 422
    assert words in text(page)
    # Neither the form nor what was pasted is lost.
    assert 'value="Cross-check"' in text(page)


@pytest.mark.parametrize("checklist", [[], "x", {"items": [{"key": ["x"], "text": "Why?"}]}])
def test_json_of_another_shape_is_told_place_by_place(client: Client, team: Team, checklist: Any) -> None:
    sent = draft()
    sent["stages"][2]["checklist"] = checklist
    sent["taxonomy"][0]["key"] = ["x"]
    page = send(client, team, "json", {"json": json.dumps(sent)})
    assert page.status_code == 422
    assert "/stages/2/checklist" in text(page)
    assert "/taxonomy/0/key" in text(page)


def test_a_protocol_of_too_many_rows_is_refused_before_a_page_is_made_of_it(client: Client, team: Team) -> None:
    """Eight such requests at once took every thread for minutes: a row took milliseconds, and 8 MB held 70,000."""
    sent = draft()
    sent["stages"][2]["outcomes"] *= 300
    page = send(client, team, "json", {"json": json.dumps(sent)})
    assert (page.status_code, page["Content-Type"]) == (422, "text/html; charset=utf-8")
    assert "The protocol has more than 5,000 values" in text(page)
    # The pasted text and the form stay; neither is shown as rows.
    assert 'value="Cross-check"' in text(page)
    assert "/stages/2/outcomes/9/outcome" not in text(page)
    for do in ("check", "look", "adopt", "add:/stages"):
        page = send(client, team, do, base=sent)
        assert page.status_code == 422
        assert "The protocol has more than 5,000 values" in text(page)
    sent = draft(name="x" * 800_000)
    assert "longer than 800,000 bytes" in text(send(client, team, "look", base=sent))


def test_json_that_breaks_a_rule_can_be_mended_in_the_form(client: Client, team: Team) -> None:
    base = draft()
    base["stages"][0]["outcomes"] = base["stages"][0]["outcomes"][:1]
    page = send(client, team, "json", {"json": json.dumps(base)})
    assert page.status_code == 200
    assert "No row covers fix. Add a row." in text(page)


@pytest.mark.parametrize(
    "base",
    [
        "",
        "[]",
        "{}",
        '{"stages": [], "taxonomy": [{"key": ["x"]}]}',
        '{"stages": [1], "taxonomy": []}',
        '{"stages": {}, "taxonomy": []}',
    ],
)
def test_what_is_no_draft_is_refused(client: Client, team: Team, base: str) -> None:
    assert client.post(address(team), {"base": base, "do": "look"}).status_code == 422


def test_the_dry_run_takes_the_assumptions_that_were_typed(client: Client, team: Team) -> None:
    sure = {f"run:{key}:{name}": "0" for key in ("self_check_single", "self_check_multi", "cross_check", "expert")
            for name in ("fix", "reject", "escalate")}  # fmt: skip
    page = send(client, team, "look", sure | {"run:items": "1024"})
    assert "1,024 items and a team of 6" in text(page)
    assert "<strong>4,199</strong></dd>" in text(page)
    assert send(client, team, "look", {"run:items": "many", "run:expert:fix": "-3"}).status_code == 200


def test_assumptions_are_measured_where_there_are_enough_reviews(client: Client, team: Team) -> None:
    for _ in range(20):
        claim_and_submit(team.annotator, make_item(team, "self_check_single"))
    page = text(client.get(address(team)))
    assert page.count(">this project<") == 1
    assert 'name="run:self_check_single:fix" value="0"' in page


def test_versions_are_listed_compared_and_begun_from(client: Client, team: Team) -> None:
    adopt_c3(team, cross_check_reviewers=1)
    page = text(client.get(address(team, "")))
    assert "Version 2" in page
    assert "Version 1" in page
    old = text(client.get(address(team, "?version=1")))
    assert "This isn’t the current version." in old
    changes = text(client.get(address(team, "changes/")))
    assert "Reviewers" in changes
    assert "<del>2</del>" in changes
    assert "No differences" in text(client.get(address(team, "changes/?a=2&b=2")))
    assert client.get(address(team, "changes/?a=9")).status_code == 404
    begun = text(client.get(address(team, "edit/?version=1")))
    assert 'name="/stages/2/reviewers" value="2"' in begun


def test_a_kind_in_force_is_taken_out_of_use_not_removed(client: Client, team: Team) -> None:
    page = text(client.get(address(team)))
    assert 'value="remove:/taxonomy/0"' not in page
    assert 'value="remove:/taxonomy/15"' in text(send(client, team, "add:/taxonomy"))


def test_a_new_project_is_set_up_without_inviting_first() -> None:
    team = make_team(annotators=0, seniors=0)
    client = Client()
    client.force_login(team.administrator)
    page = text(client.get(address(team, "")))
    assert "Use the C3-Bench protocol" in page
    assert "This project has no protocol yet. Choose a preset" in page
    for path, words in (
        ("dialogues", "Import candidates"),
        ("assignments", "Choose a protocol"),
        ("statistics", "No dialogues yet"),
    ):
        assert words in text(client.get(f"/p/{team.project.slug}/{path}/"))
    assert client.get(address(team, "json/")).status_code == 404
    assert client.get(address(team, "changes/")).status_code == 404
    assert send(client, team, "adopt", {"understaffed": "on"}, seen=0).status_code == 302
    make_dialogue(team.project)


def test_a_changed_checklist_gets_the_next_version_on_adoption(team: Team) -> None:
    protocol = current_protocol(team.project)
    assert protocol is not None
    stage = protocol.stages[0]
    fewer = stage.checklist.model_copy(update={"items": stage.checklist.items[1:]})
    stages = (stage.model_copy(update={"checklist": fewer}), *protocol.stages[1:])
    adopt_protocol(
        actor=team.administrator, project=team.project, protocol=protocol.model_copy(update={"stages": stages})
    )
    found = current_protocol(team.project)
    assert found is not None
    assert [one.checklist.version for one in found.stages] == [2, 1, 1, 1]
