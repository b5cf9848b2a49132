"""The alarm over discrepancies: said once each time the rate is crossed."""

import pytest

from annotator.models import Event
from reviews.core.protocols import load_preset
from reviews.models import DiscrepancyAlarm
from reviews.services.protocols.versions import adopt_protocol
from reviews.services.queue.progress import read_progress
from reviews.services.statistics.alarms import watch_all_discrepancies, watch_discrepancies
from reviews.services.statistics.all_counts import fold_all
from reviews.services.statistics.counters import write_deltas
from tests.factories import Team, make_team

pytestmark = pytest.mark.django_db


def compare(team: Team, compared: int, discrepant: int) -> int:
    """So many more items compared; returns how many alarms that raises."""
    deltas = {"compared:cross_check": compared, "discrepant:cross_check": discrepant}
    write_deltas(project_id=team.project.pk, deltas=deltas)
    fold_all()
    return watch_all_discrepancies()


def kinds(team: Team) -> list[str]:
    events = Event.objects.filter(project=team.project, kind__startswith="protocol.discrepancy").order_by("pk")
    return [event.kind.rpartition("_")[2] for event in events]


def test_each_crossing_is_said_once(team: Team) -> None:
    # One in twenty is not above 5 %.
    assert compare(team, 20, 1) == 0
    assert compare(team, 1, 1) == 1
    assert compare(team, 1, 1) == 0
    assert kinds(team) == ["alarm"]
    event = Event.objects.get(kind="protocol.discrepancy_alarm")
    assert event.after == {
        "stage": "cross_check", "title": "Cross-check", "discrepant": 2, "compared": 21, "rate": 0.0952, "above": 0.05,
    }  # fmt: skip
    # 3 of 60: at the rate, not above it.
    assert compare(team, 38, 0) == 0
    assert kinds(team) == ["alarm", "cleared"]
    assert compare(team, 1, 1) == 1
    assert kinds(team) == ["alarm", "cleared", "alarm"]
    assert DiscrepancyAlarm.objects.filter(cleared_at=None).count() == 1


def test_a_stage_is_silent_until_enough_items_are_compared(team: Team) -> None:
    assert compare(team, 2, 1) == 0
    assert compare(team, 17, 17) == 0
    [stage] = [one for one in read_progress(project=team.project).stages if one.key == "cross_check"]
    assert (stage.compared, stage.alarm_after, stage.alarm) == (19, 20, False)
    assert compare(team, 1, 0) == 1
    [stage] = read_progress(project=team.project).alarms
    assert stage.key == "cross_check"


def test_how_many_that_are_is_for_the_protocol_to_say(team: Team) -> None:
    assert compare(team, 19, 3) == 0
    protocol = load_preset("c3").model_copy(update={"alarm_after": 5})
    adopt_protocol(actor=team.administrator, project=team.project, protocol=protocol)
    assert watch_all_discrepancies() == 1
    # With more to be compared first the alarm is over again.
    protocol = load_preset("c3").model_copy(update={"alarm_after": 100})
    adopt_protocol(actor=team.administrator, project=team.project, protocol=protocol)
    assert watch_all_discrepancies() == 0
    assert kinds(team) == ["alarm", "cleared"]


def test_the_task_that_folds_watches(team: Team) -> None:
    from reviews.tasks import fold_counts as task

    write_deltas(project_id=team.project.pk, deltas={"compared:cross_check": 20, "discrepant:cross_check": 2})
    task()
    assert kinds(team) == ["alarm"]


def test_without_a_protocol_there_is_no_rate() -> None:
    assert watch_discrepancies(make_team().project) == []
