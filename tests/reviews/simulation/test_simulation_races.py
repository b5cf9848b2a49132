"""Sixteen people work through a simulated project at one moment, and are cut off in the middle of what they do.

Their processes are killed, or the server ends their connections; what a transaction had done is rolled back, and
somebody comes back and goes on. PostgreSQL only: on SQLite writers take turns.
"""

import pickle
import subprocess
import sys
import threading
from collections import Counter as Tally
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.db import InterfaceError, OperationalError, connection, connections

from annotator.models.content import Dialogue, DialogueStatus
from reviews.core.simulation import Person, build_model
from reviews.models import Review
from reviews.services.simulation import runner
from reviews.services.simulation.runner import Simulation, draw, review_next
from reviews.services.simulation.setup import set_up
from reviews.services.statistics.agreement import AGREEMENT
from reviews.services.statistics.all_counts import fold_all
from reviews.services.statistics.counters import recount, stored_counters
from reviews.services.statistics.item_history import ITEM_HISTORY
from tests.conftest import ROOT
from tests.consistency import assert_consistent, claimed_twice
from tests.racing import lost, race
from tests.reviewer_processes import Outcome

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres, pytest.mark.slow]

#: After so many reviews of them all, somebody's connection is broken, or their process killed.
BREAK_EVERY = 6


class Floor:
    """The state of all workers: who is idle, and who has which connection."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self.people = simulation.model.people
        self.change = threading.Condition(threading.RLock())
        self.turns = 0
        self.broken = 0
        self.idle: set[str] = set()
        self.backends: dict[str, int] = {}

    def work(self, person: Person) -> None:
        """Take turns until nobody finds anything any more."""
        while True:
            before = self.turns
            try:
                connection.ensure_connection()
                self.backends[person.name] = connection.connection.info.backend_pid
                if review_next(self.simulation, person) is not None:
                    self.count(person)
                elif self.wait(person, before):
                    return
            except (OperationalError, InterfaceError) as error:
                if not broken_off(error):
                    raise
                connections.close_all()
                # It may have done its work all the same, and others may have some now.
                self.tell_everybody()

    def tell_everybody(self) -> None:
        """There may be work again."""
        with self.change:
            self.turns += 1
            self.idle.clear()
            self.change.notify_all()

    def count(self, person: Person) -> None:
        """One more review; now and then somebody else's connection breaks, wherever they are."""
        self.tell_everybody()
        with self.change:
            others = [name for name in sorted(self.backends) if name != person.name]
            victim = self.backends[others[self.turns % len(others)]] if others else None
        if self.turns % BREAK_EVERY == 0 and victim is not None:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_terminate_backend(%s)", [victim])
            self.broken += 1

    def wait(self, person: Person, before: int) -> bool:
        """Wait for the others, or draw what they wait for; whether all of them are through."""
        with self.change:
            if self.turns != before:
                return False
            everybody = len(self.people)
            if len(self.idle | {person.name}) == everybody and draw(self.simulation):
                self.tell_everybody()
                return False
            self.idle.add(person.name)
            self.change.notify_all()
            self.change.wait_for(lambda: person.name not in self.idle or len(self.idle) == everybody, timeout=120)
            return person.name in self.idle


def broken_off(error: Exception) -> bool:
    """Whether the server ended the connection; a deadlock, say, is another matter."""
    code = getattr(error.__cause__, "sqlstate", None)
    return code == "57P01" or isinstance(error, InterfaceError) or "closed" in str(error)


@pytest.mark.parametrize("preset", ["c3", "wild"])
def test_sixteen_people_whose_processes_are_killed(
    preset: str, process_environment: dict[str, str], tmp_path: Path
) -> None:
    simulation = sixteen(preset)
    handed_over, came_back = tmp_path / "play", tmp_path / "outcome"
    handed_over.write_bytes(pickle.dumps(simulation))
    command = [sys.executable, "-m", "tests.reviewer_processes", str(handed_over), str(came_back), str(BREAK_EVERY)]
    done = subprocess.run(
        command, cwd=ROOT, env=process_environment, capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 0, done.stderr[-4000:]
    outcome: Outcome = pickle.loads(came_back.read_bytes())  # noqa: S301 - of our own making
    assert len(outcome.killed) > 3
    assert outcome.open_workspace > 0
    simulation.records += outcome.records
    end_well(simulation, len(outcome.killed))


def test_sixteen_people_whose_connections_break() -> None:
    simulation = sixteen("cctu")
    floor = Floor(simulation)
    assert lost(race(*(partial(floor.work, person) for person in simulation.model.people))) == []
    assert floor.broken > 3
    end_well(simulation, floor.broken)


def sixteen(preset: str) -> Simulation:
    """A project that waits for them."""
    return set_up(
        model=build_model(seed=11, dialogues=24, annotators=13, experts=3), preset=preset, slug=f"sim-{preset}"
    )


def end_well(simulation: Simulation, cut_off: int) -> None:
    """Let the last person who was cut off return, and check that everything is consistent."""
    runner._review_all(simulation, lambda reviews: None)
    project = simulation.project
    assert set(Dialogue.objects.filter(project=project).values_list("status", flat=True)) <= {
        DialogueStatus.VERIFIED, DialogueStatus.REJECTED,
    }  # fmt: skip
    assert list(claimed_twice(project)) == []
    assert_consistent(project)
    nothing_lost_or_doubled(simulation, cut_off)
    fold_all()
    assert stored_counters(project) == recount(project)
    assert AGREEMENT.recount(project) == []
    assert ITEM_HISTORY.recount(project) == []


def nothing_lost_or_doubled(simulation: Simulation, cut_off: int) -> None:
    """Every confirmed submission is there once; beyond that at most those whose answer was lost."""
    reviews: Any = Review.objects.filter(project=simulation.project)
    there = Tally(
        reviews.values_list("dialogue__external_id", "slot__stage", "slot__round", "stage_run__cycle__number", "person")
    )
    said = Tally((one.item, one.stage, one.round, one.cycle, one.person) for one in simulation.records)
    assert set(there.values()) == {1}
    assert said <= there
    assert (there - said).total() <= cut_off
    verdicts = {(one.item, one.stage, one.round, one.cycle, one.person): one.verdict for one in simulation.records}
    for item, stage, round, cycle, person, verdict in reviews.values_list(
        "dialogue__external_id", "slot__stage", "slot__round", "stage_run__cycle__number", "person", "verdict"
    ):
        assert verdicts.get((item, stage, round, cycle, person), verdict) == verdict
