"""Fixtures of more than one file here."""

import pytest

from tests.factories import Team, adopt_c3, make_team


@pytest.fixture
def team(request: pytest.FixtureRequest) -> Team:
    """People in every role, and the protocol “c3” in force; how many people, a module says in TEAM."""
    team = make_team(**getattr(request.module, "TEAM", {}))
    adopt_c3(team)
    return team
