"""The conversations of the published generator of CCTU, held again: the same feedback, and the same end."""

import gzip
import json
import re

from annotator.core.constraints.execution import Returned
from annotator.core.sandbox import Sandbox
from benchmark.core.inference import cases
from benchmark.core.inference.asking import Reply
from benchmark.core.scoring.arguments.published_cctu import is_json
from benchmark.core.scoring.cctu_cases import ReferenceCase
from benchmark.core.scoring.sources import read_references
from benchmark.core.scoring.transcripts import calls_of
from benchmark.core.scoring.verdicts import Verdicts

LABEL = re.compile(r"INSTRUCTION FOLLOWING ERROR: ([A-Z _]+) NOT FOLLOWED!")
RAN = "ran"


def told(message):
    """What a message to the model is: the labels of its feedback, else that the tool ran."""
    content = message.get("content") or ""
    starts = content.startswith("INSTRUCTION FOLLOWING ERROR")
    return message["role"], sorted(set(LABEL.findall(content))) if starts else RAN


def is_lost(case, call):
    """Whether the published generator loses the feedback to a call."""
    return not call.id or call.name not in case.codes or not is_json(call.arguments)


def test_the_step_checker_says_what_the_published_one_said(shared_data):
    references = {one.external_id: one for one in read_references(shared_data / "cctu" / "native", "cctu")}
    known = {name: ReferenceCase(one) for name, one in references.items()}
    rows = [
        json.loads(line)
        for file in sorted((shared_data / "parity" / "scoring_cctu" / "neutral").iterdir())
        for line in gzip.decompress(file.read_bytes()).splitlines()
    ]
    ended = lost = 0
    with Sandbox() as sandbox:
        verdicts = Verdicts(sandbox.run)
        for row in rows:
            case, messages = known[row["case"]], row["messages"]
            conversation = cases.converse(
                references[row["case"]], case, row["attempt"], verdicts=verdicts,
                call_tool=lambda case, name, arguments: Returned("ok", RAN),
            )  # fmt: skip
            asked = next(conversation)
            places = [n for n, one in enumerate(messages) if one["role"] == "assistant"]
            first = places[0] if places else len(messages)
            assert [one["content"] for one in asked.messages] == [one["content"] for one in messages[:first]]
            over = False
            for place, following in zip(places, [*places[1:], len(messages)][: len(places)], strict=True):
                before = len(asked.messages)
                try:
                    asked = conversation.send(Reply(messages[place]))
                    said = asked.messages[before + 1 :]
                except StopIteration as end:
                    assert following == len(messages), (row["run"], row["case"], "ended too early")
                    said = end.value["messages"][before + 1 :]
                    over = True
                calls = calls_of(messages[place])
                for position, (mine, theirs) in enumerate(zip(said, messages[place + 1 : following], strict=True)):
                    if calls and is_lost(case, calls[position]):
                        lost += 1
                    else:
                        assert told(mine) == told(theirs), (row["run"], row["case"], place)
            # The others were cut off by the service.
            ended += over
            answered = bool(places) and messages[-1]["role"] == "assistant"
            assert over is (answered or len(places) >= case.max_rounds), (row["run"], row["case"])
    assert len(rows) == 1800
    assert ended > 1600
    assert lost > 0
