"""A translation or a rewriting for its page: each text with what was written for it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _

from annotator.models import Event, User
from annotator.translation import translated
from benchmark.core.generation.kinds import Kind
from benchmark.core.generation.texts.state import SENTENCE, Text, TextState
from benchmark.core.rewritten_cases import case_at
from benchmark.models import Generation, ModelCall
from benchmark.services.constructing.runner import EVENT
from benchmark.services.generation.reading import list_calls

#: Texts that the page shows.
SHOWN = 500


@dataclass(frozen=True, slots=True)
class Line:
    """A text and what was written for it. ``state``: done, kept (the generator's sentence stays), asked, or open (a
    person must write it). ``problems``: why the latest refused answer was not accepted.
    """

    text: Text
    about: str
    where: str
    state: str
    written: str = ""
    model: str = ""
    person: User | None = None
    tried: int = 0
    refused: str = ""
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TextsView:
    """``done``: how many are written. ``left_out``: those that are not shown, because there are too many."""

    state: TextState
    lines: list[Line]
    done: int
    left_out: int
    calls: list[ModelCall]

    @property
    def seen(self) -> int:
        """The number of events that the page shows."""
        return len(self.state.events)

    @property
    def complete(self) -> bool:
        """Whether all texts are written but not accepted yet."""
        return not self.state.waiting() and not self.state.accepted


def present_texts(generation: Generation, state: TextState, *, by_model: bool) -> TextsView:
    """Arrange a translation or a rewriting for its page. ``by_model``: whether a model is asked for its texts."""
    whos = {one["source"].get("who", "") for one in state.done.values()} - {""}
    people = {one.public_id: one for one in User.objects.filter(public_id__in=whos)}
    lines = [present_text(state, one, people, by_model=by_model) for one in state.setup.texts[:SHOWN]]
    calls = list(list_calls(generation).defer("prompt", "answer", "template__content"))
    return TextsView(state, lines, len(state.done), max(len(state.setup.texts) - SHOWN, 0), calls)


def present_text(state: TextState, text: Text, people: Mapping[str, User], *, by_model: bool = True) -> Line:
    """Arrange one text. ``people``: by their public ids. ``by_model``: whether a model is asked for it."""
    done: dict[str, Any] = state.done.get(text.key, {})
    source = done.get("source", {})
    about = f"{case_at(text.places[0])}: {text.about}" if text.kind == SENTENCE else _(text.about)
    return Line(
        text, about, text.places[0] if text.places else "", _state(state, text, by_model=by_model),
        done.get("text", ""),
        source.get("model", ""), people.get(source.get("who", "")), state.tried(text.key),
        state.refusals.get(text.key, {}).get("text", ""),
        tuple(translated(one.text) for one in state.problems(text.key)),
    )  # fmt: skip


def _state(state: TextState, text: Text, *, by_model: bool) -> str:
    done = state.done.get(text.key)
    if done is not None:
        return "kept" if done.get("kept") else "done"
    return "asked" if by_model and state.tried(text.key) <= state.setup.retries else "open"


def result_link(generation: Generation) -> tuple[str, str] | None:
    """Return the words and the address of what the texts became; None before."""
    if generation.dialogue is not None:
        return _("Open the dialogue"), generation.dialogue.get_absolute_url()
    source = generation.source
    if generation.kind == Kind.RENEWAL and source is not None:
        there = [generation.project.slug, generation.setup["origin"]["variant"], source.public_id]
        return _("Show both variants"), reverse("variant", args=there)
    if generation.kind == Kind.REWRITING:
        rows = Event.objects.filter(
            project=generation.project_id, kind=EVENT, after__generation=generation.public_id
        )  # fmt: skip
        event = rows.first()
        if event is not None:
            slug = generation.project.slug
            return _("Show the import"), reverse("import-detail", args=[slug, event.after["import"]])
    return None
