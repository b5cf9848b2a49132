"""Fixtures of more than one file here."""

from collections.abc import Iterator
from importlib import reload
from typing import Any

import pytest
from django.urls import clear_url_caches

from tests.factories import Team, make_team, make_user


@pytest.fixture
def team() -> Team:
    return make_team()


@pytest.fixture
def demo(db: None, settings: Any) -> Iterator[list[Any]]:
    """The demo's addresses, and two people who have a button."""
    import annotator.config.urls
    import annotator.urls

    def serve(demo: bool) -> None:
        settings.DEMO = demo
        reload(annotator.urls)
        reload(annotator.config.urls)
        clear_url_caches()

    serve(True)
    yield [make_user("ada", demo_note="Administers the demo."), make_user("bob", demo_note="Annotates.")]
    serve(False)
