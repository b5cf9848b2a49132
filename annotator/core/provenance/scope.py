"""The texts and observations of one document that may contain a value, and which of them each call can see."""

from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Any

from annotator.core.graph import GraphReading, read_graph
from annotator.core.provenance.search_targets import Body, Observation, Text
from annotator.core.provenance.value_forms import is_value
from annotator.core.provenance.work_budget import Work
from annotator.core.schema.exact_json import pointer
from annotator.core.schema.toolsets import CompiledToolset, Tool


class SourceKind(StrEnum):
    """Where a value may come from. An exchange is a user message and everything up to the next task.

    message: the user message of this task. reply: the user's reply to a clarification of this task; question: the
    question asked there. env_info: the system's information. observation: of a call of this task that may run before.
    earlier_message, earlier_answer, earlier_observation: of an earlier exchange; replies count as messages, questions
    as answers. default, enum: the tool's schema.
    """

    MESSAGE = "message"
    REPLY = "reply"
    QUESTION = "question"
    ENV_INFO = "env_info"
    OBSERVATION = "observation"
    EARLIER_MESSAGE = "earlier_message"
    EARLIER_ANSWER = "earlier_answer"
    EARLIER_OBSERVATION = "earlier_observation"
    DEFAULT = "default"
    ENUM = "enum"


#: Values that are examined in one call (as in the other checks), and in all calls of a document.
MAX_LEAVES, MAX_LEAVES_OF_ALL = 2_000, 20_000


@dataclass(slots=True, eq=False)
class SearchTarget:
    """One text or observation. ``exchange`` counts from 0 over the dialogue, including the imported context; ``turn``
    is the number of user messages until then, including replies to clarifications. ``step`` is the id of its step.
    """

    kind: SourceKind
    anchor: str
    body: Body
    exchange: int
    turn: int
    step: str = ""


def text_of(target: SearchTarget) -> Text:
    """Return the text of a target; for an observation, its texts and keys as one."""
    return target.body if isinstance(target.body, Text) else target.body.text


def text_size(target: SearchTarget) -> int:
    """Return roughly how many characters of a target have to be searched."""
    return len(text_of(target).folded)


class CallScope:
    """One call: its arguments and which steps of its task it can see.

    ``sees`` is a bitset of positions: the steps before it in the document and all its dependencies, but no step that
    waits for it. ``knows`` says whether the dependencies of all these, direct and indirect, are annotated. ``cut``: it
    has more values than ``leaves``, the examined ones.
    """

    __slots__ = (
        *("above", "anchor", "arguments", "cut", "inferable", "knows", "leaves", "position", "sees", "step", "tool"),
    )

    def __init__(self, step: dict[str, Any], position: int, anchor: str, tool: Tool | None, most: int) -> None:
        self.step = step
        self.position = position
        self.anchor = anchor
        self.tool = tool
        arguments = step["arguments"]
        self.arguments: dict[str, Any] = arguments if isinstance(arguments, dict) else {}
        self.leaves, self.cut = leaves_below(self.arguments, min(most, MAX_LEAVES))
        self.inferable: dict[str, str] = step.get("inferable") or {}
        self.sees = (1 << position) - 1
        self.above = 0
        self.knows = False

    def reason_at(self, path: str) -> str | None:
        """Return the reason why the value at a pointer below the arguments may be inferred; None if there is none."""
        while path and self.inferable:
            if path in self.inferable:
                return self.inferable[path]
            path = path.rpartition("/")[0]
        return None


class TaskScope:
    """One task: its calls, the search targets in it, and the exchange and turn of its user message.

    ``observations`` has those that contain data, by the position of their step. ``missing`` is a bitset of steps
    without an observation or reply yet, so their content is not known.
    """

    __slots__ = (
        *("anchor", "calls", "env", "exchange", "missing", "observations", "reading", "said", "steps", "task", "turn"),
        "message",
    )

    def __init__(
        self, task: dict[str, Any], exchange: int, turn: int, reading: GraphReading | None, work: Work
    ) -> None:
        self.task = task
        self.anchor = f"/tasks/{task['id']}"
        self.steps: list[dict[str, Any]] = task["steps"]
        self.exchange, self.turn = exchange, turn
        self.message = SearchTarget(
            SourceKind.MESSAGE, f"{self.anchor}/user_message", Text(task["user_message"], work=work), exchange, turn
        )
        self.env: list[SearchTarget] = []
        self.observations: dict[int, SearchTarget] = {}
        self.said: list[tuple[int, SearchTarget]] = []
        self.missing = 0
        self.calls: list[CallScope] = []
        self.reading = reading if reading is not None else read_graph(self.steps)


class DocumentScope:
    """All search targets of a validated document.

    ``earlier`` are those before the first task (the imported context) and those of the tasks, in reading order;
    ``complete`` says for each task whether all content before it exists. ``work`` is the search budget that is left.
    """

    __slots__ = ("_left", "complete", "earlier", "tasks", "work")

    def __init__(
        self, document: dict[str, Any], toolset: CompiledToolset, readings: list[GraphReading] | None = None
    ) -> None:
        self.work = Work()
        self._left = MAX_LEAVES_OF_ALL
        self.tasks: list[TaskScope] = []
        self.earlier: list[SearchTarget] = []
        self.complete: list[bool] = []
        env = []
        if document["env_info"]:
            env.append(SearchTarget(SourceKind.ENV_INFO, "/env_info", self._text(document["env_info"]), -1, 0))
        exchange, turn = self._talk(document["context"], env)
        # Often only the end of the context is given; the rest is not known.
        complete = not document["context"]
        for index, task in enumerate(document["tasks"]):
            exchange, turn = exchange + 1, turn + 1
            self.complete.append(complete)
            scope = TaskScope(task, exchange, turn, readings[index] if readings else None, self.work)
            scope.env = env
            if task["env_info"]:
                body = self._text(task["env_info"])
                own = SearchTarget(SourceKind.ENV_INFO, f"{scope.anchor}/env_info", body, exchange, turn)
                scope.env = [*env, own]
            turn = self._steps(scope, toolset, turn)
            complete = complete and not scope.missing and bool(task["steps"])
            self.tasks.append(scope)

    def _talk(self, context: list[dict[str, Any]], env: list[SearchTarget]) -> tuple[int, int]:
        exchange, turn = -1, 0
        kinds = {
            "user": SourceKind.EARLIER_MESSAGE,
            "assistant": SourceKind.EARLIER_ANSWER,
            "tool": SourceKind.EARLIER_OBSERVATION,
        }
        for i, message in enumerate(context):
            role, anchor = message["role"], f"/context/{i}/content"
            if role == "system":
                env.append(SearchTarget(SourceKind.ENV_INFO, anchor, self._text(message["content"]), -1, 0))
                continue
            if role == "user":
                exchange, turn = exchange + 1, turn + 1
            # Content before the first given user message belongs to an exchange with an unknown message.
            exchange = max(exchange, 0)
            self.earlier.append(SearchTarget(kinds[role], anchor, self._text(message["content"]), exchange, turn))
        return exchange, turn

    def _steps(self, scope: TaskScope, toolset: CompiledToolset, turn: int) -> int:
        """Collect the search targets of a task; return the number of user messages after it."""
        exchange = scope.exchange
        self.earlier.append(
            SearchTarget(SourceKind.EARLIER_MESSAGE, scope.message.anchor, scope.message.body, exchange, turn)
        )
        for position, step in enumerate(scope.steps):
            anchor, kind = f"{scope.anchor}/steps/{step['id']}", step["type"]
            if kind == "call":
                call = CallScope(step, position, anchor, toolset.tools.get(step["name"]), self._left)
                self._left -= len(call.leaves)
                scope.calls.append(call)
                self._observation(scope, position, step, anchor, turn)
            elif kind == "clarification":
                for field, here, later in _SAID:
                    if step[field]:
                        turn += field == "user_reply"
                        text = self._text(step[field])
                        scope.said.append((position, SearchTarget(here, f"{anchor}/{field}", text, exchange, turn)))
                        self.earlier.append(SearchTarget(later, f"{anchor}/{field}", text, exchange, turn))
                    else:
                        scope.missing |= 1 << position
            elif step["text"]:
                self.earlier.append(
                    SearchTarget(SourceKind.EARLIER_ANSWER, f"{anchor}/text", self._text(step["text"]), exchange, turn)
                )
            else:
                scope.missing |= 1 << position
        _visibility(scope)
        return turn

    def _text(self, text: str) -> Text:
        return Text(text, work=self.work)

    def _observation(self, scope: TaskScope, position: int, step: dict[str, Any], anchor: str, turn: int) -> None:
        observation = step["observation"]
        if observation is None:
            scope.missing |= 1 << position
        elif says_something(observation):
            written = isinstance(observation, str)
            body: Body = self._text(observation) if written else Observation(observation, self.work)
            anchor = f"{anchor}/observation"
            target = SearchTarget(SourceKind.OBSERVATION, anchor, body, scope.exchange, turn, step["id"])
            scope.observations[position] = target
            self.earlier.append(
                SearchTarget(SourceKind.EARLIER_OBSERVATION, anchor, body, scope.exchange, turn, step["id"])
            )


_SAID = (
    ("question", SourceKind.QUESTION, SourceKind.EARLIER_ANSWER),
    ("user_reply", SourceKind.REPLY, SourceKind.EARLIER_MESSAGE),
)
_ACKNOWLEDGING = frozenset({"status", "status_code", "code", "success", "ok", "message", "error", "result", "response"})


def says_something(observation: Any) -> bool:
    """Return whether an observation contains data: not empty, a single word or just a status."""
    if isinstance(observation, str):
        return len(observation.split()) > 1 or any(c.isdecimal() for c in observation) or not observation.isascii()
    return observation not in ([], {}, True, False)


def is_acknowledgement(observation: Any) -> bool:
    """Return whether an observation only reports that something was done: just a status and a sentence."""
    if isinstance(observation, dict):
        return all(
            key in _ACKNOWLEDGING and (not isinstance(value, list | dict) or is_acknowledgement(value))
            for key, value in observation.items()
        )
    return isinstance(observation, str | bool) or observation is None


def _visibility(scope: TaskScope) -> None:
    graph, unannotated = scope.reading.graph, set(scope.reading.unannotated)
    if graph is None:
        return
    above = graph.ancestors
    ids = graph.ids
    looks_back = not any(need >> i for i, need in enumerate(graph.needs))
    for call in scope.calls:
        at = call.position
        call.above = above[at]
        waiting = 0
        if not looks_back:
            waiting = sum(1 << other for other, mask in enumerate(above) if mask >> at & 1)
        call.sees = ((1 << at) - 1 | call.above) & ~waiting
        call.knows = not unannotated or not any(
            ids[other] in unannotated for other in range(len(ids)) if other == at or call.above >> other & 1
        )


def leaves_below(arguments: dict[str, Any], most: int) -> tuple[list[tuple[tuple[Any, ...], Any]], bool]:
    """Return pairs (path, value) of the texts and numbers below the arguments, in order, and whether there
    may be more.
    """
    if len(arguments) <= most and not any(isinstance(value, dict | list) for value in arguments.values()):
        return [((key,), value) for key, value in arguments.items() if is_value(value)], False
    found: list[tuple[tuple[Any, ...], Any]] = []
    stack: list[tuple[tuple[Any, ...], Any]] = [((), arguments)]
    left, cut = most, False
    while stack and left > 0:
        path, node = stack.pop()
        left -= 1
        if isinstance(node, dict | list):
            cut = cut or len(node) > left
            keys = list(islice(node, left)) if isinstance(node, dict) else range(min(len(node), left))
            stack += [((*path, key), node[key]) for key in reversed(keys)]
        elif is_value(node):
            found.append((path, node))
    return found, cut or bool(stack)


def anchor_below(anchor: str, path: tuple[Any, ...]) -> str:
    """Return the anchor of a place below a call's arguments."""
    return f"{anchor}/arguments{pointer(path)}"
