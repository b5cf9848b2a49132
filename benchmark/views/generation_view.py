"""A generation for its page: the conversation of the roles, and what it waits for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _

from annotator.core.schema import SchemaProblem, read_document
from annotator.core.schema.exact_json import loads
from annotator.models import User
from annotator.presentation.dialogue import DialogueView, present_tasks, pretty
from annotator.translation import translated
from benchmark.core.generation.planning import document_of
from benchmark.core.generation.problems import Problem
from benchmark.core.generation.purposes import ROLE_OF, Purpose, Role
from benchmark.core.generation.state import Stage, State
from benchmark.core.generation.tracing import Traced, latest_plan, trace
from benchmark.core.generation.turns import purpose_of
from benchmark.models import CallState, Generation, ModelCall
from benchmark.services.generation.reading import list_calls


@dataclass(frozen=True, slots=True)
class Entry:
    """What one role or person said. ``number``: the events before it, None for a call without an answer.

    ``call``: the recorded call; ``what``: of a person's decision, in words; ``messages``: candidates, each with its
    relation and its problem.
    """

    task: int
    role: str
    purpose: str
    text: str = ""
    number: int | None = None
    model: str = ""
    person: User | None = None
    what: str = ""
    call: ModelCall | None = None
    problems: tuple[str, ...] = ()
    messages: tuple[tuple[str, str, str], ...] = ()

    @property
    def refused(self) -> bool:
        return bool(self.problems)


@dataclass(slots=True)
class GenerationView:
    """``wait``: choose, judge or write, if the generation can be worked on now; blank if not. ``purpose``: of the
    answer that is next. ``draft``: what that answer could begin with. ``plan``: the planner's actions that can be
    changed, as JSON.
    """

    state: State
    entries: list[Entry]
    dialogue: DialogueView | None
    wait: str = ""
    purpose: str = ""
    role: str = ""
    draft: str = ""
    plan: str = ""
    problems: list[str] = field(default_factory=list)

    @property
    def seen(self) -> int:
        """The number of events that the page shows."""
        return len(self.state.events)

    @property
    def asks_for_request(self) -> bool:
        """Whether a person's text would become the user's request."""
        return self.state.stage in (Stage.PROPOSE, Stage.CHOOSE)


def present_generation(generation: Generation, state: State, *, open_: bool) -> GenerationView:
    """Arrange a generation for its page. ``open_``: whether people can act now."""
    traced = _traced(state)
    # Prompts are long, and have a page of their own.
    calls = {call.number: call for call in list_calls(generation).defer("prompt", "answer")}
    people = {one.public_id: one for one in User.objects.filter(public_id__in=_people(state))}
    entries = [_entry(one, calls, people) for one in traced] or [
        _plain_entry(number, event, calls, people) for number, event in enumerate(state.events)
    ]
    used = {one.call.number for one in entries if one.call}
    # Numbers above those used: on its way, failed, or left behind by a step back.
    entries += [_unanswered(call, state) for number, call in calls.items()
                if number not in used and call.state != CallState.ANSWERED]  # fmt: skip
    view = GenerationView(state, entries, _dialogue(state))
    if open_ and state.stage is not Stage.DONE:
        _wait(view, state)
        plan = latest_plan(traced)
        if plan is not None and plan.after.actions:
            view.plan = _json(plan.after.actions["proposal"])
    return view


def _traced(state: State) -> list[Traced]:
    """Return what happened; nothing if the events can't be traced, because a later version judges them differently."""
    try:
        return list(trace(state.setup, state.events, state.setup.settings))
    except ValueError:
        return []


def _plain_entry(
    number: int, event: Mapping[str, Any], calls: Mapping[int, ModelCall], people: Mapping[str, User]
) -> Entry:
    """Return an event without what it led to."""
    source = event["source"]
    call = calls.get(source.get("call", 0))
    return Entry(
        task=1, role=call.role.value if call else Role.USER.value, purpose=call.purpose if call else "", number=number,
        text=str(event.get("text") or event.get("reason", "")), model=source.get("model", ""),
        person=people.get(source.get("who", "")), what="" if call else _decision(event), call=call,
    )  # fmt: skip


def _people(state: State) -> set[str]:
    return {event["source"].get("who", "") for event in state.events} - {""}


def _entry(one: Traced, calls: Mapping[int, ModelCall], people: Mapping[str, User]) -> Entry:
    event, source = one.event, one.event["source"]
    purpose = one.purpose
    return Entry(
        task=one.task + 1, role=one.role.value, purpose=purpose.value if purpose else "", number=one.number,
        text=_text(one), model=source.get("model", ""), person=people.get(source.get("who", "")),
        what="" if purpose else _decision(event), call=calls.get(source.get("call", 0)),
        problems=tuple(translated(problem.text) for problem in one.problems),
        messages=_messages(one),
    )  # fmt: skip


def _text(one: Traced) -> str:
    event = one.event
    if event["kind"] == "answer":
        return str(event["text"]) if one.purpose or one.decides else ""
    if event["kind"] == "choose":
        return str(one.after.tasks[-1]["user_message"])
    return str(event.get("reason", ""))


def _messages(one: Traced) -> tuple[tuple[str, str, str], ...]:
    if one.purpose not in (Purpose.FIRST_TASK, Purpose.FOLLOW_UP) or one.after.stage is not Stage.CHOOSE:
        return ()
    return tuple((found["text"], found["relation"], problem_of(found)) for found in one.after.candidates)


def problem_of(candidate: Mapping[str, Any]) -> str:
    """Return what is wrong with a candidate; blank if nothing is."""
    return translated(Problem.from_json(candidate["problem"]).text) if candidate["problem"] else ""


def _decision(event: Mapping[str, Any]) -> str:
    if event["kind"] == "choose":
        return _("Request chosen and edited") if event["text"] else _("Request chosen")
    words = {
        "reject": _("All requests rejected"), "retry": _("Asked again"), "answer": _("Request written"),
    }  # fmt: skip
    return words[event["kind"]]


def _unanswered(call: ModelCall, state: State) -> Entry:
    problems = (translated(call.failure),) if call.failure and call.state == CallState.FAILED else ()
    return Entry(
        task=state.task + 1, role=call.role.value, purpose=call.purpose, model=call.model, call=call, problems=problems
    )  # fmt: skip


def _dialogue(state: State) -> DialogueView | None:
    """Return the tasks so far; None if there are none, or if they can't be shown yet."""
    try:
        return present_tasks(read_document(document_of(state.setup, state.tasks)), []) if state.tasks else None
    except SchemaProblem:
        return None


def _wait(view: GenerationView, state: State) -> None:
    """Fill in what a person can do now."""
    if state.stage is Stage.CHOOSE:
        view.wait = "choose"
        return
    purpose = purpose_of(state)
    view.wait = "judge" if state.stage is Stage.JUDGE else "write"
    view.purpose, view.role = purpose.value, ROLE_OF[purpose].value
    view.problems = [translated(one.text) for one in state.problems]
    if purpose is Purpose.ACTIONS:
        view.draft = _json(state.refused)


def _json(value: Any) -> str:
    """Return JSON for an editor; a text that is none as it is."""
    if isinstance(value, str):
        try:
            value = loads(value)
        except (ValueError, RecursionError):
            return str(value)
    return pretty(value)
