"""Suggestions that several people and programs handle at one moment."""

from functools import partial
from typing import Any

import pytest

from annotator.errors import Hidden
from annotator.models import Draft, StoredSuggestion, SuggestionDecision
from annotator.services.dialogues.suggestion_decisions import accept_suggestion, refuse_suggestion
from annotator.services.dialogues.suggestions import post_suggestions
from reviews.services.queue.claims import claim_next
from reviews.services.submission.workbench import open_workbench
from tests.factories import Team, adopt_c3, begin, make_dialogue, make_team
from tests.racing import lost, race

pytestmark = pytest.mark.django_db(transaction=True)
ROUNDS = 4


def suggest(team: Team, value: str) -> list[Any]:
    item = {"dialogue": "one", "place": "/tasks/t1/policy", "value": value, "source": "model"}
    return post_suggestions(actor=team.administrator, project=team.project, items=[item])


def test_a_suggestion_is_replaced_or_decided_but_never_both() -> None:
    team = make_team()
    adopt_c3(team)
    begin(team.project, [make_dialogue(team.project, external_id="one")])
    claim = claim_next(actor=team.annotator, project=team.project)
    assert claim is not None
    draft = open_workbench(actor=team.annotator, slot_id=claim.slot.public_id).draft
    for _ in range(ROUNDS):
        SuggestionDecision.objects.all().delete()
        StoredSuggestion.objects.all().delete()
        suggest(team, "chat")
        one = StoredSuggestion.objects.get()
        version = Draft.objects.get(pk=draft.pk).version
        results = race(
            partial(suggest, team, "clarify"),
            partial(suggest, team, "multi_tool"),
            partial(
                accept_suggestion, actor=team.annotator, draft=draft, public_id=one.public_id, seen=version, edit_id="a"
            ),
            partial(refuse_suggestion, actor=team.annotator, draft=draft, public_id=one.public_id),
        )
        # A decision on a value that was replaced meanwhile is refused.
        assert all(isinstance(error, Hidden) for error in lost(results))
        after = StoredSuggestion.objects.get()
        assert SuggestionDecision.objects.exists() == (after.public_id == one.public_id)
        assert (after.value == "chat") == (after.public_id == one.public_id)
