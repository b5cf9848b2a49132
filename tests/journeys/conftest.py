"""A project with people in every role, its protocol in force, and windows to work in."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.factories import Team, adopt_c3, make_team
from tests.journeys.browser_window import BrowserWindow


@pytest.fixture
def team(transactional_db: None) -> Team:
    team = make_team("tools")
    adopt_c3(team)
    return team


@pytest.fixture
def window_of(open_page: Callable[..., Page]) -> Callable[..., BrowserWindow]:
    """Open a window in which somebody is signed in: ``window_of(team.annotator, width=320)``."""

    def open_window(user: Any, **options: Any) -> BrowserWindow:
        return BrowserWindow(open_page(user, **options))

    return open_window
