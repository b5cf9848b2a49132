"""Conversations over constrained cases (cctu): the step checker judges each reply, and the tools run.

As in the published loop, a refused call does not run and gets the feedback instead; a refused final response gets it as
a user's message. A conversation ends with an accepted response or at the ceiling of rounds. Unlike the published
generator, this one passes on all feedback, also that to calls of unknown tools and to arguments that are not JSON.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from annotator.core.constraints.execution import Returned, clipped
from annotator.core.constraints.solving import text_of as text_of_value
from benchmark.core.formats.interface import ReadDialogue
from benchmark.core.inference.asking import Ask, Conversation, Unit, as_tools, tool_message
from benchmark.core.scoring.cctu_cases import ReferenceCase
from benchmark.core.scoring.cctu_steps import StepChecker, Violation
from benchmark.core.scoring.transcripts import AttemptedCall, calls_of, text_of
from benchmark.core.scoring.verdicts import Verdicts

#: Runs a tool of a case: the case, the tool, the arguments.
CallTool = Callable[[ReferenceCase, str, Mapping[str, Any]], Returned]
#: Characters of a tool's result that a model gets.
MAX_RESULT = 100_000


def units(
    cases: Iterable[tuple[ReadDialogue, ReferenceCase]], *, attempts: int, verdicts: Verdicts, call_tool: CallTool
) -> Iterator[Unit]:
    """Yield a unit for each attempt at each case; attempts count from 0."""
    pairs = list(cases)
    for attempt in range(attempts):
        for dialogue, case in pairs:
            begin = partial(converse, dialogue, case, attempt, verdicts=verdicts, call_tool=call_tool)
            yield Unit(f"{case.id}@{attempt}", begin)


def converse(
    dialogue: ReadDialogue, case: ReferenceCase, attempt: int, *, verdicts: Verdicts, call_tool: CallTool
) -> Conversation:
    """Have the conversation of one attempt."""
    document, tools = dialogue.document, as_tools(dialogue.tools)
    messages: list[Mapping[str, Any]] = []
    if document["system_prompt"]:
        messages.append({"role": "system", "content": document["system_prompt"]})
    messages.append({"role": "user", "content": document["user_query"]})
    checker = StepChecker(case, verdicts)
    for _round in range(case.max_rounds):
        reply = yield Ask(tuple(messages), tools)
        if reply.message is None:
            break
        messages.append(reply.message)
        calls = calls_of(reply.message)
        if not calls:
            text = text_of(reply.message)
            verdicts.judge_texts(case, [text])
            told = dict.fromkeys(one.feedback for one in checker.check(text))
            if not told:
                break
            messages.append({"role": "user", "content": "\n".join(told)})
        else:
            messages += _results(case, calls, checker.check(calls), call_tool)
    return {"attempt": attempt, "case": case.id, "messages": messages}


def _results(
    case: ReferenceCase, calls: Sequence[AttemptedCall], violations: Sequence[Violation], call_tool: CallTool
) -> Iterator[dict[str, Any]]:
    for position, call in enumerate(calls):
        told = dict.fromkeys(one.feedback for one in violations if one.call in (position, None))
        yield tool_message(str(call.id), "\n".join(told) if told else _run(case, call, call_tool))


def _run(case: ReferenceCase, call: AttemptedCall, call_tool: CallTool) -> str:
    returned = call_tool(case, call.name, json.loads(call.arguments))
    if returned.ok:
        return clipped(text_of_value(returned.value), MAX_RESULT)
    return f"The call of {call.name} failed. {returned.message}"
