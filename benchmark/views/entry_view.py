"""One scored entry for its page: what the model said, what the reference is, and what decided the score."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmark.core.scoring.legal import Level, pruned_tree
from benchmark.core.scoring.predictions import NotAPrediction, read_rounds
from benchmark.core.scoring.references import ReferenceTask, UnusableReference
from benchmark.models import Score
from benchmark.views.play_view import Timeline, draw_timeline, error_words
from benchmark.views.score_words import shown_json
from benchmark.views.tree_view import TreeDrawing, draw_tree

_STOPS = {
    "not_in_candidates": gettext_lazy("the reply fits no path that is left"),
    "empty_reply": gettext_lazy("the reply is empty or missing"),
    "malformed_calls": gettext_lazy("the calls could not be read"),
    "request_failed": gettext_lazy("the request failed"),
    "past_the_graph": gettext_lazy("there are more rounds than nodes"),
}
#: Rounds and messages that a page shows.
MAX_SHOWN = 100


@dataclass(frozen=True)
class Said:
    """One reply or message: a heading, its text, its calls as (name, arguments), and whether it deviates."""

    head: str
    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    tone: str = ""


@dataclass(frozen=True)
class EntryView:
    """What the page of an entry shows. ``verdicts``: name, whether it holds. ``facts``: name and value."""

    task: str = ""
    verdicts: list[tuple[str, bool]] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    facts: list[tuple[str, str]] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)
    reference: list[Said] = field(default_factory=list)
    #: The decision tree of a task along the answer, and the address at which it can be explored: path of step ids.
    tree: TreeDrawing | None = None
    timeline: Timeline | None = None
    #: Category, text, the rounds in which it was violated, and its state as published and strictly.
    constraints: list[tuple[str, str, str, str, str]] = field(default_factory=list)
    more: int = 0
    detail: str = ""


def said_by(family: str, content: Any) -> list[Said]:
    """Return what a model said, for a page that does not judge it."""
    if family == "cctu":
        return [message_view(number, one) for number, one in enumerate((content or [])[:MAX_SHOWN], 1)]
    if family == "async":
        return _turns((content or {}).get("turns") or [])
    return [_round(number, one, wrong=False, possible=()) for number, one in enumerate((content or [])[:MAX_SHOWN], 1)]


def present_entry(family: str, score: Score, document: Mapping[str, Any] | None) -> EntryView:
    """Return one entry for its page. ``document``: the item as it was released."""
    content = score.prediction.content if score.prediction else None
    if family == "cctu":
        return _cctu(score.detail, content, document)
    if family == "async":
        return _async(score.detail, content)
    return _multi_turn(family, score.detail, content, document)


def _multi_turn(family: str, detail: Mapping[str, Any], content: Any, document: Mapping[str, Any] | None) -> EntryView:
    verdicts = [
        (_("Right, as published"), detail["label"] == "correct"),
        (_("Right by names"), detail["action_label"] == "correct"),
        (_("Right, as in the paper"), detail["ours"]["label"] == "correct"),
        (_("Right, equal arguments"), detail["strict"]["label"] == "correct"),
    ]
    reasons = [detail["deviation"]] if detail.get("deviation") else []
    facts = [
        (_("Nodes matched"), f"{detail['ours']['matched']} / {detail['nodes']}"),
        (_("Fewest rounds"), str(detail["ours"]["fewest_rounds"])),
    ]
    checked = detail.get("arguments")
    for one in checked["checks"] if checked else ():
        if one["class"] != "correct":
            where = f" ({one['place']})" if one.get("place") else ""
            reasons.append(f"{one['tool']}{where}: {one['class']}")
    for one in detail.get("bad_calls", ()):
        scores = ", ".join(f"{name} {value:g}" for name, value in one["scores"].items())
        reasons.append(f"{one['tool']}: {scores}")
    kind = detail["c3"]["error_type"] if family == "wild" else detail["error_type"]
    if kind:
        facts.append((_("Class of error"), kind))
    if family == "wild":
        facts.append((_("By C3-Bench’s code"), _("right") if detail["c3"]["label"] == "correct" else _("wrong")))
        if detail["stop"]:
            facts.append((_("Ends by names because"), str(_STOPS.get(detail["stop"], detail["stop"]))))
    task = document["tasks"][detail["task"]] if document and detail["task"] < len(document["tasks"]) else None
    rounds = content or []
    wrong_step = checked["step"] + 1 if checked else None
    levels = _levels(task, rounds) if task else []
    possible = [", ".join(_name(task["steps"][place]) for place in one.ready) for one in levels] if task else []
    return EntryView(
        task=task["user_message"] if task else "",
        verdicts=verdicts,
        reasons=reasons,
        facts=facts,
        said=[
            _round(number, one, wrong=number == wrong_step, possible=possible[number - 1 : number])
            for number, one in enumerate(rounds[:MAX_SHOWN], 1)
        ],
        reference=[_step(step) for step in task["steps"]] if task else [],
        tree=draw_tree(levels, task["steps"], rounds, wrong=wrong_step) if task and levels else None,
        more=max(0, len(rounds) - MAX_SHOWN),
        detail=shown_json(detail),
    )


def _levels(task: Mapping[str, Any], rounds: Any) -> list[Level]:
    """Return the decision tree along the answer; nothing if the reference can't be followed."""
    try:
        return pruned_tree(ReferenceTask(task, ""), read_rounds(rounds))
    except (UnusableReference, NotAPrediction):
        return []


def _name(step: Mapping[str, Any]) -> str:
    words = {"clarification": _("question"), "answer": _("answer")}
    return f"{step['id']} {words.get(step['type']) or step['name']}"


def _round(number: int, one: Mapping[str, Any], *, wrong: bool, possible: Sequence[str]) -> Said:
    calls = tuple((call["name"], call["arguments"]) for call in one["calls"])
    notes = (_("The calls could not be read."),) if one["error"] == "malformed_calls" else ()
    if one["error"] == "request_failed":
        notes = (_("The request failed."),)
    if wrong:
        notes = (*notes, _("The first wrong argument is here."))
    head = _("Round %(number)s") % {"number": number}
    tone = "bad" if notes else ""
    notes = (*(_("Possible here: %(steps)s") % {"steps": steps} for steps in possible if steps), *notes)
    return Said(head, one["content"] or "", calls, notes, tone)


def _step(step: Mapping[str, Any]) -> Said:
    needs = ", ".join(one["id"] for one in step["depends_on"] or ())
    notes = (_("after %(steps)s") % {"steps": needs},) if needs else ()
    match step["type"]:
        case "call":
            return Said(step["id"], "", ((step["name"], shown_json(step["arguments"])),), notes)
        case "clarification":
            return Said(_("%(step)s: question") % {"step": step["id"]}, step["question"] or "", (), notes)
        case _:
            return Said(_("%(step)s: answer") % {"step": step["id"]}, step["text"] or "", (), notes)


def _cctu(detail: Mapping[str, Any], content: Any, document: Mapping[str, Any] | None) -> EntryView:
    reasons = [
        _("Round %(round)s: %(label)s (%(category)s)") % one
        for one in detail["violations"]
    ]  # fmt: skip
    reasons += [_("Round %(round)s: %(label)s, which the model was not told") % one for one in detail.get("masked", ())]
    if not detail["solved"]:
        found, of = detail["found"]
        reasons.insert(
            0, _("The tools’ replies yielded %(found)s of %(of)s expected texts.") % {"found": found, "of": of}
        )
    if detail.get("quoted"):
        reasons.append(_("The phrase of feedback is quoted, which the published PSR counts as a violation."))
    texts = [one["text"] or "" for one in document["constraints"]] if document else []
    constraints = [
        (one["category"], texts[place] if (place := one.get("index", -1)) in range(len(texts)) else "",
         ", ".join(map(str, one["rounds"])), one["status"], one["strict"])
        for one in (*detail["constraints"], *detail["toolset"])
    ]  # fmt: skip
    messages = content or []
    return EntryView(
        task=document["user_query"] if document else "",
        verdicts=[
            ("SR", detail["SR"]), ("PSR", detail["PSR"]), (_("SR, strict"), detail["strict"]["SR"]),
            (_("PSR, strict"), detail["strict"]["PSR"]),
        ],
        reasons=reasons,
        facts=[
            (_("Rounds"), str(detail["rounds"])), (_("Calls"), str(detail["calls"])), (_("Ending"), detail["ending"]),
        ],
        said=[message_view(number, one) for number, one in enumerate(messages[:MAX_SHOWN], 1)],
        constraints=constraints,
        more=max(0, len(messages) - MAX_SHOWN),
        detail=shown_json(detail),
    )  # fmt: skip


def message_view(number: int, one: Mapping[str, Any]) -> Said:
    """Return a message of the chat API for a page."""
    content = one.get("content")
    text = content if isinstance(content, str) else "" if content is None else shown_json(content)
    given = one.get("tool_calls")
    calls = []
    for call in given if isinstance(given, list) else ():
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping):
            calls.append((str(function.get("name")), str(function.get("arguments"))))
    return Said(f"{number}: {one.get('role')}", text, tuple(calls))


def _async(detail: Mapping[str, Any], content: Any) -> EntryView:
    turns = (content or {}).get("turns") or []
    reasons = [
        " ".join(filter(None, (
            _("Round %(round)s:") % one if one["round"] else "", f"{one['task']}:" if one["task"] else "",
            error_words(one["kind"]),
        )))
        for one in detail["errors"]
    ]  # fmt: skip
    return EntryView(
        verdicts=[
            (_("%(task)s solved") % {"task": name}, one["acc"]) for name, one in detail["sub_tasks"].items()
        ] + [(_("All tasks solved"), detail["task"]["overall"])],
        reasons=reasons,
        facts=[
            (_("Composite"), detail["composite"]), (_("Delay"), str(detail["delay"])),
            (_("Rounds"), str(detail["rounds"])), (_("Ending"), detail["ended"]),
        ],
        said=_turns(turns),
        timeline=draw_timeline(list(detail["sub_tasks"]), detail["timeline"], detail["rounds"], detail["errors"])
        if detail.get("timeline") and detail["rounds"] <= MAX_SHOWN else None,
        more=max(0, len(turns) - MAX_SHOWN),
        detail=shown_json(detail),
    )  # fmt: skip


def _turns(turns: Sequence[Any]) -> list[Said]:
    return [
        Said(
            _("Round %(number)s") % {"number": number}, str(turn.get("assistant", "")),
            notes=(shown_json(turn["environment"]),) if turn.get("environment") else (),
        )
        for number, turn in enumerate(turns[:MAX_SHOWN], 1) if isinstance(turn, Mapping)
    ]  # fmt: skip
