"""Toolsets for programs: the API and the command that imports one."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotator.management.base import Stop
from annotator.models import Event, Toolset
from annotator.services.toolsets.categories import start_categories
from tests.factories import Team, make_team, make_toolset

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

CODE = '''
def set_alarm(hour: int, label: str = "Wake up") -> str:
    """Set an alarm.

    Args:
        hour: The hour, from 0 to 23.
        label: What it is for.
    """
'''


@pytest.fixture
def team() -> Team:
    team = make_team()
    start_categories(team.project)
    return team


class Api:
    def __init__(self, team: Team) -> None:
        self.client = Client()
        self.client.force_login(team.administrator)
        self.base = reverse("api-toolset-list", args=[team.project.slug])

    def send(self, method: str, path: str, data: Any = None) -> tuple[int, Any]:
        call = getattr(self.client, method)
        answer = call(self.base + path, data=data, content_type="application/json") if data else call(self.base + path)
        return answer.status_code, answer.json()


def test_a_toolset_is_added_from_a_text_or_from_tools_found_described_and_counted(team: Team) -> None:
    api = Api(team)
    details = {"name": "Alarms", "category": "Home", "tags": ["Clock"], "licence": "MIT", "source": "ours"}
    status, added = api.send("post", "", {"text": CODE, **details})
    assert (status, added["kind"], added["notes"]) == (201, "python", [])
    toolset = added["toolset"]
    assert (toolset["number"], toolset["tool_count"], toolset["error_count"], toolset["warning_count"]) == (1, 1, 0, 0)
    assert (toolset["category"], toolset["tags"], toolset["findings"]) == ("Home", ["clock"], [])
    assert toolset["tools"][0]["function"]["parameters"]["required"] == ["hour"]
    status, added = api.send("post", "", {"tools": [{"name": "snooze"}], "name": "Snooze"})
    assert (status, added["kind"]) == (201, "")
    assert [finding["check"] for finding in added["toolset"]["findings"]] == ["toolset.no_description"]
    for query, names in (
        ("", ["Alarms", "Snooze"]),
        ("?category=Home", ["Alarms"]),
        ("?findings=warnings", ["Snooze"]),
    ):
        assert [one["name"] for one in api.send("get", query)[1]["results"]] == names
    assert api.send("get", "?category=Smoke")[0] == 400
    status, found = api.send("get", "statistics/?tag=clock")
    assert status == 200
    assert found == {
        "toolsets": 1, "tools": 1, "broken": 0, "required_parameters": 1,
        "parameters": {"string": {"1": 1}, "integer": {"1": 1}}, "tools_by_parameters": {"2": 1},
    }  # fmt: skip
    status, changed = api.send("put", f"{toolset['public_id']}/", details | {"name": "Clock", "tags": []})
    assert (status, changed["name"], changed["tags"], changed["sha256"]) == (200, "Clock", [], toolset["sha256"])


@pytest.mark.parametrize(
    ("sent", "status", "sentence"),
    [
        ({"name": "A"}, 422, "Send either “tools” or “text”."),
        ({"name": "A", "text": CODE, "tools": [{"name": "x"}]}, 422, "Send either “tools” or “text”."),
        ({"name": "A", "text": "{"}, 422, "The file cannot be read"),
        ({"name": "A", "text": CODE, "kind": "smoke"}, 400, "kind"),
        ({"name": "A", "tools": []}, 422, "There are no tools in it."),
        ({"name": "A", "tools": [{"name": ""}]}, 422, "has no name"),
        ({"name": "A", "text": CODE, "category": "Smoke"}, 422, "no category “Smoke”"),
        ({"name": "A", "text": CODE, "tags": ["?"]}, 422, "can’t be a tag"),
    ],
)
def test_the_api_refuses_with_a_sentence(team: Team, sent: dict[str, Any], status: int, sentence: str) -> None:
    found, answer = Api(team).send("post", "", sent)
    assert found == status
    assert sentence in json.dumps(answer, ensure_ascii=False)
    assert Toolset.objects.count() == 0


def run(*arguments: str) -> tuple[dict[str, Any], str]:
    out, told = io.StringIO(), io.StringIO()
    call_command("import_toolset", *arguments, stdout=out, stderr=told)
    return json.loads(out.getvalue().splitlines()[-1]), told.getvalue()


def test_the_command_imports_a_file_and_names_who_did_it(team: Team, tmp_path: Path) -> None:
    file = tmp_path / "alarms.py"
    file.write_text(CODE)
    project = f"--project={team.project.slug}"
    found, told = run(str(file), project, "--name=Alarms", "--category=Home", "--tag=clock", "--licence=MIT")
    toolset = Toolset.objects.select_related("head", "category").get()
    assert toolset.head is not None
    assert found == {
        "toolset": toolset.public_id, "name": "Alarms", "kind": "python", "tools": 1, "errors": 0, "warnings": 0,
        "notes": 0, "sha256": toolset.head.content_hash,
    }  # fmt: skip
    assert "Imported Alarms with 1 function, 0 errors and 0 warnings." in told
    assert Event.objects.get(kind="toolset.added").actor == team.administrator
    make_toolset(team.project)
    for arguments, sentence in (
        ([str(file), "--project=nowhere"], "There is no project"),
        ([str(file), project], "no title"),
        ([str(tmp_path / "none"), project], "Can't read"),
        ([str(file), project, "--name=A", "--as=stranger"], "No administrator of"),
    ):
        with pytest.raises(Stop, match=sentence):
            run(*arguments)
