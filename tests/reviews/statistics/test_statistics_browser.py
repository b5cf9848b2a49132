"""Statistics in a browser: drawings that axe has nothing against, light and dark, and that fit any screen."""

from typing import Any

import pytest

from reviews.services.statistics.all_counts import fold_all
from tests.factories import adopt_c3, changed, claim_and_submit, current, make_item, make_team

pytestmark = [pytest.mark.browser]


def test_statistics_are_drawn_for_everybody(transactional_db: None, open_page: Any, check_accessibility: Any) -> None:
    team = make_team()
    adopt_c3(team)
    finding = {"kind": "answer_wrong", "anchor": "/tasks/t1", "note": ""}
    item = make_item(team, "cross_check")
    claim_and_submit(team.annotators[1], item, "approve")
    claim_and_submit(team.annotators[2], item, "fix", document=changed(current(item)), named_errors=[finding])
    claim_and_submit(team.senior, item, "reject")
    fold_all()
    page = open_page(team.administrator, width=1440)
    one = team.annotator.public_id
    for path in ("", "accuracy/", "agreement/", f"people/{one}/"):
        page.set_viewport_size({"width": 1440, "height": 900})
        page.goto(f"/p/{team.project.slug}/statistics/{path}")
        assert page.locator("svg.chart").count()
        page.evaluate("document.querySelectorAll('main details').forEach(one => { one.open = true })")
        check_accessibility(page)
        for width in (800, 320):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (path, width)
