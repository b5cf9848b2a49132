"""Generations that run from a file of recorded answers, which is stored with them, instead of asking models."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Self

from django.db import transaction
from django.utils.translation import gettext as _

from annotator.core.text import message
from annotator.errors import Invalid
from annotator.models import User
from benchmark.core.generation.records import Recorded, Records, read_records
from benchmark.core.scoring.transcripts import text_of
from benchmark.models import CallState, Generation, ModelCall, Recording
from benchmark.services.generation.asking import EndpointAsker
from benchmark.services.generation.players import players_of
from benchmark.services.generation.reading import lock_generation
from benchmark.services.generation.requests import start_generation, start_work
from benchmark.services.inference.client import Answered, Halted
from benchmark.services.inference.options import Options

#: Bytes of a file of recorded answers for one generation.
MAX_FILE = 5_000_000


def read_recording(content: bytes) -> list[Recorded]:
    """Return the answers of a file. Raises Invalid, with the line, for the field ``records``."""
    try:
        if len(content) > MAX_FILE:
            raise ValueError(_("The file has more than %(most)s bytes.") % {"most": f"{MAX_FILE:,}"})
        found = list(read_records(content.splitlines()))
        if not found:
            raise ValueError(_("The file has no recorded answers."))
        if b"\0" in content or b"\\u0000" in content:
            raise ValueError(_("The file has a NUL character. Remove it."))
    except ValueError as error:
        raise Invalid(str(error), field="records") from None
    return found


def start_from_records(
    *, actor: User | None, records: list[Recorded], wake_worker: bool = True, **given: Any
) -> Generation:
    """Start a generation that runs from recorded answers. ``given``: see ``start_generation``, which also raises."""
    with transaction.atomic():
        made = start_generation(actor=actor, players=players_of(records), idempotent=True, work=False, **given)
        content = b"".join(one.to_line() for one in records).decode()
        Recording.objects.create(generation=made, content=content)
        generation = lock_generation(made.pk)
        start_work(generation, actor=actor, wake_worker=wake_worker)
    return generation


class RecordedAsker:
    """Answers from records. ``exact``: only to the same requests; otherwise, after a person changed something, also
    with answers to other requests for the same prompt.
    """

    replays = True

    def __init__(self, records: Iterable[Recorded], *, exact: bool) -> None:
        self._all, self._exact = list(records), exact
        self._records = Records(self._all)

    @classmethod
    def of(cls, content: str, *, exact: bool) -> Self:
        """Return one that answers from JSON lines."""
        return cls(read_records(content.encode().splitlines()), exact=exact)

    def ask(self, call: ModelCall, options: Options) -> Answered:
        found = self._find(call)
        if found is None:
            raise Halted(
                message(
                    "There is no recorded answer to request %(number)s of %(name)s (%(purpose)s). Write the answer.",
                    number=call.number, name=call.generation.name, purpose=call.purpose,
                )
            )  # fmt: skip
        answer = {"role": "assistant", "content": found.answer}
        return Answered(answer, found.model or call.model, found.input_tokens, found.output_tokens, found.milliseconds)

    def _find(self, call: ModelCall) -> Recorded | None:
        """Return the answer to the same request; else the one with the same number if that is for the same prompt, or
        the first for it that was not used, spare ones (number 0) before others.
        """
        name = call.generation.name
        exact = self._records.find(generation=name, number=call.number, request=call.request_sha256)
        if exact is not None or self._exact:
            return exact
        fitting = [one for one in self._all if one.purpose == call.purpose]
        used = Counter(_answers_before(call))
        unused = []
        for one in sorted(fitting, key=lambda one: one.number != 0):
            if used[one.answer]:
                used[one.answer] -= 1
            else:
                unused.append(one)
        return next((one for one in unused if one.number == call.number), unused[0] if unused else None)

    def close(self) -> None:
        """Nothing is open."""


def _answers_before(call: ModelCall) -> list[str]:
    rows = ModelCall.objects.filter(generation=call.generation_id, purpose=call.purpose, state=CallState.ANSWERED)
    return [text_of(answer) for answer in rows.values_list("answer", flat=True) if answer]


def asker_of(generation: Generation, beat: Callable[[], bool]) -> EndpointAsker | RecordedAsker:
    """Return what answers a generation: its recording or that of its sampling, if it has one, else the endpoints."""
    if generation.query is not None and generation.query.sampling.recording:
        return RecordedAsker.of(generation.query.sampling.recording, exact=True)
    recording = Recording.objects.filter(generation=generation).first()
    if recording is None:
        return EndpointAsker(beat)
    return RecordedAsker.of(recording.content, exact=False)
