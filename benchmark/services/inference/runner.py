"""The job that asks a model about all entries of a release.

Conversations go on in the worker's main thread, where the tools run and replies are stored; only the requests are in
threads. A reply is stored before the conversation goes on, so an attempt that continues after a kill asks for nothing
that is there. What was being asked at the kill is asked again, under the same idempotency key.
"""

import time
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext_noop

from annotator.core.sandbox import SandboxUnavailable
from annotator.core.schema.canonical import content_hash
from annotator.core.text import Message, message
from annotator.errors import Conflict, Invalid
from annotator.services.jobs.jobs import Lost, Running, job_kind
from benchmark.core.inference.asking import Ask, Conversation, Reply, Unit, read_message
from benchmark.core.scoring.records import Unreadable
from benchmark.models import Endpoint, Inference, InferenceAnswer, InferenceReply
from benchmark.services.inference.client import Answered, ChatClient, Halted, Refused, estimated_tokens
from benchmark.services.inference.conversations import planned_units, score_answers
from benchmark.services.inference.endpoints import is_allowed
from benchmark.services.inference.keys import decrypt_key
from benchmark.services.inference.options import Options
from benchmark.services.inference.requests import KIND

#: Seconds between heartbeats while all requests are on their way.
BEAT = 3.0
#: Refusals in a row after which the fault is not in the entries.
MAX_REFUSED = 10
#: Seconds for which requests on their way are waited for at the end: their replies may be paid.
DRAIN = 60.0
_COUNTERS = ["requests", "refused", "input_tokens", "output_tokens", "cost", "answered_as"]
#: Tokens of a reply, where no option limits them, as far as the budget needs to know in advance.
_REPLY_TOKENS = 1_000


@job_kind(KIND, gettext_noop("Inference"), queue="models")
def run_inference(running: Running) -> dict[str, Any]:
    """Run a job of the kind ``inference``. When all conversations have ended, their predictions are scored."""
    inference = Inference.objects.select_related("release__project", "endpoint").get(
        public_id=running.job.parameters["inference"]
    )
    if inference.predictions_id is None:
        try:
            _ask_all(running, inference)
        except Unreadable as error:
            raise Invalid(str(error)) from None
        except SandboxUnavailable as why:
            raise Conflict(message("The code couldn’t be run. %(reason)s", reason=str(why))) from None
        score_answers(running, inference)
    return {"inference": inference.public_id}


def _ask_all(running: Running, inference: Inference) -> None:
    options = Options.of(inference.settings)
    units = planned_units(running, inference)
    answered = set(inference.answers.values_list("unit", flat=True))
    with running.chunk() as chunk:
        inference.total, inference.done = len(units), len(answered)
        inference.save(update_fields=["total", "done"])
        chunk.advance(done=len(answered), total=len(units), note="")
    endpoint = Endpoint.objects.get(inferences=inference)
    if endpoint.removed_at is not None:
        raise Conflict(message("The endpoint was removed, so nothing can be asked there."))
    client = ChatClient(
        endpoint.base_url, decrypt_key(endpoint.key), inference.model, options, is_allowed=is_allowed
    )  # fmt: skip
    try:
        _Loop(running, inference, options, client, [one for one in units if one.key not in answered]).run()
    finally:
        client.close()


@dataclass
class _Active:
    """A conversation whose next request is ``ask``; ``number``: of the reply to it, from 0. ``taken``: ids of calls."""

    unit: Unit
    conversation: Conversation
    ask: Ask
    number: int = 0
    taken: set[str] = field(default_factory=set)


class _Loop:
    """Keeps up to ``concurrency`` conversations going until all have ended."""

    def __init__(
        self, running: Running, inference: Inference, options: Options, client: ChatClient, todo: list[Unit]
    ) -> None:
        self.running, self.inference, self.options, self.client = running, inference, options, client
        self.todo = todo
        self.waiting: dict[Future[Answered], _Active] = {}
        #: Conversations that have begun and can send their next request.
        self.queue: deque[_Active] = deque()
        #: Refused requests since the last reply. They are not stored yet: perhaps the endpoint refuses all.
        self.refused: list[tuple[_Active, Refused]] = []
        #: Names under which the endpoint may answer.
        self.names = max(1, len(inference.answered_as))

    def run(self) -> None:
        """Raises Halted if no more can be asked for now; the replies to what was asked are stored."""
        new = self._begin()
        pool = ThreadPoolExecutor(self.options.concurrency)
        try:
            while self._send(pool, new) or self.waiting:
                finished, _ = wait(self.waiting, timeout=BEAT, return_when=FIRST_COMPLETED)
                if not finished:
                    self.running.beat()
                for future in finished:
                    self._take(self.waiting.pop(future), future)
            self._keep_refused()
        except BaseException as error:
            self.client.stop.set()
            if not isinstance(error, Lost):
                self._drain()
            raise
        finally:
            # A request that hangs ends by its own time limit.
            pool.shutdown(wait=False, cancel_futures=True)

    def _begin(self) -> Iterator[_Active]:
        """Yield the conversations up to where their next request can be sent, those with stored replies first."""
        ended = self.inference.answers.values("unit")
        stored: dict[str, list[InferenceReply]] = {}
        for reply in self.inference.replies.exclude(unit__in=ended).order_by("unit", "number"):
            stored.setdefault(reply.unit, []).append(reply)
        for unit in sorted(self.todo, key=lambda one: one.key not in stored):
            conversation = unit.begin()
            active: _Active | None = _Active(unit, conversation, next(conversation))
            for reply in stored.pop(unit.key, ()):
                if active is not None:
                    active = self._go_on(active, reply.message)
            if active is not None:
                yield active

    def _send(self, pool: ThreadPoolExecutor, new: Iterator[_Active]) -> bool:
        """Send requests while threads are free and the budget allows; return whether one is on its way."""
        while len(self.waiting) < self.options.concurrency:
            active = self.queue.popleft() if self.queue else next(new, None)
            if active is None:
                break
            used_up = self._used_up(active)
            if used_up is not None:
                self.queue.appendleft(active)
                if self.waiting:
                    break
                raise Halted(used_up)
            key = f"{self.inference.public_id}-{content_hash(active.unit.key)[:16]}-{active.number}"
            self.waiting[pool.submit(self.client.ask, active.ask, key)] = active
        return bool(self.waiting)

    def _used_up(self, active: _Active) -> Message | None:
        """Return a sentence if another request could exceed the budget, with those on their way."""
        inference = self.inference
        if inference.token_budget is None and inference.cost_budget is None:
            return None
        average = inference.output_tokens // inference.requests if inference.requests else _REPLY_TOKENS
        reply = self.options.max_tokens or average
        asks = [one.ask for one in (*self.waiting.values(), active)]
        tokens_in = inference.input_tokens + sum(estimated_tokens(ask) for ask in asks)
        tokens_out = inference.output_tokens + reply * len(asks)
        used, cost = tokens_in + tokens_out, inference.cost_of(tokens_in, tokens_out)
        if (inference.token_budget is None or used <= inference.token_budget) and (
            inference.cost_budget is None or cost <= inference.cost_budget
        ):
            return None
        return message(
            "The budget is used up, %(done)s of %(total)s conversations have ended. Raise the budget and continue.",
            done=f"{inference.done:,}", total=f"{inference.total:,}",
        )  # fmt: skip

    def _take(self, active: _Active, future: "Future[Answered]") -> None:
        try:
            answered = future.result()
        except Refused as refused:
            self.refused.append((active, refused))
            if len(self.refused) >= MAX_REFUSED:
                raise self._all_refused() from None
            return
        self._store(active, answered)
        self.running.beat()
        self._keep_refused()
        self._advance(active, answered.message)
        if len(self.inference.answered_as) > self.names:
            self.names = len(self.inference.answered_as)
            raise Halted(
                message(
                    "The endpoint now answers as %(new)s; before, it was %(old)s. Continue if that is all right.",
                    new=self.inference.answered_as[-1],
                    old=self.inference.answered_as[-2],
                )
            )

    def _all_refused(self) -> Halted:
        why = str(self.refused[-1][1])
        return Halted(message("The endpoint refuses every request. %(reason)s", reason=why))

    def _keep_refused(self) -> None:
        """Store the refused requests: others pass, so the fault is in these."""
        if self.refused and not self.inference.requests:
            raise self._all_refused()
        for active, refused in self.refused:
            self._store(active, None, str(refused))
            self._advance(active, None)
        self.refused.clear()

    def _store(self, active: _Active, answered: Answered | None, error: str = "") -> None:
        """Store a reply, and count what it used; also after the job was cancelled, because the reply may be paid."""
        inference = self.inference
        used = (answered.input_tokens, answered.output_tokens) if answered else (0, 0)
        cost = inference.cost_of(*used)
        with self.running.chunk(even_if_cancelled=True):
            InferenceReply.objects.create(
                inference=inference, unit=active.unit.key, number=active.number, error=error[:500],
                input_tokens=used[0], output_tokens=used[1], cost=cost,
                milliseconds=answered.milliseconds if answered else 0, message=answered.message if answered else None,
            )  # fmt: skip
            if answered and answered.model not in inference.answered_as:
                inference.answered_as = [*inference.answered_as, answered.model]
            inference.requests += answered is not None
            inference.refused += answered is None
            inference.input_tokens += used[0]
            inference.output_tokens += used[1]
            inference.cost += cost
            inference.save(update_fields=_COUNTERS)

    def _advance(self, active: _Active, said: Mapping[str, Any] | None) -> None:
        following = self._go_on(active, said)
        if following is not None:
            self.queue.append(following)

    def _go_on(self, active: _Active, said: Mapping[str, Any] | None) -> _Active | None:
        """Return the conversation with its next request; None, with the answer stored, if it has ended."""
        number, taken, strip = active.number, active.taken, self.options.strip_thinking
        reply = Reply(None if said is None else read_message(said, number=number, taken=taken, strip_thinking=strip))
        try:
            ask = active.conversation.send(reply)
        except StopIteration as end:
            inference = self.inference
            with self.running.chunk() as chunk:
                InferenceAnswer.objects.create(inference=inference, unit=active.unit.key, record=end.value)
                inference.done += 1
                inference.save(update_fields=["done"])
                chunk.advance(done=inference.done)
            return None
        return _Active(active.unit, active.conversation, ask, number + 1, taken)

    def _drain(self) -> None:
        """Store the replies that are still on their way."""
        until = time.monotonic() + DRAIN
        while self.waiting and time.monotonic() < until:
            finished, _ = wait(self.waiting, timeout=BEAT, return_when=FIRST_COMPLETED)
            with self.running.chunk(even_if_cancelled=True):
                # A heartbeat, so that no other worker takes over meanwhile.
                pass
            for future in finished:
                active = self.waiting.pop(future)
                if future.exception() is None:
                    self._store(active, future.result())
