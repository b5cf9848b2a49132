"""Every preset can be adopted on the protocol page, and the project's pages show it."""

import pytest
from django.test import Client
from django.urls import reverse

from reviews.models import ProtocolVersion
from reviews.protocols import PRESETS
from tests.factories import make_team

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_a_preset_is_adopted_and_shown(client: Client, preset: str) -> None:
    team = make_team()
    client.force_login(team.administrator)
    page = reverse("protocol", args=[team.project.slug])
    assert client.post(page, {"preset": preset}, follow=True).status_code == 200
    assert ProtocolVersion.objects.get(project=team.project).preset == preset
    for name in ("project", "protocol", "protocol-edit"):
        assert client.get(reverse(name, args=[team.project.slug])).status_code == 200
