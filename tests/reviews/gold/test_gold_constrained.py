"""Gold items of constrained cases: an error in a validator can be planted, and nothing on their pages tells them."""

import pytest
from django.db import transaction
from django.db.models import Q

from annotator.errors import Invalid
from annotator.models import Dialogue, Draft, Job, Replay
from annotator.services.dialogues import trials
from annotator.services.dialogues.replays import last_replay, start_replay
from annotator.services.dialogues.revisions import refresh_findings
from annotator.services.jobs import jobs
from annotator.services.toolsets.storing import ensure_toolset_revision
from reviews.models import GoldItem
from reviews.services.gold.creation import gold_stage, people_for
from reviews.services.queue.gold_claims import items_for
from tests.annotator.case_documents import CODE, END, TOOLS, with_constraint
from tests.factories import Team, begin, claim_and_submit, make_dialogue
from tests.reviews.gold.gold_team import STAGE, certain, gold_team, make_gold
from tests.reviews.gold.test_gold_blindness import ADDRESSES, Pair, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

OF_CASES = [
    "{p}/dialogues/{dialogue}/validators/c4/",
    "{api}/dialogues/{dialogue}/validators/c4/",
    "/work/{slot}/validators/c4/",
]


def coded(code: str) -> dict[str, object]:
    validator = {"code": code, "function": "validate_punctuation", "good": [], "bad": []}
    return with_constraint("c4", validator=validator, text=END)


class CasePair(Pair):
    """A case whose validator was changed by an administrator, and one that came with the same validator."""

    def __init__(self, team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
        self.team, self.person = team, team.annotators[3]
        toolset = ensure_toolset_revision(actor=None, project=team.project, tools=TOOLS, name="ferries")
        error = coded(CODE.replace("return", "return  ", 1))
        rows = []
        for number, document in enumerate((coded(CODE), error), 1):
            row = make_dialogue(team.project, document, toolset=toolset, external_id=f"pair-1-000000{number}")
            Dialogue.objects.filter(pk=row.pk).update(variant_group=f"talk-{number}")
            # As the job after an import does.
            trials.ensure_tried(trials.subjects_of(document))
            with transaction.atomic():
                refresh_findings(revision=row.head, stage="import")
            begin(team.project, [row])
            for _ in range(2):
                claim_and_submit(team.annotator, row)
            rows.append(row)
            if number == 1:
                for person in team.annotators[1:3]:
                    claim_and_submit(person, row, "approve")
        source, self.ordinary = rows
        trials.ValidatorTrial.objects.filter(key__in=[one.key for one in trials.subjects_of(error)]).delete()
        source.refresh_from_db()
        with pytest.raises(Invalid, match="is running the changed code first"):
            make_gold(team, source, document=error)
        job = Job.objects.get(kind=trials.KIND)
        assert source.public_id not in str(job.parameters)
        jobs.run(job.pk)
        self.item = make_gold(team, source, document=error)
        assert (self.item.planted, self.item.errors) == (True, 1)
        self.client = signed_in(self.person)
        certain(monkeypatch, team)
        self.claims = {"gold": self.claim()}
        assert GoldItem.objects.filter(Q(stage_run__slots__public_id=self.claims["gold"]["slot"])).exists()
        monkeypatch.setattr("reviews.services.queue.gold_claims.is_due", lambda secret, **turn: False)
        self.claims["ordinary"] = self.second()
        self.siblings = {"gold": self.item.dialogue, "ordinary": self.ordinary}


def test_an_error_in_a_validator_is_tried_as_the_item_is_made_and_tells_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pair = CasePair(gold_team(), monkeypatch)
    for which in pair.claims:
        pair.read(which, "/work/{slot}/")
    Draft.objects.filter(dialogue=pair.item.dialogue).update(updated_at="2025-01-01T00:00:00Z")
    answered = 0
    for address in [*ADDRESSES, *OF_CASES]:
        found = pair.read("gold", address)
        assert found == pair.read("ordinary", address), address
        answered += found[0] == 200
    assert answered > 15
    for which in pair.claims:
        sent = pair.client.post(
            f"/api/work/{pair.claims[which]['slot']}/submit/",
            {"token": pair.claims[which]["token"], "verdict": "approve"},
            content_type="application/json",
        )
        assert sent.status_code == 201, sent.content
    for address in [*ADDRESSES, *OF_CASES]:
        assert pair.read("gold", address) == pair.read("ordinary", address), address


def test_what_was_replayed_of_the_verified_dialogue_can_be_read_of_its_item() -> None:
    """Of an ordinary case, everybody reads what came of a replay of its reference trajectory."""
    team = gold_team()
    toolset = ensure_toolset_revision(actor=None, project=team.project, tools=TOOLS, name="ferries")
    source = make_dialogue(team.project, coded(CODE), toolset=toolset)
    begin(team.project, [source])
    # By one who only looked at it.
    replay = start_replay(actor=team.annotators[5], dialogue=source, revision=source.head, wake_worker=False)
    Replay.objects.update(record={"rounds": []})
    for _ in range(2):
        claim_and_submit(team.annotator, source)
    for person in team.annotators[1:3]:
        claim_and_submit(person, source, "approve")
    source.refresh_from_db()
    own = list(Job.objects.visible_to(team.annotators[5]))
    item = make_gold(team, source)
    reader = team.annotators[3]
    shown = last_replay(actor=reader, dialogue=item.dialogue, revision=item.dialogue.head)
    assert shown is not None
    assert (shown.requester, shown.created_at, shown.record) == (team.annotators[5], replay.created_at, {"rounds": []})
    assert list(Job.objects.visible_to(team.annotators[5])) == own
    # Theirs is of a dialogue that is hidden now.
    stage = gold_stage(team.project, STAGE)
    assert people_for(project=team.project, stage=stage, source=source) == team.annotators[3:5]
    assert items_for(actor=team.annotators[5], project_id=team.project.pk, stage=STAGE) == []
    assert [key for key, _ in items_for(actor=reader, project_id=team.project.pk, stage=STAGE)] == [item.pk]
