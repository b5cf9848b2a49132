"""Runs of scripted models over the demo's releases. They answer by rule from the references, without the one slip in
them; no model was asked.
"""

import io
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from annotator.core.composites.messages import COMPLETED, write_call_message, write_content
from annotator.services.jobs import jobs
from benchmark.demo.slip import without_slip
from benchmark.models import Release, ReleaseState
from benchmark.services.runs.uploads import families_of, start_scoring

Document = Mapping[str, Any]
Rounds = list[dict[str, Any]]

#: The names of the runs say what they are.
PREFIX = "scripted: "


def play(releases: list[Release], log: Callable[[str], None]) -> None:
    """Score five scripted models on each frozen release, as its administrators would."""
    for release in releases:
        if release.state != ReleaseState.FROZEN or release.requester is None:
            continue
        family = families_of(release)[0]
        documents = {
            item.dialogue.external_id: without_slip(item.dialogue.external_id, item.revision.document())
            for item in release.items.select_related("dialogue", "revision").order_by("dialogue__external_id")
        }
        lines = [json.dumps(one, ensure_ascii=False) for one in _FAMILIES[family](documents)]
        if not lines:
            continue
        file = start_scoring(
            actor=release.requester, release=release, upload=io.BytesIO("\n".join(lines).encode()),
            filename="scripted-models.jsonl", family=family, provider="Assay’s demo", wake_worker=False,
        )  # fmt: skip
        jobs.run(file.job_id)
        log(f"Scored scripted models on release {release.version} of {release.project.name}.")


# --- dialogues of tasks ----------------------------------------------------------------------------------------------


def _multi_turn(documents: Mapping[str, Document]) -> Iterator[dict[str, Any]]:
    models: dict[str, Callable[[Rounds], Rounds]] = {
        "all at once": lambda rounds: rounds,
        "one call at a time": _one_by_one,
        "never asks": lambda rounds: [one for one in rounds[:-1] if one["calls"]] + rounds[-1:],
        "changes words": lambda rounds: [_reworded(one) for one in rounds],
        "only talks": lambda rounds: [_text("I can’t look that up, but here is what I think.")],
    }
    for model, answer in models.items():
        for name, document in documents.items():
            for number, task in enumerate(document.get("tasks", ())):
                rounds = answer(list(reference_rounds(task)))
                yield {"run": PREFIX + model, "dialogue": name, "task": number, "rounds": rounds}


def reference_rounds(task: Document) -> Iterator[dict[str, Any]]:
    """Yield the reference as rounds: each question alone, all ready calls together, the answer."""
    done: set[str] = set()
    steps = list(task["steps"])
    while steps:
        ready = [step for step in steps if all(one["id"] in done for one in step["depends_on"] or ())] or steps[:1]
        calls = [step for step in ready if step["type"] == "call"]
        taken = calls or ready[:1]
        if calls:
            yield {
                "calls": [{"name": step["name"], "arguments": step["arguments"]} for step in calls],
                "content": None,
                "error": None,
            }
        else:
            yield _text(str(taken[0].get("question") or taken[0].get("text") or "Done."))
        done |= {step["id"] for step in taken}
        steps = [step for step in steps if step["id"] not in done]


def _one_by_one(rounds: Rounds) -> Rounds:
    return [
        {**one, "calls": calls} for one in rounds for calls in ([[call] for call in one["calls"]] or [[]])
    ]  # fmt: skip


def _text(content: str) -> dict[str, Any]:
    return {"calls": [], "content": content, "error": None}


def _reworded(one: Mapping[str, Any]) -> dict[str, Any]:
    """Return a round with one more word in each longer text of its calls' arguments."""
    calls = []
    for call in one["calls"]:
        arguments = call["arguments"]
        if isinstance(arguments, dict):
            arguments = {
                name: f"{value} please" if isinstance(value, str) and " " in value else value
                for name, value in arguments.items()
            }
        calls.append({**call, "arguments": arguments})
    return {**one, "calls": calls}


# --- constrained cases -----------------------------------------------------------------------------------------------


def _cctu(documents: Mapping[str, Document]) -> Iterator[dict[str, Any]]:
    for name, document in documents.items():
        rounds = document["reference_trajectory"] or []
        if not rounds:
            continue
        final = next((one["final"] for one in rounds if one["final"]), "Done.")
        plain = " ".join(final.replace("*", "").replace("#", "").replace("|", " ").split())
        for model, messages in (
            ("follows the reference", _conversation(rounds, [final])),
            ("answers at once", [_final(final)]),
            ("calls everything twice", _conversation(rounds, [final], times=2)),
            ("forgets the format", _conversation(rounds, [plain])),
            ("corrects itself", _conversation(rounds, [plain, final])),
        ):
            yield {"run": PREFIX + model, "attempt": 0, "case": name, "messages": messages}


def _conversation(rounds: list[Document], finals: list[str], times: int = 1) -> Rounds:
    messages: Rounds = []
    for number, one in enumerate(rounds):
        for again in range(times if one["calls"] else 0):
            calls, replies = [], []
            for place, call in enumerate(one["calls"]):
                key = f"c{number}-{again}-{place}"
                arguments = call["arguments"]
                text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
                calls.append({"id": key, "type": "function", "function": {"name": call["name"], "arguments": text}})
                said = call["observation"]
                reply = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
                replies.append({"role": "tool", "tool_call_id": key, "content": reply})
            messages += [{"role": "assistant", "content": None, "tool_calls": calls}, *replies]
    for place, text in enumerate(finals):
        messages.append(_final(text))
        if place + 1 < len(finals):
            messages.append({"role": "user", "content": "INSTRUCTION FOLLOWING ERROR: FORMAT NOT FOLLOWED!"})
    return messages


def _final(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


# --- composites ------------------------------------------------------------------------------------------------------


def _async(documents: Mapping[str, Document]) -> Iterator[dict[str, Any]]:
    for name, document in documents.items():
        if document["kind"] != "composite":
            continue
        tasks = {task["single"]: documents[task["single"]]["tasks"][0]["steps"] for task in document["tasks"]}
        each = {
            task: [write_call_message(task, one["name"], one["arguments"]) for one in calls]
            for task, calls in tasks.items()
        }
        first = next(iter(each))
        in_turn = [
            text
            for place in range(max(map(len, each.values())))
            for calls in each.values()
            for text in calls[place : place + 1]
        ]
        for model, texts in (
            ("in turn", in_turn),
            ("one task after the other", [text for calls in each.values() for text in calls]),
            ("first task only", each[first]),
            ("says every call twice", [text for text in in_turn for _ in range(2)]),
            ("writes prose first", ["Let me see.", *in_turn]),
        ):
            turns = [{"assistant": text} for text in (*texts, write_content(COMPLETED))]
            yield {
                "id": f"{name} {model}", "composite": name, "model": PREFIX + model, "delay": "1", "seed": 0,
                "turns": turns,
            }  # fmt: skip


_FAMILIES: dict[str, Callable[[Mapping[str, Document]], Iterator[dict[str, Any]]]] = {
    "wild": _multi_turn, "c3": _multi_turn, "mmtb": _multi_turn, "cctu": _cctu, "async": _async,
}  # fmt: skip
