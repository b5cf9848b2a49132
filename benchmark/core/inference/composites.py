"""Conversations over composites (async): the model writes one JSON object in each round, and results come later."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from annotator.core.composites.delays import read_delay
from annotator.core.composites.dialogue import Dialogue
from annotator.core.composites.prompt import first_message, system_prompt
from annotator.core.composites.running import running
from annotator.core.execution.running import Runner
from annotator.core.schema.canonical import canonical
from benchmark.core.formats.interface import ReadDialogue
from benchmark.core.inference.asking import Ask, Conversation, Unit
from benchmark.core.scoring.async_runs import AsyncReferences, Composite
from benchmark.core.scoring.references import UnusableReference
from benchmark.core.scoring.transcripts import calls_of, text_of


def units(
    singles: Mapping[str, ReadDialogue],
    references: AsyncReferences,
    chosen: Sequence[Composite],
    *,
    delays: Sequence[str],
    seed: int,
    runner: Runner,
) -> Iterator[Unit]:
    """Yield a unit for each composite under each delay. Raises UnusableReference if one can't be run."""
    for delay in delays:
        for composite in chosen:
            for task in composite.tasks:
                if task not in singles or task not in references.tasks or references.tasks[task].tool is None:
                    raise UnusableReference(f"{composite.id}: there is no single task {task} that can be run.")
            yield Unit(
                f"{composite.id}@{delay}",
                partial(converse, singles, references, composite, delay=delay, seed=seed, runner=runner),
            )


def converse(
    singles: Mapping[str, ReadDialogue],
    references: AsyncReferences,
    composite: Composite,
    *,
    delay: str,
    seed: int,
    runner: Runner,
) -> Conversation:
    """Have the conversation of one composite."""
    tools = {}
    for name in composite.tasks:
        task = references.tasks[name]
        if task.tool is not None:
            tools[name] = (task.tool, task.start)
    dialogue = Dialogue(composite.tasks, read_delay(delay, seed), composite.max_rounds, running(runner, tools))
    members = {name: singles[name] for name in composite.tasks}
    messages: list[Mapping[str, Any]] = [
        {"role": "system", "content": system_prompt(_functions(members.values()))},
        {
            "role": "user",
            "content": first_message({name: one.document["tasks"][0]["user_message"] for name, one in members.items()}),
        },
    ]
    while not dialogue.ended:
        reply = yield Ask(tuple(messages))
        if reply.message is None:
            break
        said = dialogue.say(_said(reply.message))
        messages.append(reply.message)
        messages.append(
            {"role": "user", "content": "\n".join(json.dumps(one, ensure_ascii=False) for one in said.reply)}
        )
    key = f"{composite.id}@{delay}"
    turns = [{"assistant": one.text} for one in dialogue.rounds]
    return {"id": key, "composite": composite.id, "delay": delay, "seed": seed, "turns": turns}


def _said(message: Mapping[str, Any]) -> str:
    """Return a message as text: no tools are offered, so a call is not one."""
    return text_of(message) or " ".join(call.name for call in calls_of(message))


def _functions(singles: Iterable[ReadDialogue]) -> list[dict[str, Any]]:
    """Return the functions of all tasks; tasks with the same tools share theirs."""
    found: dict[str, dict[str, Any]] = {}
    for single in singles:
        for tool in single.tools:
            function = tool.get("function") or tool
            shown = {key: function.get(key) for key in ("name", "description", "parameters")}
            found.setdefault(canonical(shown), shown)
    return list(found.values())
