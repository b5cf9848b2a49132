"""An answer brings only the tasks of the dialogue that differ from what the page shows."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotator.services.custom_fields import set_fields
from annotator.services.toolsets.storing import ensure_toolset_revision
from reviews.services.queue.claims import claim_slot
from tests.annotator.case_documents import TOOLS, case
from tests.annotator.core.test_custom_fields import FIELDS
from tests.annotator.document_cases import trip
from tests.factories import Team, begin, make_dialogue, open_slot

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

PLACES = ("/tasks/t1", "/tasks/t1/steps/s3", "/tasks/t2/steps/s1", "/")
_CHAT = re.compile(r'<hx-partial hx-target="#chat".*?</hx-partial>', re.DOTALL)
_TASK = re.compile(r'<article class="task" id="([^"]+)".*?</article>', re.DOTALL)
_CURRENT = re.compile(r'id="([^"]+)"[^>]*? aria-current="true"')
#: What differs from answer to answer, or with the place.
_VARIES = re.compile(r' aria-current="true"|name="csrfmiddlewaretoken" value="[^"]*"|data-version="[^"]*"')


@pytest.fixture
def url(client: Client, team: Team) -> str:
    dialogue = make_dialogue(team.project, trip())
    begin(team.project, [dialogue])
    return opened(client, team, dialogue)


def opened(client: Client, team: Team, dialogue: Any) -> str:
    slot = open_slot(dialogue)
    claim_slot(actor=team.annotator, slot=slot)
    client.force_login(team.annotator)
    return reverse("workspace", args=[slot.public_id])


def asked(client: Client, url: str, at: str = "/tasks/t1", version: str = "", panel: str = "edit") -> Any:
    return client.get(url, {"at": at, "panel": panel}, headers={"HX-Request": "true", "X-Dialogue": version})


def dialogue_of(answer: Any) -> tuple[str, str, list[str]]:
    """Return the version of the dialogue in an answer, its HTML, and the ids of its current parts."""
    found = _CHAT.search(answer.text)
    assert found is not None
    version = re.search(r'data-version="([^"]*)"', found[0])
    assert version is not None
    return version[1], _VARIES.sub("", found[0]), _CURRENT.findall(found[0])


@pytest.mark.parametrize("at", PLACES)
def test_the_dialogue_stays_and_its_current_part_is_named(client: Client, url: str, at: str) -> None:
    version, html, current = dialogue_of(asked(client, url, at))
    for panel in ("edit", "graph", "review", "comments", "findings"):
        assert dialogue_of(asked(client, url, panel=panel))[:2] == (version, html)
        answer = asked(client, url, at, version, panel)
        assert 'hx-target="#chat"' not in answer.text
        assert 'hx-target="#inspector"' in answer.text
        assert [answer["X-Current"]] == (current or [""])
    assert "X-Current" not in asked(client, url, at, "other")


def edited(client: Client, url: str, version: str, action: str = "edit", **fields: str) -> Any:
    headers = {"HX-Request": "true", "X-Dialogue": version}
    answer = client.post(f"{url}{action}/", {"at": "/tasks/t2", **fields}, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer


@pytest.mark.parametrize(
    ("fields", "task"),
    [
        ({"op": "set", "anchor": "/tasks/t2/steps/s1/text", "value": "TODO: say it."}, "at-tasks-t2"),
        ({"op": "set", "anchor": "/tasks/t1/policy", "value": "clarify"}, "at-tasks-t1"),
        ({"op": "set", "anchor": "/tasks/t1/user_message", "value": "<b>Book</b> the $1 train \\1."}, "at-tasks-t1"),
        ({"op": "delete_step", "anchor": "/tasks/t1/steps/s3"}, "at-tasks-t1"),
        ({"op": "add_step", "anchor": "/tasks/t2", "type": "clarification"}, "at-tasks-t2"),
    ],
)
def test_an_edit_brings_the_task_that_differs(client: Client, url: str, fields: dict[str, str], task: str) -> None:
    version, html, _ids = dialogue_of(asked(client, url))
    for action, sent in (("edit", fields), ("undo", {}), ("redo", {})):
        answer = edited(client, url, version, action, **sent)
        assert 'hx-target="#chat"' not in answer.text
        brought = {found[1]: _VARIES.sub("", found[0]) for found in _TASK.finditer(answer.text)}
        assert list(brought) == [task]
        assert f'hx-target="#{task}" hx-swap="outerMorph"' in answer.text
        # With it, the page shows what it would show if it were loaded.
        html = _TASK.sub(lambda found: brought.get(found[1], found[0]), html)  # noqa: B023 - called at once
        version = answer["X-Dialogue"]
        at = {"t1": "/tasks/t1", "t2": "/tasks/t2"}[task[-2:]] if action == "edit" else "/tasks/t2"
        assert dialogue_of(asked(client, url, at))[:2] == (version, html)
        assert answer["X-Current"].startswith("at-tasks-")


def test_the_whole_dialogue_comes_where_a_task_is_not_enough(client: Client, url: str) -> None:
    before = dialogue_of(asked(client, url))[0]
    for fields in (
        {"op": "add_task", "anchor": "/"},
        {"op": "move_task", "anchor": "/tasks/t2", "by": "-1"},
        {"op": "set", "anchor": "/env_info", "value": "It is Monday."},
    ):
        answer = edited(client, url, before, **fields)
        assert "X-Dialogue" not in answer
        after, _html, current = dialogue_of(answer)
        assert after != before
        assert len(current) == 1
        before = after
    for shown in ("", "other", before.split()[0], f"{before} x", " ".join(reversed(before.split()))):
        assert 'hx-target="#chat"' in asked(client, url, version=shown).text
    assert 'hx-target="#chat"' not in asked(client, url, version=before).text


def test_each_dialogue_has_its_own_version(client: Client, team: Team, url: str) -> None:
    shown: dict[str, str] = {}
    changes = 0

    def note(*, new: bool = True) -> None:
        """The dialogue has a new version, or one that the page has shown already with the same text."""
        nonlocal changes
        version, html, _ids = dialogue_of(asked(client, url, "/tasks/t2"))
        assert shown.setdefault(version, html) == html
        changes += new
        assert len(shown) == changes

    def post(action: str, **fields: str) -> None:
        answer = client.post(f"{url}{action}/", {"at": "/tasks/t2", **fields}, headers={"HX-Request": "true"})
        assert answer.status_code == 200
        # The page did not say what it shows.
        assert 'hx-target="#chat"' in answer.text

    note()
    text = "/tasks/t2/steps/s1/text"
    post("edit", op="set", anchor=text, value="TODO: say it.")
    note()
    post("undo")
    note(new=False)
    post("redo")
    note(new=False)
    of_text = re.compile(f'name="anchor" value="{text}">.*?name="value_hash" value="([^"]*)"', re.DOTALL)
    found = of_text.search(asked(client, url, "/tasks/t2", panel="findings").text)
    assert found is not None
    key = {"check": "dialogue.placeholder_text", "anchor": text, "value_hash": found[1]}
    post("waive", **key, reason="Meant so.")
    note()
    post("unwaive", **key)
    note(new=False)
    set_fields(actor=team.administrator, project=team.project, fields=FIELDS, seen=0)
    note()
    team.annotator.chosen_language = "zh-hans"
    team.annotator.save()
    note()


def test_a_case_always_comes(client: Client, team: Team) -> None:
    toolset = ensure_toolset_revision(actor=None, project=team.project, tools=TOOLS, name="ferries")
    dialogue = make_dialogue(team.project, case(), toolset=toolset)
    begin(team.project, [dialogue])
    url = opened(client, team, dialogue)
    version, _html, _ids = dialogue_of(asked(client, url, "/scenario"))
    assert version == ""
    assert 'hx-target="#chat"' in asked(client, url, "/scenario", version).text
