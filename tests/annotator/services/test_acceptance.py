"""Acceptance of the guideline: who must accept, until when it is enough, and that nobody gets work before."""

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from annotator.errors import Conflict, Denied, Hidden
from annotator.models import Event, GuidelineAcceptance
from annotator.services.acceptance import accept_guideline, require_acceptance, version_to_accept
from annotator.services.projects import publish_guideline
from tests.factories import Team, adopt_c3, make_item

pytestmark = pytest.mark.django_db


def publish(team: Team, number: int, *, asks_again: bool = False) -> None:
    publish_guideline(
        actor=team.administrator,
        project=team.project,
        text=f"Version {number}.",
        seen=number - 1,
        asks_again=asks_again,
    )


def owed(team: Team) -> int:
    found = version_to_accept(actor=team.annotator, project=team.project)
    return found.number if found else 0


def test_an_acceptance_is_enough_until_a_version_asks_again(team: Team) -> None:
    assert owed(team) == 0
    require_acceptance(actor=team.administrator, project=team.project, required=True)
    assert owed(team) == 0
    publish(team, 1)
    assert owed(team) == 1
    for _ in range(2):
        accept_guideline(actor=team.annotator, project=team.project, number=1)
    assert owed(team) == 0
    publish(team, 2)
    assert owed(team) == 0
    publish(team, 3, asks_again=True)
    assert owed(team) == 3
    with pytest.raises(Conflict, match="Version 3 of the guideline was published meanwhile"):
        accept_guideline(actor=team.annotator, project=team.project, number=2)
    with pytest.raises(Hidden):
        accept_guideline(actor=team.annotator, project=team.project, number=4)
    publish(team, 4)
    assert owed(team) == 4
    accept_guideline(actor=team.annotator, project=team.project, number=4)
    assert owed(team) == 0
    assert Event.objects.filter(kind="guideline.accepted").count() == 2
    first = GuidelineAcceptance.objects.first()
    assert first is not None
    with pytest.raises(IntegrityError), transaction.atomic():
        GuidelineAcceptance.objects.create(guideline=first.guideline, person=team.annotator)


def test_only_administrators_ask_for_it(team: Team) -> None:
    with pytest.raises(Denied):
        require_acceptance(actor=team.senior, project=team.project, required=True)
    with pytest.raises(Hidden):
        accept_guideline(actor=team.outsider, project=team.project, number=1)


def test_work_leads_to_the_page_and_the_page_to_work(team: Team, client: Client) -> None:
    adopt_c3(team)
    publish(team, 1)
    make_item(team, "self_check_single")
    slug = team.project.slug
    client.force_login(team.administrator)
    client.post(reverse("guideline-acceptance-setting", args=[slug]), {"required": "on"})
    client.force_login(team.annotator)
    refused = client.post(reverse("api-claim", args=[slug]), {}, content_type="application/json")
    assert refused.status_code == 409
    assert "Read version 1 of the guideline and accept it first." in refused.content.decode()
    page = client.post(reverse("work-next", args=[slug]), follow=True)
    assert page.redirect_chain == [(reverse("guideline-acceptance", args=[slug]), 302)]
    assert "I have read version 1 and accept it" in page.content.decode()
    publish(team, 2)
    late = client.post(reverse("guideline-acceptance", args=[slug]), {"number": "1"})
    assert late.status_code == 409
    assert "I have read version 2 and accept it" in late.content.decode()
    client.post(reverse("guideline-acceptance", args=[slug]), {"number": "2"})
    assert client.post(reverse("work-next", args=[slug])).headers["Location"].startswith("/work/")
    client.force_login(team.administrator)
    members = client.get(reverse("member-list", args=[slug])).content.decode()
    assert "Version 2," in members
    assert "not yet" in members
    [row] = client.get(reverse("api-guideline-acceptance-list", args=[slug])).json()["results"]
    assert (row["number"], row["person"]) == (2, team.annotator.public_id)
