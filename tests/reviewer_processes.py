"""Simulated reviewers who work at the same time, each in a process of its own, and are killed one after the other.

A program: ``python -m tests.reviewer_processes SIMULATION OUTCOME KILL_EVERY`` reads a pickled ``Simulation`` from a
file and writes a pickled ``Outcome`` to another. The reviewers' processes are forked from it, because starting one
afresh takes longer than a review. It never opens a database connection itself: one that is open when a process forks
would belong to both.
"""

import contextlib
import multiprocessing
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reviews.services.simulation.runner import ReviewRecord, Simulation

#: Seconds without a word from anybody after which they are taken to wait for one another.
PATIENCE = 120


@dataclass
class Outcome:
    """The result: everything that was reported as submitted, and whom it affected."""

    records: "list[ReviewRecord]" = field(default_factory=list)
    #: Names of the people who were killed, each time.
    killed: list[str] = field(default_factory=list)
    #: How many of them were in the middle of something.
    open_workspace: int = 0


@dataclass
class Worker:
    """One person's process, and what it was last told to do: ``turn``, ``draw`` or nothing."""

    name: str
    process: BaseProcess
    pipe: Connection
    doing: str = ""
    #: How many reviews there were when it was told so.
    since: int = 0


class ReviewerTeam:
    """All of them, and who kills whom."""

    def __init__(self, simulation: "Simulation", kill_every: int) -> None:
        self.simulation, self.kill_every = simulation, kill_every
        self.outcome = Outcome()
        self.changes = 0
        self.workers = {person.name: self.start(person.name) for person in simulation.model.people}

    def start(self, name: str) -> Worker:
        """A process for this person. After one was killed, the next starts from nothing."""
        forking = multiprocessing.get_context("fork")
        ours, theirs = forking.Pipe()
        process = forking.Process(target=work, args=(self.simulation, name, theirs), daemon=True)
        process.start()
        theirs.close()
        return Worker(name, process, ours)

    def run(self) -> Outcome:
        """Let them take turns until nobody finds anything any more."""
        for worker in self.workers.values():
            self.tell(worker, "turn")
        while busy := {worker.pipe: worker for worker in self.workers.values() if worker.doing}:
            ready = wait(list(busy), PATIENCE)
            if not ready:
                raise AssertionError(f"They wait for one another: {', '.join(one.name for one in busy.values())}.")
            for pipe in ready:
                worker = busy[pipe]  # type: ignore[index]
                if self.workers[worker.name] is worker:
                    self.hear(worker)
        for worker in self.workers.values():
            self.tell(worker, "")
            worker.process.join(PATIENCE)
        return self.outcome

    def hear(self, worker: Worker) -> None:
        """Read what a person has done; an exception in their process ends the test."""
        found: Any = worker.pipe.recv()
        did, worker.doing = worker.doing, ""
        if isinstance(found, Exception):
            raise found
        if did == "turn" and found is not None:
            self.outcome.records.append(found)
        if found:
            self.changes += 1
            if did == "turn" and len(self.outcome.records) % self.kill_every == 0:
                self.kill_another(worker)
            for one in self.workers.values():
                if not one.doing:
                    self.tell(one, "turn")
        elif did == "turn" and worker.since != self.changes:
            # There may be work that was not there when they looked.
            self.tell(worker, "turn")
        elif did == "turn" and not any(one.doing for one in self.workers.values()):
            self.tell(worker, "draw")

    def tell(self, worker: Worker, what: str) -> None:
        """Tell a person what to do; nothing: to go home."""
        worker.doing, worker.since = what, self.changes
        worker.pipe.send(what)

    def kill_another(self, worker: Worker) -> None:
        """Kill somebody else, wherever they are, and let a fresh process go on for them."""
        others = [one for _, one in sorted(self.workers.items()) if one is not worker]
        others = [one for one in others if one.doing] or others
        victim = others[self.changes % len(others)]
        assert victim.process.pid is not None
        os.kill(victim.process.pid, signal.SIGKILL)
        victim.process.join()
        self.outcome.killed.append(victim.name)
        # It may have told of its work before it died.
        with contextlib.suppress(EOFError, OSError):
            while victim.pipe.poll():
                found = victim.pipe.recv()
                if found and victim.doing == "turn":
                    self.outcome.records.append(found)
                victim.doing = ""
        self.outcome.open_workspace += bool(victim.doing)
        victim.pipe.close()
        self.changes += 1
        self.workers[victim.name] = self.start(victim.name)
        self.tell(self.workers[victim.name], "turn")

    def end(self) -> None:
        """Leave nobody behind."""
        for worker in self.workers.values():
            worker.process.kill()
            worker.process.join()


def work(simulation: "Simulation", name: str, pipe: Connection) -> None:
    """One person's process: do as one is told and say what came of it."""
    from reviews.services.simulation.runner import draw, review_next

    [person] = [one for one in simulation.model.people if one.name == name]
    while what := pipe.recv():
        try:
            pipe.send(review_next(simulation, person) if what == "turn" else draw(simulation))
        except Exception:
            pipe.send(AssertionError(f"{name}: {traceback.format_exc()}"))


@contextlib.contextmanager
def reviewer_team(simulation: "Simulation", kill_every: int) -> Iterator[ReviewerTeam]:
    """A team whose processes are all ended afterwards."""
    made = ReviewerTeam(simulation, kill_every)
    try:
        yield made
    finally:
        made.end()


def main(play_file: str, outcome_file: str, kill_every: int) -> None:
    """Read, run, write."""
    import django

    django.setup()
    simulation = pickle.loads(Path(play_file).read_bytes())  # noqa: S301 - written by the test that starts this
    with reviewer_team(simulation, kill_every) as people:
        outcome = people.run()
    Path(outcome_file).write_bytes(pickle.dumps(outcome))


if __name__ == "__main__":
    # Pickled objects must be found under the module's own name.
    from tests import reviewer_processes as itself

    itself.main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
