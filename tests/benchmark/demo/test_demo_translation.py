"""The demo's translation by a model: recorded answers, one of them refused, and an aligned variant in review."""

import pytest

from annotator.models import Dialogue
from annotator.services.dialogues.variant_comparison import compare_with_variant
from annotator.services.toolsets.categories import start_categories
from benchmark.demo import generations
from benchmark.models import Generation
from tests.factories import Team, adopt_c3

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


def test_the_translation_of_the_demo_is_complete_and_aligned(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    # The part that adds to dialogues of the demo, which are not here.
    monkeypatch.setattr(generations, "_continue", lambda *arguments: None, raising=False)
    adopt_c3(team)
    start_categories(team.project)
    people = {"ingrid": team.administrator, "amina": team.annotator}
    generations.play(team.project, people, log=lambda text: None)
    generation = Generation.objects.get(kind="translation")
    assert (generation.status, generation.requests) == ("done", 3)
    assert generation.state["refusals"]["s4"]["problems"][0]["code"] == "lacks"
    made = Dialogue.objects.get(external_id="city-trip-short-zh")
    source = Dialogue.objects.get(external_id="city-trip-short")
    found = compare_with_variant(actor=team.administrator, dialogue=made, other=source.public_id)
    assert (found.comparison.found, found.stale) == ([], [])
    assert made.status == "in_review"
    assert made.error_count == 0
