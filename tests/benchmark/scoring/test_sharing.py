"""Public links to leaderboards, and a model over several releases."""

import xml.etree.ElementTree as ET
from html import unescape

import pytest
from django.test import Client
from django.urls import reverse

from annotator.errors import Conflict, Denied
from annotator.models import Event
from benchmark.models import ReleaseState, Run, SharedBoard
from benchmark.services.runs import boards, sharing
from tests.benchmark.conftest import run_release

NASTY = "<script>alert(1)</script> & sons"


@pytest.fixture
def pages(release, predictions_of, score):
    """The public pages of scored runs: page, table, badge."""
    score(predictions_of(NASTY) + predictions_of("poor", wrong=("weather-1", "weather-2")))

    def links():
        token = SharedBoard.objects.get().token
        return [reverse(name, args=[token]) for name in ("shared-scores", "shared-table", "shared-badge")]

    return links


def test_a_leaderboard_is_public_only_while_it_is_shared(team, release, pages, client):
    url = reverse("score-board-share", args=[team.project.slug, release.public_id])
    board = client.get(reverse("score-board", args=[team.project.slug, release.public_id])).content.decode()
    assert "Make the leaderboard public" in board
    assert client.post(url).status_code == 302
    before = pages()
    anyone = Client()
    page = anyone.get(before[0])
    text = unescape(page.content.decode())
    assert page.headers["X-Robots-Tag"] == "noindex"
    assert NASTY in text
    assert NASTY not in page.content.decode()
    assert release.sha256 in text
    # Figures only: nothing of a dialogue, and no way to a run.
    for secret in ("weather-1", "Ghent", Run.objects.first().public_id, team.administrator.username):
        assert secret not in text
    assert anyone.get(f"{before[0]}?slice={boards.leaderboard(release, {}).slices[0]}").status_code == 200
    assert anyone.get(f"{before[0]}?slice=nothing").status_code == 400
    for picture in before[1:]:
        response = anyone.get(picture)
        assert response.headers["Content-Type"] == "image/svg+xml"
        found = "".join(ET.fromstring(response.content).itertext())  # noqa: S314 - our own picture
        assert NASTY[:20] in found
        assert "100.0" in found
    client.post(url, {"end": "1"})
    assert [anyone.get(link).status_code for link in before] == [404] * 3
    client.post(url)
    assert pages() != before
    assert list(Event.objects.filter(kind__startswith="scores.").order_by("pk").values_list("kind", flat=True)) == [
        "scores.shared", "scores.unshared", "scores.shared"
    ]  # fmt: skip


def test_who_may_share_what(team, release, pages):
    for person in (team.annotator, team.seniors[0]):
        with pytest.raises(Denied):
            sharing.share_board(actor=person, release=release)
        with pytest.raises(Denied):
            sharing.unshare_board(actor=person, release=release)
    release.state = ReleaseState.FAILED
    with pytest.raises(Conflict):
        sharing.share_board(actor=team.administrator, release=release)


def test_a_board_without_runs_can_be_shared(team, release):
    token = sharing.share_board(actor=team.administrator, release=release).token
    for name in ("shared-scores", "shared-table", "shared-badge"):
        assert "o scores yet" in Client().get(reverse(name, args=[token])).content.decode()


def test_a_run_shows_its_model_over_releases(team, release, predictions_of, score, client):
    score(predictions_of("m", wrong=("weather-1",)))
    score(predictions_of("other"))
    first = Run.objects.get(model="m")
    assert len(boards.over_releases(first)) == 1
    page = client.get(reverse("run", args=[team.project.slug, first.public_id])).content.decode()
    assert "over releases" not in page
    later = run_release(team, "1.1", native_format="wild")
    score(predictions_of("m"), release=later)
    runs = boards.over_releases(first)
    assert [one.run.release.version for one, _ in runs] == ["1.0", "1.1"]
    assert [figure.value for _, figure in runs] == [pytest.approx(2 / 3), 1.0]
    page = client.get(reverse("run", args=[team.project.slug, first.public_id])).content.decode()
    assert reverse("run", args=[team.project.slug, runs[1][0].run.public_id]) in page
