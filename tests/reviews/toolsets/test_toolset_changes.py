"""A toolset is changed: its dialogues are listed first, then each gets the new tools and is reviewed again."""

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotator.errors import Conflict, Denied, Invalid
from annotator.models import Dialogue, Event, Job, Toolset
from annotator.models.content import DialogueStatus
from annotator.services.dialogues import executions
from annotator.services.integrity.content_checks import content_problems, toolset_problems
from reviews.models import Cycle, Review
from reviews.services.cycles.toolset_changes import change_toolset, preview_change
from reviews.services.protocols.versions import adopt_preset
from tests.benchmark.composing.test_composites import drawn, with_singles
from tests.benchmark.releases.test_single_tasks import SHELF, TOOLS, claimed, run_jobs, tool
from tests.factories import Team, make_team
from tests.pages import one_line

pytestmark = [pytest.mark.django_db, pytest.mark.any_database, pytest.mark.usefixtures("shared_sandbox")]


@pytest.fixture
def team() -> Team:
    team = make_team(annotators=3, seniors=1)
    adopt_preset(actor=team.administrator, project=team.project, preset="async", without_rounds=True)
    return team


#: Taking a book now says who has it.
CHANGED = SHELF.replace("return {'taken': title}", "return {'taken': title, 'by': 'reader'}")


def asked(team: Team, source: str = CHANGED, **changes: Any) -> dict[str, Any]:
    code = {"source": source, "class": "Shelf", "load": "load"}
    return {
        "actor": team.administrator,
        "toolset": Toolset.objects.get(project=team.project, name__startswith="unlock"),
        "tools": json.dumps(TOOLS),
        "implementation": code,
        **changes,
    }


def test_everything_on_changed_tools_is_run_and_reviewed_again(team: Team) -> None:
    singles = with_singles(team)
    composite, _ = drawn(team)
    bench = claimed(team, composite)
    assert bench.view.errors == []
    change = preview_change(**asked(team))
    assert (change.count, change.affected, change.problems) == (4, [("verified", 4)], [])
    assert [one.external_id for one in change.named] == ["lib_1", "lib_2", "shop_1", "shop_2"]
    assert Job.objects.filter(kind="toolset_change").count() == 0
    change_toolset(**asked(team), seen=1, wake_worker=False)
    with pytest.raises(Conflict, match="still being carried out"):
        change_toolset(**asked(team, source=CHANGED + "\n"), seen=2, wake_worker=False)
    run_jobs()
    for name, before in singles.items():
        now = Dialogue.objects.select_related("head__toolset_revision").get(external_id=name)
        assert now.head is not None
        assert before.head is not None
        assert (now.status, now.content_hash) == (DialogueStatus.IN_REVIEW, before.content_hash)
        assert now.head.toolset_revision.number == 2
        assert executions.execution_of_revision(now.head, now.head.document()).outcomes[1].result["by"] == "reader"
        # What people said about the old tools is kept.
        assert Review.objects.filter(dialogue=now).count() == 1
        assert Cycle.objects.filter(dialogue=now).count() == 2
    # A composite refers to tools as well.
    composite.refresh_from_db()
    assert composite.error_count == 2
    event = Event.objects.get(kind="toolset.changed")
    assert (event.after["number"], event.after["dialogues"]) == (2, 4)
    assert list(toolset_problems(team.project)) == []
    assert list(content_problems([one.pk for one in singles.values()])) == []
    with pytest.raises(Conflict, match="changed in the meantime"):
        change_toolset(**asked(team, source=CHANGED + "\n"), seen=1, wake_worker=False)


def test_a_change_that_is_none_or_cannot_be_read_is_refused(team: Team) -> None:
    with_singles(team)
    for changes, error, sentence in (
        ({"source": SHELF}, Conflict, "Nothing was changed"),
        ({"tools": "[{"}, Invalid, "not JSON"),
        ({"tools": "{}"}, Invalid, "must be a JSON list"),
        ({"tools": '[{"name": ""}]'}, Invalid, "has no name"),
        ({"implementation": {"source": " ", "class": None, "load": None}}, Invalid, "must be Python"),
        ({"implementation": {"source": "x", "class": "no name", "load": None}}, Invalid, "a name in the code"),
        ({"actor": team.annotator}, Denied, None),
        ({"actor": team.senior}, Denied, None),
    ):
        with pytest.raises(error, match=sentence):
            preview_change(**asked(team, **changes))
    change = preview_change(**asked(team, tools=json.dumps([*TOOLS, tool("burn")]), source=CHANGED + "x ="))
    assert [one.message for one in change.problems] == ["The code cannot be read: invalid syntax (line 16)."]
    change = preview_change(**asked(team, tools=json.dumps([*TOOLS, tool("burn")])))
    assert [one.place for one in change.problems] == ["burn"]


def test_the_page_lists_what_a_change_affects_before_it_is_saved(team: Team) -> None:
    with_singles(team)
    toolset = Toolset.objects.get(project=team.project)
    url = reverse("toolset", args=[team.project.slug, toolset.public_id])
    client = Client()
    client.force_login(team.administrator)
    assert toolset.name in one_line(client.get(reverse("toolset-list", args=[team.project.slug])))
    page = one_line(client.get(url))
    assert "class Shelf" in page
    fields = {"source": CHANGED, "class_name": "Shelf", "load": "load", "tools": json.dumps(TOOLS), "seen": "1"}
    # If the effects were not shown yet, saving shows them first.
    for button in ("preview", "save"):
        answer = client.post(url, fields | {button: ""})
        assert answer.status_code == 200
        assert "4 dialogues use these tools." in one_line(answer)
        assert toolset.revisions.count() == 1
    previewed = answer.context["change"].sha256
    changed = client.post(url, fields | {"save": "", "previewed": previewed, "source": CHANGED + "\n"})
    assert (changed.status_code, toolset.revisions.count()) == (200, 1)
    saved = client.post(url, fields | {"save": "", "previewed": previewed})
    assert (saved.status_code, toolset.revisions.count()) == (302, 2)
    assert "Queued" in one_line(client.get(url))
    run_jobs()
    assert "Queued" not in one_line(client.get(url))
    refused = client.post(url, fields | {"preview": "", "tools": "[", "seen": "2", "source": "class Mine: pass"})
    assert refused.status_code == 422
    page = one_line(refused)
    assert "The tools are not JSON" in page
    assert "class Mine: pass" in page
    # Everybody in the project can read it.
    client.force_login(team.annotator)
    page = one_line(client.get(url))
    assert "Review the change" not in page
    assert "class Shelf" in page
    assert client.post(url, fields | {"preview": ""}).status_code == 403
