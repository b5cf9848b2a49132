"""Sending back that was undone leaves no trace in releases."""

from typing import Any

import pytest

from annotator.models import Dialogue
from annotator.services.jobs import jobs
from reviews.core.protocols import load_preset, read_protocol
from reviews.core.protocols.presets import MAJORITY_OF_THREE
from reviews.services.assignments.plans import confirm_plan, make_plan, make_undo
from reviews.services.cycles.migration import start_migration
from reviews.services.protocols.versions import adopt_protocol
from tests.benchmark.conftest import make_verified, run_release
from tests.benchmark.releases.test_releases import lines, members
from tests.consistency import assert_consistent
from tests.factories import Team, adopt_c3, claim_and_submit, make_item, make_team

pytestmark = pytest.mark.django_db


def send_back(team: Team, *items: Dialogue) -> str:
    more: dict[str, Any] = {"action": "send_back", "stage": "self_check_single", "reason": "Dates"}
    keys = [one.pk for one in items]
    made = make_plan(actor=team.administrator, project=team.project, dialogues=keys, **more)
    return confirm_plan(actor=team.administrator, project=team.project, public_id=made.public_id).public_id


def undo(team: Team, public_id: str) -> None:
    back = make_undo(actor=team.administrator, project=team.project, public_id=public_id)
    assert back.refused == []
    confirm_plan(actor=team.administrator, project=team.project, public_id=back.public_id)


def rows(content: bytes) -> list[dict[str, Any]]:
    """Return the lines of a file without the mark that each release has of its own."""
    return [{name: value for name, value in line.items() if name != "canary"} for line in lines(content)]


def test_a_release_is_the_same_before_and_after() -> None:
    team = make_team(annotators=4)
    adopt_c3(team, audit_fraction=0.0)
    make_verified(team, "a")
    moved, twin = make_item(team, "cross_check", external_id="b"), make_item(team, "cross_check", external_id="c")
    for item in (moved, twin):
        claim_and_submit(team.annotators[1], item, "approve")
    definition = load_preset("c3", audit_fraction=0.0).model_dump(mode="json")
    table = [row.model_dump(mode="json") for row in MAJORITY_OF_THREE]
    definition["stages"][2] |= {"reviewers": 3, "outcomes": table}
    adopt_protocol(actor=team.administrator, project=team.project, protocol=read_protocol(definition))
    jobs.run(start_migration(actor=team.administrator, project=team.project).pk)
    # Its reviews are sealed until its blind stage ends, unless it is sent to another stage: then it can't go on.
    refused = make_undo(actor=team.administrator, project=team.project, public_id=send_back(team, moved))
    assert [why for _, why in refused.refused] == [
        "Sending it back made reviews of a blind stage visible, so this stage can’t go on."
    ]
    late = make_item(team, "cross_check", external_id="d")
    undo(team, send_back(team, late))
    for item in (twin, late):
        for person in team.annotators[1:4]:
            claim_and_submit(person, item, "approve")

    before = members(run_release(team, "1.0"))
    items = {line["id"]: line for line in lines(before["items.jsonl"])}
    assert set(items) == {"a", "c", "d"}
    assert (items["c"]["cycle"], items["d"]["cycle"]) == (1, 1)
    assert [(one["stage"], one.get("broken_off")) for one in items["c"]["stages"]][2] == (
        "cross_check",
        "The number of reviewers changes from 2 to 3. Earlier reviews cannot be combined with new ones.",
    )
    assert len(items["d"]["stages"]) == len(items["c"]["stages"]) - 1
    sent = send_back(team, *Dialogue.objects.filter(external_id__in=["a", "c"]))
    during = members(run_release(team, "1.1"))
    assert [line["id"] for line in lines(during["items.jsonl"])] == ["d"]
    undo(team, sent)
    after = members(run_release(team, "1.2"))
    for name in ("items.jsonl", "dialogues.jsonl", "entries.jsonl"):
        assert rows(after[name]) == rows(before[name])
    assert_consistent(team.project)
