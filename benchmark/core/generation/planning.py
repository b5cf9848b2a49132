"""Judge what the planner proposes: against the policy of its task, and with the automatic checks."""

from collections.abc import Sequence
from typing import Any

from annotator.core.checks import CheckSettings, run_checks
from annotator.core.checks.label import derive_policy
from annotator.core.findings import Finding
from annotator.core.schema import SchemaProblem, read_document
from annotator.core.text import Message, message
from benchmark.core.generation.answers import Actions
from benchmark.core.generation.cells import ANY
from benchmark.core.generation.problems import Problem
from benchmark.core.generation.state import Setup, State
from benchmark.core.generation.turns import POLICY_WORDS

#: Calls and questions of one task.
MAX_CALLS, MAX_QUESTIONS = 12, 2


def policy_problem(state: State, actions: Actions) -> Problem | None:
    """Return why a proposal does not lead to the policy of its task."""
    policy, steps = state.policy, state.tasks[-1]["steps"]
    calls = sum(1 for step in steps if step["type"] == "call") + len(actions.calls)
    questions = len(steps) - (calls - len(actions.calls)) + bool(actions.missing)
    if calls > MAX_CALLS or questions > MAX_QUESTIONS:
        text = message("A task has at most %(calls)s calls and %(asked)s questions.", calls=MAX_CALLS,
                       asked=MAX_QUESTIONS)  # fmt: skip
        return Problem("too_long", text)
    if policy == ANY:
        return None
    if not actions.calls and not actions.missing:
        return None if derive_policy(calls, questions) == policy else _against(policy)
    fits = {
        "single_tool": not questions and calls <= 1,
        "multi_tool": not questions,
        "clarify": questions > 0,
        "chat": False,
    }
    return None if fits[policy] else _against(policy)


def _against(policy: str) -> Problem:
    wanted: Message = message(POLICY_WORDS[policy])
    return Problem("policy", message("The task shall be solved with %(policy)s.", policy=wanted))


def new_steps(state: State, actions: Actions) -> list[dict[str, Any]] | Problem:
    """Return the calls of a proposal as steps of the document."""
    steps = state.tasks[-1]["steps"]
    known = {step["id"] for step in steps}
    asked = [step["id"] for step in steps if step["type"] == "clarification"]
    found = []
    for place, call in enumerate(actions.calls, len(steps) + 1):
        unknown = next((one for one in (*call.uses, *call.after) if one not in known), None)
        if unknown is not None:
            text = message("There is no finished step “%(step)s” in this request.", step=unknown[:80])
            return Problem("dependency", text)
        # A call after a question waits for its reply, even if it uses no value of it.
        after = [one for one in (*call.after, *asked[-1:]) if one not in call.uses]
        needs = [{"id": one, "kind": "parameter"} for one in call.uses]
        needs += [{"id": one, "kind": "logical"} for one in dict.fromkeys(after)]
        found.append(
            {
                "id": f"s{place}", "type": "call", "name": call.name, "arguments": call.arguments,
                "observation": None, "depends_on": needs,
            }
        )  # fmt: skip
    return found


def last_steps(steps: Sequence[dict[str, Any]]) -> list[str]:
    """Return the ids of the steps that no other one depends on."""
    needed = {need["id"] for step in steps for need in step["depends_on"]}
    return [step["id"] for step in steps if step["id"] not in needed]


def check_problems(
    state: State, steps: Sequence[dict[str, Any]], settings: CheckSettings, *, lenient: bool = False
) -> list[Problem]:
    """Return what the automatic checks find in new steps.

    Errors are always reported, warnings only while retries are left and not if ``lenient``: reviewers will see them.
    """
    tasks = [*state.tasks[:-1], {**state.tasks[-1], "steps": [*state.tasks[-1]["steps"], *steps]}]
    try:
        document = read_document(document_of(state.setup, tasks))
    except SchemaProblem as error:
        return [Problem("schema", message("%(problem)s", problem=one.message)) for one in error.problems]
    severities = {"error"} if lenient or state.tried >= state.setup.retries else {"error", "warning"}
    places = tuple(f"/tasks/{tasks[-1]['id']}/steps/{step['id']}/" for step in steps)
    findings = run_checks(document, state.setup.toolset, stage="save", settings=settings)
    return [_problem(one) for one in findings if one.severity in severities and one.anchor.startswith(places)]


def _problem(finding: Finding) -> Problem:
    return Problem(finding.check, Message(finding.message))


def document_of(setup: Setup, tasks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the document of these tasks, not validated yet."""
    return {"kind": "multi_turn", "language": setup.language, "env_info": setup.env_info, "tasks": list(tasks)}
