"""Pages of the workspace for calls that no person would read: what is shown has a bound, and nothing is lost by it."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotator.core.checks.running import MAX_LISTED
from annotator.core.forms.fields import MAX_FIELDS
from annotator.core.provenance.work_budget import MAX_WORK, Work
from annotator.models import Draft
from annotator.presentation.components.json_text import MAX_SHOWN
from annotator.presentation.components.sources import MAX_ROWS
from reviews.services.queue.claims import claim_slot
from tests.factories import adopt_c3, begin, make_dialogue, make_document, make_team, open_slot

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]
STEP = "/tasks/t1/steps/s0"
#: A list of 2 MB made a page of 12 MB, 180 KB of keys one of 37 MB.
CALLS: dict[str, tuple[dict[str, Any], Any]] = {
    "keys": ({f"k{n}": f"nowhere {5_000 + n}" for n in range(13_000)}, {}),
    "few keys": ({f"k{n}": f"nowhere {5_000 + n}" for n in range(MAX_FIELDS + 100)}, {}),
    "numbers": ({"city": "Ghent", "date": list(range(300_000, 390_000))}, {}),
    "observation": ({"city": "Ghent"}, list(range(300_000))),
}


def workspace(client: Client, arguments: dict[str, Any], observation: Any) -> str:
    team = make_team()
    adopt_c3(team)
    document = make_document()
    document["tasks"][0]["steps"][0] |= {"arguments": arguments, "observation": observation}
    if "date" in arguments:
        document["tasks"][0]["user_message"] = " ".join(map(str, range(100_000, 128_000)))
    [dialogue] = begin(team.project, [make_dialogue(team.project, document)])
    client.force_login(team.annotator)
    return reverse("workspace", args=[claim_slot(actor=team.annotator, slot=open_slot(dialogue)).slot.public_id])


@pytest.fixture
def short_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of the work for the sources of values: "numbers" uses up that, too."""
    monkeypatch.setattr(Work.__init__, "__defaults__", (MAX_WORK // 10,))


@pytest.mark.usefixtures("short_search")
@pytest.mark.parametrize("name", CALLS)
def test_a_page_of_a_huge_call_shows_a_part_and_says_so(client: Client, name: str) -> None:
    arguments, observation = CALLS[name]
    address = workspace(client, arguments, observation)
    page = client.get(address, {"at": STEP, "panel": "edit"}).content.decode()
    # The editor holds arguments and observation once each; all else is short.
    assert len(page) < 4 * MAX_SHOWN + 3_000_000
    assert page.count('name="op" value="set_argument_form"') == (0 if name in ("keys", "numbers") else 1)
    assert page.count('name="arg:json:') + page.count('name="arg:/') <= MAX_FIELDS
    assert page.count("<li data-look=") <= MAX_ROWS
    assert page.count('<li class="finding') <= 2 * (2 * MAX_LISTED)
    assert ("values are shown" in page) == (name != "observation")
    assert ("in the editor or through the API" in page) == (name != "few keys")
    assert ("Only the first 300 fields" in page) == (name == "few keys")
    found = client.get(address, {"at": STEP, "panel": "findings"}).content.decode()
    assert len(found) < 4 * MAX_SHOWN + 2_000_000
    assert (f"more than {MAX_LISTED} places" in found) == ("keys" in name)
    assert ("values of this call were traced to their sources" in found) == (name in ("keys", "numbers"))


def test_saving_the_form_of_a_call_keeps_the_arguments_that_have_no_field(client: Client) -> None:
    arguments = CALLS["few keys"][0]
    address = workspace(client, arguments, {})
    client.get(address)
    posted = {"op": "set_argument_form", "anchor": STEP, "at": STEP, "arg:/k7": "Ghent", "seen": "0"}
    assert client.post(f"{address}edit/", posted).status_code == 302
    assert Draft.objects.get().document()["tasks"][0]["steps"][0]["arguments"] == arguments | {"k7": "Ghent"}
