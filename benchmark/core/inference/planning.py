"""The conversations that an inference over a release consists of."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from annotator.core.execution.running import Runner
from benchmark.core.formats.interface import ReadDialogue
from benchmark.core.inference import cases, composites, tasks
from benchmark.core.inference.asking import Unit
from benchmark.core.inference.cases import CallTool
from benchmark.core.inference.prompted import prompted
from benchmark.core.scoring.async_runs import AsyncReferences
from benchmark.core.scoring.cctu_cases import ReferenceCase
from benchmark.core.scoring.records import Unreadable
from benchmark.core.scoring.references import ReferenceDialogue, UnusableReference
from benchmark.core.scoring.sources import read_references
from benchmark.core.scoring.verdicts import Verdicts


@dataclass(frozen=True, slots=True)
class Plan:
    """What to ask. ``history`` and ``language``: of dialogues of tasks. ``tool_mode``: ``tool_calls``, or ``prompt``
    for tools that are described in the prompt (composites have a prompt of their own). ``attempts``: at each case.
    ``delays`` and ``seed``: of composites. ``limit``: only the first so many dialogues, cases or composites; None for
    all.
    """

    family: str
    history: str = "calls"
    language: str = ""
    tool_mode: str = "tool_calls"
    attempts: int = 1
    delays: tuple[str, ...] = ("1",)
    seed: int = 0
    limit: int | None = None


def plan_units(archive: Path, plan: Plan, *, verdicts: Verdicts, call_tool: CallTool, runner: Runner) -> list[Unit]:
    """Return the conversations over the entries of a release. Entries that can't be scored are left out.

    Raises Unreadable if there are none.
    """
    read = [one for one in read_references(archive, plan.family) if isinstance(one, ReadDialogue)]
    try:
        found = _units(read, plan, verdicts, call_tool, runner)
    except UnusableReference as error:
        raise Unreadable(str(error)) from None
    if not found:
        raise Unreadable("The release has no entries that a model could answer in this way.")
    if plan.tool_mode == "prompt" and plan.family != "async":
        return [Unit(one.key, partial(prompted, one.begin)) for one in found]
    return found


def _units(
    read: Sequence[ReadDialogue], plan: Plan, verdicts: Verdicts, call_tool: CallTool, runner: Runner
) -> list[Unit]:
    if plan.family == "async":
        references = AsyncReferences.of_dialogues(read, runner)
        singles = {one.external_id: one for one in read if one.document["kind"] == "single_task"}
        chosen = list(references.composites.values())[: plan.limit]
        return list(composites.units(singles, references, chosen, delays=plan.delays, seed=plan.seed, runner=runner))
    if plan.family == "cctu":
        usable = []
        for one in read:
            if one.document["kind"] == "constrained":
                try:
                    usable.append((one, ReferenceCase(one)))
                except UnusableReference:
                    continue
        return list(cases.units(usable[: plan.limit], attempts=plan.attempts, verdicts=verdicts, call_tool=call_tool))
    return list(tasks.units(_dialogues(read, plan.language)[: plan.limit], history=plan.history))


def _dialogues(read: Sequence[ReadDialogue], language: str) -> list[tuple[ReadDialogue, ReferenceDialogue]]:
    """Return the dialogues of a language; without one, each dialogue once, in English where there is a choice."""
    found: dict[str, tuple[ReadDialogue, ReferenceDialogue]] = {}
    for one in read:
        if one.document["kind"] != "multi_turn":
            continue
        try:
            reference = ReferenceDialogue(one)
        except UnusableReference:
            continue
        if language in ("", reference.language) and (reference.id not in found or reference.language == "en"):
            found[reference.id] = (one, reference)
    return list(found.values())
