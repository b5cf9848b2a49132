"""The steps of one dialogue: who is next, and what an answer leads to. Pure, so the same events give the same bytes.

User → people choose → planner → automatic checks and checker → tool → … → assistant → next task (C3-Bench, A.1.2 and
A.1.3). An answer that is not accepted is asked for again, with the reasons, up to the number of retries; then a person
must act. A person can write any answer instead of a model.
"""

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from itertools import count
from typing import Any

from annotator.core.checks import CheckSettings
from annotator.core.checks.label import derive_policy
from annotator.core.schema import SchemaProblem, read_document
from annotator.core.schema.exact_json import dumps, loads
from annotator.core.schema.value_words import cut
from annotator.core.text import message
from benchmark.core.generation.answers import (
    MAX_MESSAGE,
    Candidate,
    Verdict,
    read_actions,
    read_candidates,
    read_observations,
    read_text,
    read_verdict,
    text_problem,
)
from benchmark.core.generation.cells import ANY
from benchmark.core.generation.planning import check_problems, document_of, last_steps, new_steps, policy_problem
from benchmark.core.generation.problems import Problem
from benchmark.core.generation.purposes import ROLE_OF, Role
from benchmark.core.generation.state import Setup, Source, Stage, State, Unusable
from benchmark.core.generation.turns import open_calls, purpose_of

_DEFAULT = CheckSettings()
#: Characters of a refused answer that are kept, and problems of it.
_KEPT, _LISTED = 2_000, 8
#: The code of a problem that the checker found in a plan.
CHECKER = "checker"


def begin(setup: Setup) -> State:
    """Return the state before the first answer: after the tasks that it continues, and a given request."""
    state = State(setup, tasks=deepcopy(setup.past))
    if setup.request:
        _open_task(state, setup.request, "", Source("program"))
    return state


def advance(state: State, text: str, source: Source, settings: CheckSettings = _DEFAULT) -> State:
    """Return the state after an answer to what the state waits for.

    A model's answer that can't be used is refused in the state; a person's or a program's raises Unusable. A program
    answers for tools that run: the results of some of the calls, by their ids. ``settings``: of the checks; the same
    ones give the same state.
    """
    by_person = source.by == "person"
    if state.stage is Stage.DONE or (state.stage is Stage.CHOOSE and not by_person):
        raise ValueError("The state waits for no answer.")
    new = state.copy()
    new.events.append({"kind": "answer", "text": text, "source": source.to_json()})
    new.answers += source.by == "model"
    if by_person and state.stage in (Stage.PROPOSE, Stage.CHOOSE):
        _open_task(new, text, "", source)
        return new
    stage = new.stage
    problems = _READERS[stage](new, text, source, settings)
    if problems and source.by != "model" and problems[0].code != CHECKER:
        raise Unusable(problems[0])
    if problems and problems[0].code == CHECKER:
        _refuse(new, Stage.PLAN, problems, dumps((new.actions or {})["proposal"]).decode())
    elif problems:
        _refuse(new, stage, problems, text)
    return new


def choose(state: State, candidate: str, source: Source, text: str = "") -> State:
    """Return the state after a candidate was chosen, and perhaps edited. Raises Unusable."""
    found = next((one for one in state.candidates if one["id"] == candidate), None)
    if state.stage is not Stage.CHOOSE or found is None:
        raise Unusable(Problem("candidate", message("There is no candidate “%(name)s”.", name=candidate[:40])))
    new = state.copy()
    new.events.append({"kind": "choose", "candidate": candidate, "text": text, "source": source.to_json()})
    _open_task(new, text or found["text"], candidate, source)
    return new


def reject(state: State, reason: str, source: Source) -> State:
    """Return the state in which other candidates are asked for, because of a reason. Raises Unusable."""
    if state.stage is not Stage.CHOOSE:
        raise Unusable(Problem("candidate", message("There are no candidates to reject.")))
    new = state.copy()
    new.events.append({"kind": "reject", "reason": reason, "source": source.to_json()})
    new.stage = Stage.PROPOSE
    why = message("A person rejected these requests: %(reason)s", reason=cut(reason, 500) or "-")
    texts = "\n".join(one["text"] for one in new.candidates)
    new.refusals[Stage.PROPOSE] = {"count": 0, "problems": [Problem("rejected", why).to_json()], "text": texts[:_KEPT]}
    new.candidates = []
    return new


def retry(state: State, source: Source) -> State:
    """Return the state with all retries left again. Raises Unusable unless none were left."""
    if not state.stuck:
        raise Unusable(Problem("retry", message("Retries are left.")))
    new = state.copy()
    new.events.append({"kind": "retry", "source": source.to_json()})
    new.stuck = False
    new.refusals[new.stage] = {**new.refusals[new.stage], "count": 0}
    return new


def back_to(state: State, events: int, settings: CheckSettings = _DEFAULT) -> State:
    """Return the state as it was after so many events. Models' answers stay counted, so no number is used twice."""
    if not 0 <= events <= len(state.events):
        raise Unusable(Problem("back", message("There are %(count)s steps.", count=len(state.events))))
    new = replay(state.setup, state.events[:events], settings)
    new.answers = state.answers
    return new


def replay(
    setup: Setup, events: Iterable[Mapping[str, Any]], settings: CheckSettings = _DEFAULT, start: State | None = None
) -> State:
    """Return the state that events lead to, from the beginning or from another state."""
    state = begin(setup) if start is None else start
    for event in events:
        source = Source(**event["source"])
        if event["kind"] == "answer":
            state = advance(state, event["text"], source, settings)
        elif event["kind"] == "choose":
            state = choose(state, event["candidate"], source, event["text"])
        else:
            state = reject(state, event["reason"], source) if event["kind"] == "reject" else retry(state, source)
    return state


def first_usable(state: State) -> str:
    """Return the first candidate without a problem: the choice of scripted runs."""
    return str(next(one["id"] for one in state.candidates if one["problem"] is None))


def finished_document(state: State) -> dict[str, Any]:
    """Return the validated document of a state that is done. Raises SchemaProblem."""
    return read_document(document_of(state.setup, state.tasks))


def _refuse(state: State, stage: Stage, problems: list[Problem], text: str) -> None:
    state.stage = stage
    count, listed = state.tried + 1, [one.to_json() for one in problems[:_LISTED]]
    state.refusals[stage] = {"count": count, "problems": listed, "text": _storable(text)}
    state.stuck = count > state.setup.retries


def _storable(text: str) -> str:
    """Return the beginning of a refused answer, without what JSON can't have."""
    return text[:_KEPT].encode("utf-8", "replace").decode().replace("\0", "�")


def _accept(state: State, following: Stage) -> None:
    """Go on to another stage; what was refused before does not count there."""
    state.refusals.pop(state.stage, None)
    state.stage, state.stuck = following, False


def _from(state: State, place: str, role: Role, source: Source) -> None:
    where = f"/tasks/{state.tasks[-1]['id']}{place}"
    state.provenance.append({"place": where, "role": role.value, **source.to_json()})


# --- the user's requests ---------------------------------------------------------------------------------------------


def _propose(state: State, text: str, source: Source, settings: CheckSettings) -> list[Problem]:
    relations = state.setup.relations[state.task] if state.task else ()
    found = read_candidates(text, relations=relations, language=state.setup.language, toolset=state.setup.toolset)
    if isinstance(found, Problem):
        return [found]
    state.candidates = [_candidate(number, one, source) for number, one in enumerate(found, 1)]
    _accept(state, Stage.CHOOSE)
    return []


def _candidate(number: int, one: Candidate, source: Source) -> dict[str, Any]:
    problem = None if one.problem is None else one.problem.to_json()
    return {
        "id": f"c{number}", "text": one.text, "relation": one.relation, "problem": problem, "source": source.to_json()
    }  # fmt: skip


def _open_task(state: State, text: str, chosen: str, source: Source) -> None:
    """Begin a task with a message. Raises Unusable for one that can't be sent."""
    problem = text_problem(text, language=state.setup.language, most=MAX_MESSAGE)
    if problem is not None:
        raise Unusable(problem)
    number, candidates = state.task, [one for one in state.candidates if one["text"].strip()]
    one = next((one for one in candidates if one["id"] == chosen), None)
    relation = (one and one["relation"]) or state.setup.relations[number][0]
    task = {
        "id": _new_id(state.tasks), "user_message": text.strip(), "policy": _policy(state.setup.policies[number]),
        "information": relation, "steps": [],
        "candidate_messages": [{"id": one["id"], "text": one["text"]} for one in candidates], "chosen": chosen or None,
    }  # fmt: skip
    _accept(state, Stage.PLAN)
    state.tasks.append(task)
    state.candidates = []
    if candidates:
        _from(state, "/candidate_messages", Role.USER, Source(**candidates[0]["source"]))
    unedited = one is not None and one["text"].strip() == task["user_message"]
    _from(state, "/user_message", Role.USER, Source(**one["source"]) if one and unedited else source)
    if unedited and source.by != "program":
        _from(state, "/chosen", Role.USER, source)


def _new_id(tasks: Iterable[Mapping[str, Any]]) -> str:
    """Return an id for the next task that no earlier one has; those of other formats may be of any form."""
    taken = [task["id"] for task in tasks]
    return next(name for number in count(len(taken) + 1) if (name := f"t{number}") not in taken)


def _policy(wanted: str) -> str | None:
    return None if wanted == ANY else wanted


# --- the planner and the checker --------------------------------------------------------------------------------------


def _plan(state: State, text: str, source: Source, settings: CheckSettings) -> list[Problem]:
    state.actions = None
    actions = read_actions(text, toolset=state.setup.toolset)
    if isinstance(actions, Problem):
        return [actions]
    against = policy_problem(state, actions)
    steps = new_steps(state, actions)
    if against is not None or isinstance(steps, Problem):
        return [one for one in (against, steps) if isinstance(one, Problem)]
    by_person = source.by == "person"
    found = check_problems(state, steps, settings, lenient=by_person) if steps else []
    if found:
        return found
    state.actions = {"proposal": actions.raw, "steps": steps, "source": source.to_json()}
    # What the planner got wrong before stays known until its plan is accepted.
    state.stage, state.stuck = Stage.JUDGE, False
    if by_person:
        _apply(state)
    return []


def _judge(state: State, text: str, source: Source, settings: CheckSettings) -> list[Problem]:
    # A person writes what is wrong, or nothing.
    verdict = Verdict(text.strip()) if source.by == "person" else read_verdict(text)
    if isinstance(verdict, Problem):
        return [verdict]
    state.refusals.pop(Stage.JUDGE, None)
    if verdict.reason:
        return [Problem(CHECKER, message("The checker says: %(reason)s", reason=verdict.reason))]
    place = f"/steps/s{len(state.tasks[-1]['steps']) + 1}"
    _apply(state)
    _from(state, place, Role.CHECKER, source)
    return []


def _apply(state: State) -> None:
    """Do what the accepted plan says."""
    plan = state.actions or {}
    steps, planner = state.tasks[-1]["steps"], Source(**plan["source"])
    action = plan["proposal"]["action"]
    places = [step["id"] for step in plan["steps"]] or [f"s{len(steps) + 1}"]
    steps.extend(plan["steps"])
    for place in places:
        _from(state, f"/steps/{place}", Role.PLANNER, planner)
    state.refusals.pop(Stage.PLAN, None)
    state.stage = {"call": Stage.OBSERVE, "ask": Stage.ASK, "finish": Stage.ANSWER}[action]
    state.stuck = False


# --- results and texts ------------------------------------------------------------------------------------------------


def _observe(state: State, text: str, source: Source, settings: CheckSettings) -> list[Problem]:
    calls, tools = open_calls(state), state.setup.tools
    if source.by == "program":
        # What a function returned is its result, whatever its description says.
        results, tools = loads(text)["results"], []
        calls = [call for call in calls if call["id"] in results]
        text = dumps({"results": [results[call["id"]] for call in calls]}).decode()
    found = read_observations(text, calls=[call["name"] for call in calls], tools=tools)
    if isinstance(found, Problem):
        return [found]
    for call, observation in zip(calls, found, strict=True):
        call["observation"] = observation
        _from(state, f"/steps/{call['id']}/observation", Role.TOOL, source)
    _accept(state, Stage.OBSERVE if open_calls(state) else Stage.PLAN)
    return []


def _ask(state: State, text: str, source: Source, settings: CheckSettings) -> list[Problem]:
    return _write(state, text, source, "question", Stage.REPLY)


def _reply(state: State, text: str, source: Source, settings: CheckSettings) -> list[Problem]:
    return _write(state, text, source, "user_reply", Stage.PLAN)


def _answer(state: State, text: str, source: Source, settings: CheckSettings) -> list[Problem]:
    last = len(state.tasks) == len(state.setup.policies)
    found = _write(state, text, source, "text", Stage.DONE if last else Stage.PROPOSE)
    if not found and state.tasks[-1]["policy"] is None:
        kinds = [step["type"] for step in state.tasks[-1]["steps"]]
        state.tasks[-1]["policy"] = derive_policy(kinds.count("call"), kinds.count("clarification"))
    if not found and last:
        try:
            finished_document(state)
        except SchemaProblem as error:
            return [Problem("schema", message("%(problem)s", problem=error.problems[0].message))]
    return found


def _write(state: State, text: str, source: Source, name: str, following: Stage) -> list[Problem]:
    """Add a text to the task: a question, its reply, or the answer."""
    role = ROLE_OF[purpose_of(state)]
    names = state.setup.toolset if role is Role.USER else None
    found = read_text(text, language=state.setup.language, names=names)
    if isinstance(found, Problem):
        return [found]
    steps = state.tasks[-1]["steps"]
    if name != "user_reply":
        kind = "clarification" if name == "question" else "answer"
        chat = not any(step["type"] == "call" for step in steps)
        needs = [{"id": one, "kind": "parameter"} for one in last_steps(steps)]
        step = {"id": f"s{len(steps) + 1}", "type": kind, "depends_on": needs}
        steps.append(step | ({"answer_type": "chat" if chat else "tool"} if kind == "answer" else {}))
    steps[-1][name] = found
    _from(state, f"/steps/{steps[-1]['id']}/{name}", role, source)
    _accept(state, following)
    return []


_READERS: dict[Stage, Callable[[State, str, Source, CheckSettings], list[Problem]]] = {
    Stage.PROPOSE: _propose,
    Stage.PLAN: _plan,
    Stage.JUDGE: _judge,
    Stage.OBSERVE: _observe,
    Stage.ASK: _ask,
    Stage.REPLY: _reply,
    Stage.ANSWER: _answer,
}
