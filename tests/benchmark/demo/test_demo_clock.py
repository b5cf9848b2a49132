"""The clock of the demo: while it is made, services get a pretended time, and afterwards the real one."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.core.management import CommandError, call_command
from django.db.models.functions import Now
from django.utils import timezone

from annotator.models import Project
from benchmark.demo import project as demo
from benchmark.demo.clock import Clock, using_clock, working_days
from tests.factories import make_team

THEN = datetime(2026, 3, 27, 9, tzinfo=UTC)


def test_a_clock_moves_on_and_never_back() -> None:
    clock, zone = Clock(THEN), ZoneInfo("Europe/Zurich")
    assert THEN < clock.now() < clock.now()
    clock.advance(90)
    assert clock.moment - THEN >= timedelta(seconds=90)
    before = clock.moment
    clock.move_to(date(2026, 3, 27), 9, zone)
    assert clock.moment == before
    # The clocks of that zone change on the 29th: nine is then seven in UTC.
    clock.move_to(date(2026, 3, 30), 9, zone)
    assert clock.moment == datetime(2026, 3, 30, 7, tzinfo=UTC)


def test_nobody_works_at_weekends() -> None:
    assert working_days(3, before=date(2026, 3, 30)) == [date(2026, 3, 25), date(2026, 3, 26), date(2026, 3, 27)]


@pytest.mark.django_db
def test_services_and_the_database_tell_the_time_that_is_pretended() -> None:
    with using_clock(Clock(THEN)):
        project = Project.objects.create(slug="then", name="Then")
        assert timezone.now() - THEN < timedelta(seconds=1)
        told = Project.objects.annotate(told=Now()).get().told
        assert Project.objects.filter(created_at__lt=Now() - timedelta(seconds=1)).count() == 0
        assert Project.objects.filter(created_at__lt=Now()).count() == 1
    assert project.created_at - THEN < timedelta(seconds=1)
    assert told - THEN < timedelta(seconds=1)
    assert timezone.now() - THEN > timedelta(days=1)
    assert Project.objects.annotate(told=Now()).get().told - THEN > timedelta(days=1)


@pytest.mark.any_database
@pytest.mark.django_db
def test_half_a_demo_is_refused_with_what_to_do() -> None:
    make_team(slug=demo.HARBOUR)
    with pytest.raises(CommandError, match=r"“harbour-radio” already exists.*make demo-reset"):
        call_command("load_demo")
