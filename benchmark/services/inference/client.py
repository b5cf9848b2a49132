"""One request to an endpoint with the OpenAI chat API: retries, limits, and every failure as a sentence."""

import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2

from annotator.core.text import Message, gettext_noop, message
from annotator.errors import Conflict
from annotator.services.outgoing.guarded_http import AddressRefused, ResponseTooLarge, guarded_client, limited
from benchmark.core.inference.asking import Ask
from benchmark.core.scoring.transcripts import calls_of, text_of
from benchmark.services.inference.options import Options

#: Seconds for which an endpoint that is unavailable is asked again.
GIVE_UP = 600.0
#: Seconds before the first retry, and the most before any; each wait is twice the one before.
_FIRST_WAIT, _LONGEST_WAIT = 1.0, 60.0
#: Requests without a reply in time: each may have to be paid.
MAX_TIMEOUTS = 2
#: Characters of an endpoint's own words that are shown.
_QUOTED = 200
#: Statuses for which the endpoint is asked again, and those which no request will get past.
_AGAIN = frozenset((408, 409, 425, 429))
_HOPELESS = frozenset((401, 402, 403, 404, 405))
#: Characters of a token, where the endpoint does not count them.
_PER_TOKEN = 4
#: More tokens of one reply are not believed.
_MOST_TOKENS = 10_000_000


class Refused(Exception):
    """The endpoint refuses this request; others may pass."""


class Halted(Conflict):
    """Nothing more can be asked for now."""


class Unanswered(Halted):
    """A request was sent, but no answer arrived, so it may have to be paid."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A reply: the message (``_plain``), the name of the model that gave it, and what it used."""

    message: Mapping[str, Any]
    model: str
    input_tokens: int
    output_tokens: int
    milliseconds: int


class Pace:
    """Spreads requests evenly, at most so many a minute. Shared by threads."""

    def __init__(self, per_minute: int | None) -> None:
        self._gap = 60.0 / per_minute if per_minute else 0.0
        self._lock, self._next = threading.Lock(), 0.0

    def wait(self, stop: threading.Event) -> None:
        with self._lock:
            now = time.monotonic()
            due = max(now, self._next)
            self._next = due + self._gap
        stop.wait(due - now)


class ChatClient:
    """Asks one model at one endpoint. Several threads may ask at the same time. Close it at the end."""

    def __init__(
        self, base_url: str, key: str, model: str, options: Options, *, is_allowed: Callable[[str], bool]
    ) -> None:
        # Half a second to import, and only workers that ask models need it.
        from openai import OpenAI

        self._model, self._options, self._key = model, options, key
        self._http = guarded_client(is_allowed)
        # Some endpoints need no key, but the library does.
        self._client = OpenAI(base_url=base_url, api_key=key or "none", max_retries=0, http_client=self._http)
        self._pace = Pace(options.per_minute)
        #: Set when nothing more shall be asked: waits end at once.
        self.stop = threading.Event()

    def close(self) -> None:
        self.stop.set()
        self._http.close()

    def ask(self, ask: Ask, key: str, *, repeats: bool = True, on_send: Callable[[], None] = lambda: None) -> Answered:
        """Return the model's reply. ``key`` names the request, so that an endpoint that knows such keys answers a
        repeated request once. ``repeats``: whether to send it again if no answer arrived; otherwise that raises
        Unanswered. ``on_send`` is called each time before it is sent. Raises Refused and Halted, too.
        """
        began, wait, timeouts = time.monotonic(), _FIRST_WAIT, 0
        while True:
            self._pace.wait(self.stop)
            if self.stop.is_set():
                raise Halted(message(gettext_noop("The inference was stopped.")))
            sent = time.monotonic()
            on_send()
            try:
                with limited(self._options.timeout):
                    completion = self._send(ask, key)
            except Exception as error:
                # Whatever the library raises: a reply can be wrong in any way.
                after = self._judge(error)
            else:
                return self._answered(completion, ask, round(1000 * (time.monotonic() - sent)))
            if after.unanswered and not repeats:
                raise Unanswered(after.told)
            timeouts += after.timed_out
            if timeouts > MAX_TIMEOUTS or time.monotonic() + after.seconds - began > GIVE_UP:
                raise Halted(after.told)
            self.stop.wait(max(after.seconds, wait * random.uniform(0.5, 1.0)))  # noqa: S311 - spreads retries
            wait = min(2 * wait, _LONGEST_WAIT)

    def _send(self, ask: Ask, key: str) -> Any:
        options = self._options
        given: dict[str, Any] = {
            "temperature": options.temperature, "seed": options.seed, "max_tokens": options.max_tokens,
            "tools": list(ask.tools) or None,
        }  # fmt: skip
        parameters = {name: value for name, value in given.items() if value is not None}
        parameters |= {
            "model": self._model, "messages": list(ask.messages), "extra_body": options.extra,
            "extra_headers": {"Idempotency-Key": key},
        }  # fmt: skip
        if not options.stream:
            return self._client.chat.completions.create(**parameters)
        with self._client.chat.completions.stream(**parameters, stream_options={"include_usage": True}) as stream:
            return stream.get_final_completion()

    def _answered(self, completion: Any, ask: Ask, milliseconds: int) -> Answered:
        try:
            choices = completion.choices
            found = _plain(choices[0].message.model_dump(exclude_none=True, warnings=False)) if choices else None
            model = _storable(str(completion.model or self._model))[:120]
            usage = completion.usage
        except (AttributeError, TypeError, IndexError):
            raise Halted(
                message(
                    "The endpoint doesn’t answer as the OpenAI chat API does. Check the base URL; it usually ends in "
                    "/v1. It answered: %(text)s",
                    text=self._quoted(completion),
                )
            ) from None
        if found is None:
            raise Refused("The endpoint answered without a message.")
        about = (estimated_tokens(ask), len(str(found)) // _PER_TOKEN)
        tokens_in = _counted(getattr(usage, "prompt_tokens", None), about[0])
        tokens_out = _counted(getattr(usage, "completion_tokens", None), about[1])
        return Answered(found, model, tokens_in, tokens_out, milliseconds)

    def _judge(self, error: Exception) -> "_Retry":
        """Return how to go on after a failure. Raises Refused and Halted."""
        from openai import APIConnectionError, APIError, APIStatusError, APITimeoutError

        causes = [error, error.__cause__, error.__context__]
        if any(isinstance(one, AddressRefused) for one in causes):
            raise Halted(
                message(
                    "The endpoint’s address is not public, so this server doesn’t connect to it. The server’s operator "
                    "can allow it: ENDPOINT_HOSTS."
                )
            ) from None
        if any(isinstance(one, ResponseTooLarge) for one in causes):
            raise Refused("The reply was too large.") from None
        if isinstance(error, APITimeoutError):
            told = message(
                "The endpoint didn’t answer within %(seconds)s seconds, several times in a row.",
                seconds=self._options.timeout,
            )
            return _Retry(told, timed_out=True, unanswered=not _never_sent(error))
        if isinstance(error, APIStatusError):
            return self._status(error)
        if isinstance(error, APIConnectionError):
            why = self._quoted(error.__cause__ or error)
            return _Retry(
                message("The endpoint can’t be reached: %(reason)s", reason=why), unanswered=not _never_sent(error)
            )
        if isinstance(error, APIError):
            # In the middle of a stream.
            return _Retry(
                message("The endpoint reported an error: %(text)s", text=self._quoted(error)), unanswered=True
            )
        told = message(
            "The endpoint doesn’t answer as the OpenAI chat API does: %(text)s", text=self._quoted(error)
        )  # fmt: skip
        raise Halted(told) from None

    def _status(self, error: Any) -> "_Retry":
        status, body = error.status_code, error.body
        if isinstance(body, Mapping):
            body = body.get("message") or body
        text = self._quoted(body or error.response.text)
        told = message("The endpoint answered with status %(status)s: %(text)s", status=status, text=text)
        if status in _AGAIN or status >= 500:
            return _Retry(told, seconds=_retry_after(error.response.headers.get("retry-after", "")))
        if status in _HOPELESS or status < 400:
            raise Halted(told) from None
        raise Refused(f"Status {status}: {text}") from None

    def _quoted(self, what: Any) -> str:
        """Return an endpoint's own words, short and without the key."""
        words = " ".join(_storable(str(what)).split())
        if self._key:
            words = words.replace(self._key, "[key]")
        return words if len(words) <= _QUOTED else f"{words[:_QUOTED]}…"


@dataclass(frozen=True, slots=True)
class _Retry:
    """Ask again after ``seconds`` or more; ``told``: what to say when that was tried for long enough."""

    told: Message
    seconds: float = 0.0
    timed_out: bool = False
    #: Whether it was sent and nothing, or only a part, came back.
    unanswered: bool = False


def _never_sent(error: Exception) -> bool:
    """Return whether a connection could not even be opened."""
    return isinstance(error.__cause__, httpx2.ConnectError | httpx2.ConnectTimeout)


def _retry_after(text: str) -> float:
    """Return the seconds of a Retry-After header; 0 for a date or nonsense."""
    return float(text) if text.isascii() and text.isdecimal() and len(text) < 6 else 0.0


def _counted(given: Any, about: int) -> int:
    """Return the tokens that an endpoint counted, within reason; ``about`` if it counted none."""
    return min(given, _MOST_TOKENS) if type(given) is int and given >= 0 else about


def estimated_tokens(ask: Ask) -> int:
    """Return about how many tokens a request has."""
    return (len(str(ask.messages)) + len(str(ask.tools))) // _PER_TOKEN


def _plain(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a message is kept: its text or refusal, its calls, and its thoughts."""
    found: dict[str, Any] = {"role": "assistant", "content": _text(text_of(message) or message.get("refusal"))}
    calls = [
        {
            "id": _text(call.id), "type": "function",
            "function": {"name": _text(call.name), "arguments": _text(call.arguments)},
        }
        for call in calls_of(message)
    ]  # fmt: skip
    thoughts = _text(message.get("reasoning_content") or message.get("reasoning"))
    return found | ({"tool_calls": calls} if calls else {}) | ({"reasoning": thoughts} if thoughts else {})


def _storable(text: str) -> str:
    """Return a text for a column or a sentence: databases store neither NUL nor halves of surrogate pairs there."""
    return _text(text).replace("\0", "�")


def _text(value: Any) -> str:
    """Return a text that can be stored: without halves of surrogate pairs; anything else is empty."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""
