"""Generations whose worker is killed, or whose endpoint fails: they go on, and nothing is paid twice or lost."""

import random
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from annotator.models import JobState
from annotator.services.jobs import jobs
from annotator.translation import translated
from benchmark.core.generation.purposes import Role
from benchmark.core.generation.records import request_hash
from benchmark.demo.chat_server import Answer, ChatServer, said, serving
from benchmark.demo.generation_script import MODEL, TOOLS, scripted_records
from benchmark.models import Chooser, Generation
from benchmark.services.generation.requests import Player, continue_generation, start_generation
from benchmark.services.inference import client as clients
from benchmark.services.inference.endpoints import add_endpoint
from tests.benchmark.generation.conftest import make_setup
from tests.factories import Team, make_team, make_toolset
from tests.job_processes import JobProcesses, job_processes

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.any_database]
CELL = ("multi_tool", "clarify", "single_tool", "chat")


def script() -> Callable[[dict[str, Any]], Answer]:
    known = {one.request: one.answer for one in scripted_records(make_setup(*CELL))}
    return lambda body: said(known[request_hash(MODEL, body["messages"][0]["content"], {})])


def start(team: Team, server: ChatServer, **more: Any) -> Generation:
    endpoint = add_endpoint(
        actor=team.administrator, project=team.project, name="Local", base_url=server.url, key="sk-secret"
    )
    return start_generation(
        actor=team.administrator, project=team.project, toolset=make_toolset(team.project, TOOLS, "trips"),
        setup=make_setup(*CELL).to_json(), players=dict.fromkeys(Role, Player(MODEL, endpoint)),
        chooser=Chooser.FIRST, wake_worker=False, **more,
    )  # fmt: skip


def reread(generation: Generation) -> Generation:
    return Generation.objects.select_related("job", "dialogue__head", "project").get(pk=generation.pk)


def result_of(generation: Generation) -> tuple[Any, ...]:
    """What a generation came to: the bytes of its dialogue, everything that led to it, and what it used."""
    assert generation.dialogue is not None
    assert generation.dialogue.head is not None
    return generation.dialogue.head.content, generation.state, generation.requests, generation.tokens


def undisturbed() -> tuple[Any, ...]:
    with serving(script()) as server:
        generation = start(make_team("calm"), server)
        jobs.run(generation.job_id)
        return result_of(reread(generation))


class Kills:
    """A script that kills the worker at random requests: while one is on its way, or a moment after its answer."""

    def __init__(self, workers: JobProcesses, count: int, seed: int) -> None:
        self._workers, self._answer, self._draw = workers, script(), random.Random(seed)
        self.left, self._due, self._timers = count, 0, []
        self.next()

    def next(self) -> None:
        """Draw after how many requests the next kill is due. Kills of the last process have happened."""
        for timer in self._timers:
            timer.join()
        self._due = self._draw.randint(1, 5)

    def __call__(self, body: dict[str, Any]) -> Answer:
        self._due -= 1
        if self._due == 0 and self.left:
            self.left -= 1
            pid = self._workers.pid
            if self._draw.random() < 0.5:
                self._workers.kill(pid)
            else:
                self._timers.append(threading.Timer(self._draw.uniform(0, 0.05), self._workers.kill, [pid]))
                self._timers[-1].start()
        return self._answer(body)


@pytest.mark.servers
@pytest.mark.slow(seconds=20)
@pytest.mark.parametrize("idempotent", [False, True])
def test_killed_at_random_moments_it_goes_on_without_repeating_a_paid_call(team, process_environment, idempotent):
    expected, again, kills = undisturbed(), set(), 0
    environment = process_environment | {"ENDPOINT_HOSTS": "127.0.0.1"}
    with job_processes(environment) as workers, serving(random_kills := Kills(workers, 7, seed=16)) as server:
        generation = start(team, server, idempotent=idempotent)
        while generation.status != "done":
            kills += workers.run(generation.job_id) == -9
            random_kills.next()
            generation, asked = reread(generation), len(server.asked)
            if generation.status != "paused":
                continue
            # A request was on its way. Only a person can send it again.
            [call] = generation.calls.filter(state="asked")
            assert f"Request {call.number} was sent" in translated(generation.reason)
            continue_generation(actor=team.administrator, generation=generation, wake_worker=False)
            workers.run(reread(generation).job_id)
            generation = reread(generation)
            assert (generation.status, len(server.asked)) == ("paused", asked)
            again.add(call.number)
            continue_generation(actor=team.administrator, generation=generation, send_again=True, wake_worker=False)
            generation = reread(generation)
    assert result_of(generation) == expected
    assert kills > 3
    assert bool(again) != idempotent
    assert set(generation.calls.values_list("state", flat=True)) == {"answered"}
    sent = Counter(headers["idempotency-key"] for headers in server.headers)
    assert len(sent) == generation.calls.count() == generation.requests
    if not idempotent:
        assert {key for key, times in sent.items() if times > 1} <= {f"{generation.public_id}-{one}" for one in again}


class Clock:
    """A clock that waits move, for an endpoint that is asked again and again."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


def test_an_endpoint_that_fails_for_an_hour_pauses_and_nothing_is_lost(team, monkeypatch):
    expected, clock, answer = undisturbed(), Clock(), script()

    class Waits(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            clock.now += timeout or 0
            return self.is_set()

    monkeypatch.setattr(clients, "time", clock)
    monkeypatch.setattr(clients, "threading", type("", (), {"Event": Waits, "Lock": threading.Lock}))
    answered, refused, pauses = [], [], 0

    def fails_for_an_hour(body: dict[str, Any]) -> Answer:
        if len(answered) == 9 and clock.now < 3600:
            refused.append(clock.now)
            return lambda handler: handler.json(503, {"error": {"message": "overloaded"}})
        answered.append(body)
        return answer(body)

    with serving(fails_for_an_hour) as server:
        generation = start(team, server)
        jobs.run(generation.job_id)
        while (generation := reread(generation)).status != "done":
            pauses += 1
            assert (generation.status, generation.job.state) == ("paused", JobState.FAILED)
            assert "status 503: overloaded" in translated(generation.reason)
            assert generation.requests == len(answered) == 9
            continue_generation(actor=team.administrator, generation=generation, wake_worker=False)
            jobs.run(reread(generation).job_id)
    assert result_of(generation) == expected
    # It gives up after ten minutes each time, and asks at most once a second and ever more seldom.
    assert 3 < pauses < 8
    assert len(refused) < 200
    assert generation.requests == len(answered) == generation.calls.count()
    assert generation.calls.get(number=10).attempts == len(refused) + 1
