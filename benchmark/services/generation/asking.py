"""Where answers come from: the endpoints of the roles, or recorded answers (``recordings``)."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Protocol

from annotator.core.text import message
from annotator.services.jobs.jobs import Cancelled, Running
from benchmark.core.inference.asking import Ask
from benchmark.models import Endpoint, ModelCall
from benchmark.services.inference.client import Answered, ChatClient, Halted, estimated_tokens
from benchmark.services.inference.endpoints import is_allowed
from benchmark.services.inference.keys import decrypt_key
from benchmark.services.inference.options import Options

#: Seconds between heartbeats while a request is on its way.
BEAT = 3.0


class Asker(Protocol):
    """Answers a stored call. ``replays``: its answers cost nothing."""

    replays: bool

    def ask(self, call: ModelCall, options: Options) -> Answered:
        """Return the reply; count in the call how often it was sent. Raises Refused and Halted."""


def ask_of(call: ModelCall) -> Ask:
    """Return the request of a call."""
    return Ask([{"role": "user", "content": call.prompt}])


def tokens_of(prompt: str) -> int:
    """Return about how many tokens a prompt has."""
    return estimated_tokens(Ask([{"role": "user", "content": prompt}]))


def beating(running: Running) -> bool:
    """Update the heartbeat of a job; return False if it was cancelled."""
    try:
        running.beat()
    except Cancelled:
        with running.chunk(even_if_cancelled=True):
            return False
    return True


class EndpointAsker:
    """Asks the endpoints, one request at a time. Close it at the end.

    ``beat`` is called while a request is on its way, and returns whether to go on; if not, the answer is still waited
    for, because it may be paid, but nothing is asked again.
    """

    replays = False

    def __init__(self, beat: Callable[[], bool]) -> None:
        self._beat = beat
        self._clients: dict[Any, ChatClient] = {}
        self._pool = ThreadPoolExecutor(1)

    def ask(self, call: ModelCall, options: Options) -> Answered:
        client = self._client(call, options)
        key = f"{call.generation.public_id}-{call.number}"
        sends: list[None] = []
        future: Future[Answered] = self._pool.submit(
            client.ask, ask_of(call), key, repeats=call.generation.idempotent, on_send=lambda: sends.append(None)
        )
        while not wait([future], timeout=BEAT).done:
            if not self._beat():
                client.stop.set()
        # It was stored as sent once.
        call.attempts += max(len(sends) - 1, 0)
        return future.result()

    def _client(self, call: ModelCall, options: Options) -> ChatClient:
        place = (call.endpoint_id, call.model, str(options))
        if place not in self._clients:
            # Read again: it may have been removed meanwhile.
            endpoint = None if call.endpoint is None else Endpoint.objects.get(pk=call.endpoint.pk)
            if endpoint is None:
                raise Halted(message("The model has no endpoint. Run it with a file of recorded answers."))
            if endpoint.removed_at is not None:
                raise Halted(message("The endpoint was removed, so nothing can be asked there."))
            self._clients[place] = ChatClient(
                endpoint.base_url, decrypt_key(endpoint.key), call.model, options, is_allowed=is_allowed
            )
        return self._clients[place]

    def close(self) -> None:
        for client in self._clients.values():
            client.close()
        # A request that hangs ends by its own time limit.
        self._pool.shutdown(wait=False, cancel_futures=True)
