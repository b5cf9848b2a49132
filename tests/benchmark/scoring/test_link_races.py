"""Administrators who renew a public link at once."""

import pytest

from benchmark.models import ErrataLink, SharedBoard
from benchmark.services.releases import errata as reports
from benchmark.services.runs import sharing
from tests.racing import lost, race

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]


@pytest.mark.parametrize(("switch_on", "links"), [(sharing.share_board, SharedBoard), (reports.open_link, ErrataLink)])
def test_of_links_that_are_renewed_at_once_one_is_left(team, release, switch_on, links):
    first = switch_on(actor=team.administrator, release=release)
    found = race(*[lambda: switch_on(actor=team.administrator, release=release, renew=True)] * 4)
    assert lost(found) == []
    (left,) = links.objects.all()
    assert left.token != first.token
    assert left.token in {one.token for one in found}
