"""Every preset can be adopted on the protocol page, and the project's pages show it."""

import json
import re
from inspect import signature

import pytest
from django.test import Client
from django.urls import reverse

from reviews.core.protocols import PRESETS, load_preset
from reviews.models import ProtocolVersion
from reviews.services.protocols import versions
from reviews.services.protocols.versions import adopt_preset, parse
from tests.factories import make_team

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_a_preset_is_adopted_and_shown(client: Client, preset: str) -> None:
    team = make_team()
    client.force_login(team.administrator)
    page = reverse("protocol", args=[team.project.slug])
    said = client.post(page, {"preset": preset}, follow=True)
    # A double click adopts it once.
    assert client.post(page, {"preset": preset}, follow=True).status_code == 200
    # Labels of long range follow the rule of the benchmark.
    team.project.refresh_from_db()
    assert team.project.long_range_rule == ("wild" if preset == "wild" else "c3")
    assert ("WildToolBench’s long-range rule" in said.content.decode()) is (preset == "wild")
    assert ProtocolVersion.objects.get(project=team.project).preset == preset
    for name in ("project", "protocol", "protocol-edit"):
        assert client.get(reverse(name, args=[team.project.slug])).status_code == 200


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_texts_of_a_preset_are_adopted_in_the_language_of_the_page(
    client: Client, preset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions, "_", lambda text: text if "%(" in text else text.upper())
    team = make_team()
    client.force_login(team.administrator)
    editor = client.get(reverse("protocol-edit", args=[team.project.slug]), {"preset": preset})
    client.post(reverse("protocol", args=[team.project.slug]), {"preset": preset})
    adopted = parse(ProtocolVersion.objects.get(project=team.project))
    assert json.loads(editor.context["base"]) == adopted.model_dump(mode="json")
    texts = [stage.title for stage in adopted.stages]
    texts += [item.text for stage in adopted.stages for item in stage.checklist.items]
    texts += [text for kind in adopted.taxonomy for text in (kind.label, kind.description)]
    assert texts == [text.upper() for text in texts]
    assert [stage.key for stage in adopted.stages] == [stage.key for stage in load_preset(preset).stages]


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_a_preset_is_set_up_before_it_is_adopted_with_what_its_form_holds(client: Client, preset: str) -> None:
    """The unchanged form gives the unchanged preset; switching everything switches every option."""
    team = make_team()
    client.force_login(team.administrator)
    page = client.get(reverse("protocol", args=[team.project.slug]))
    (card,) = [card for card in page.context["presets"] if card["name"] == preset]
    fields = {field.name: field.value for field in card["options"]}
    switches = {field.name: "true" for field in card["options"] if field.tick_box}
    assert {field.name for field in card["options"]} == set(signature(PRESETS[preset]).parameters)
    for sent, wanted in (
        (fields, load_preset(preset)),
        (fields | switches, load_preset(preset, **dict.fromkeys(switches, True))),
    ):
        editor = client.get(reverse("protocol-edit", args=[team.project.slug]), {"preset": preset, **sent})
        assert editor.status_code == 200
        assert json.loads(editor.context["base"]) == wanted.model_dump(mode="json")


@pytest.mark.parametrize(
    ("preset", "heading"), [("c3", "Audit draws"), ("wild", "Rounds"), ("cctu", ""), ("async", "Rounds")]
)
def test_the_projects_page_speaks_of_the_draws_its_protocol_has(client: Client, preset: str, heading: str) -> None:
    team = make_team()
    adopt_preset(actor=team.administrator, project=team.project, preset=preset)
    client.force_login(team.administrator)
    page = client.get(reverse("project", args=[team.project.slug])).content.decode()
    assert ('id="draws"' in page) is bool(heading)
    assert re.search(rf"id=\"draws\">\s*{heading}\s*<", page) or not heading
    # There is nothing to draw from yet.
    assert "Draw a sample" not in page
