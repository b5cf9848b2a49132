"""The list of jobs leads to what came of each."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotator.models import Dialogue, Job, User
from annotator.services.dialogues import trials
from annotator.services.dialogues.replays import start_replay
from annotator.services.toolsets.storing import ensure_toolset_revision
from reviews.services.queue.claims import claim_slot
from reviews.services.submission.workbench import open_workbench
from tests.annotator.case_documents import CODE, TOOLS, case, with_constraint
from tests.benchmark.conftest import as_lines, begin_import, candidates
from tests.factories import Team, adopt_c3, begin, make_dialogue, make_team, open_slot

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


@pytest.fixture
def team() -> Team:
    team = make_team()
    adopt_c3(team)
    return team


def item_of(team: Team, document: dict[str, Any] | None = None) -> Dialogue:
    toolset = ensure_toolset_revision(actor=None, project=team.project, tools=TOOLS, name="ferries")
    dialogue = make_dialogue(team.project, document or case(), toolset=toolset)
    begin(team.project, [dialogue])
    return Dialogue.objects.get(pk=dialogue.pk)


def rows(client: Client, team: Team, person: User) -> dict[str, tuple[str, str]]:
    """Public id of each job → its link's address and words."""
    client.force_login(person)
    page = client.get(reverse("job-list", args=[team.project.slug])).content.decode()
    out = {}
    for part in page.split("<article")[1:]:
        name = re.search(r'id="job-(\w+)-title"', part)
        link = re.search(r'<a href="([^"]*)" data-nav-item>([^<]*)</a>', part)
        if name is not None and link is not None:
            out[name[1]] = (link[1].replace("&amp;", "&"), link[2])
    return out


def test_replays_and_trials_lead_to_their_results(client: Client, team: Team) -> None:
    item, slug = item_of(team), team.project.slug
    mine = start_replay(actor=team.administrator, dialogue=item, revision=item.head)
    claim = claim_slot(actor=team.annotator, slot=open_slot(item))
    draft = open_workbench(actor=team.annotator, slot_id=claim.slot.public_id).draft
    theirs = start_replay(actor=team.annotator, dialogue=item, draft=draft)
    trial = trials.start_trials(actor=team.annotator, project=team.project, document=case(), dialogue=item)
    gone = with_constraint("c4", id="c9", validator={"code": CODE + "#", "function": "validate_punctuation"})
    of_another = trials.start_trials(actor=team.annotator, project=team.project, document=gone, dialogue=item)
    batch = begin_import(team, as_lines(candidates(1)))
    follow_up = Job.objects.create(project=team.project, kind="near_duplicates", parameters={"import": batch.public_id})
    assert trial is not None
    assert of_another is not None
    found = rows(client, team, team.administrator)
    home = reverse("dialogue", args=[slug, item.public_id])
    assert found[mine.job.public_id] == (f"{home}replays/{mine.public_id}/", item.external_id)
    # Runs of a person's draft are visible to that person.
    assert found[theirs.job.public_id] == (home, item.external_id)
    assert found[trial.public_id] == (f"{home}validators/c4/?job={trial.public_id}", item.external_id)
    assert found[of_another.public_id] == (home, item.external_id)
    assert found[follow_up.public_id] == found[batch.job.public_id]
    for address, _ in found.values():
        assert client.get(address).status_code == 200


def test_the_list_asks_as_often_however_many_there_are(client: Client, team: Team) -> None:
    client.force_login(team.administrator)
    counts = []
    for person in team.annotators[:2]:
        item = item_of(team)
        start_replay(actor=person, dialogue=item, revision=item.head)
        trials.start_trials(actor=person, project=team.project, document=case(), dialogue=item)
        with CaptureQueriesContext(connection) as asked:
            client.get(reverse("job-list", args=[team.project.slug]))
        counts.append(len(asked))
    assert counts[0] == counts[1]
