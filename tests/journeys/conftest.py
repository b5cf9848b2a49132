"""A project with people in every role, its protocol in force, and windows to work in."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.factories import Team, adopt_c3, make_team
from tests.journeys.desk import Desk


@pytest.fixture
def team(transactional_db: None) -> Team:
    team = make_team("tools")
    adopt_c3(team)
    return team


@pytest.fixture
def desk_of(open_page: Callable[..., Page]) -> Callable[..., Desk]:
    """Open a window in which somebody is signed in: ``desk_of(team.annotator, width=320)``."""

    def open_desk(user: Any, **options: Any) -> Desk:
        return Desk(open_page(user, **options))

    return open_desk
