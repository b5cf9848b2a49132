"""Queries with tools that run and expected results, and the trajectories that are sampled for them (CCTU, 3.2).

A file of queries has one JSON object a line (docs/construction.md). A query becomes a constrained document without
constraints; its trajectory is that of a generation which begins with the query.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from annotator.core.case_construction import CannotConstruct, context_of, read_query
from annotator.core.constraints.reading_case import constraints_of
from annotator.core.schema import SchemaProblem, read_document
from annotator.core.schema.exact_json import loads
from annotator.core.schema.toolsets import CompiledToolset, read_tools
from annotator.core.text import Message, message
from benchmark.core.formats.interface import MAX_ID
from benchmark.core.generation.state import Setup, State, Unusable
from benchmark.core.generation.tool_runs import ToolCode

#: Bytes of a file of queries and of a line of it, queries, and attempts at each.
MAX_FILE, MAX_LINE, MAX_QUERIES, MAX_ATTEMPTS = 20_000_000, 2_000_000, 1_000, 20
#: What is added to the id of a query by the names of its attempts.
_SUFFIX = len("-a999")
_KEYS = frozenset(
    ("id", "question", "tools", "toolset", "codes", "expected", "answer", "scenario", "language", "context",
     "trajectory")
)  # fmt: skip


@dataclass(frozen=True)
class SourceQuery:
    """``document``: a constrained one, perhaps without a trajectory. ``tools``: as a toolset has them. ``source``: the
    key of the dialogue from which it was made; None if it came from a file.
    """

    name: str
    document: dict[str, Any]
    tools: list[Any]
    source: int | None = None


#: Name → tools and implementation of a toolset of the project.
Toolsets = Mapping[str, tuple[list[Any], Mapping[str, Any] | None]]


def read_queries(content: bytes, toolsets: Toolsets) -> list[SourceQuery]:
    """Return the queries of a file. Raises ValueError with the line and what is wrong with it."""
    if len(content) > MAX_FILE:
        raise ValueError(f"The file has more than {MAX_FILE:,} bytes.")
    found: dict[str, SourceQuery] = {}
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        try:
            one = _read(line, toolsets)
            if one.name in found:
                raise ValueError(f"there is another query with the id “{one.name}”")
            found[one.name] = one
            if len(found) > MAX_QUERIES:
                raise ValueError(f"a file has at most {MAX_QUERIES:,} queries")
        except (ValueError, RecursionError) as error:
            raise ValueError(f"Line {number} of the queries: {str(error).rstrip('.')}.") from None
    if not found:
        raise ValueError("The file has no queries.")
    return list(found.values())


def _read(line: bytes, toolsets: Toolsets) -> SourceQuery:
    if len(line) > MAX_LINE:
        raise ValueError(f"it has more than {MAX_LINE:,} bytes")
    try:
        given = loads(line)
    except ValueError:
        raise ValueError("it is not JSON. Write one object a line") from None
    if not isinstance(given, dict):
        raise ValueError("expected an object")
    unknown = next((key for key in given if key not in _KEYS), None)
    if unknown is not None:
        raise ValueError(f"the field “{unknown[:40]}” is not known")
    name = given.get("id")
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > MAX_ID - _SUFFIX:
        raise ValueError(f"“id” must be a text of 1 to {MAX_ID - _SUFFIX} characters")
    for key in ("question", "expected"):
        if not given.get(key):
            raise ValueError(f"“{key}” is missing")
    tools, codes = _tools(given, toolsets)
    stored = {
        "kind": "constrained", "language": given.get("language", "en"), "system_prompt": given.get("context"),
        "user_query": given["question"], "scenario": given.get("scenario"), "answer": given.get("answer"),
        "unsolved_set": given["expected"], "tool_codes": codes, "reference_trajectory": given.get("trajectory"),
    }  # fmt: skip
    query = SourceQuery(name.strip(), read_document(stored), tools)
    problem = query_problem(query)
    if problem:
        raise ValueError(problem)
    trajectory = query.document["reference_trajectory"]
    return query if trajectory is None else replace(query, document=solved_query(query, trajectory))


def _tools(given: Mapping[str, Any], toolsets: Toolsets) -> tuple[list[Any], Any]:
    """Return the tools of a query, and the code of each."""
    name = given.get("toolset")
    if (name is None) == (given.get("tools") is None):
        raise ValueError("give either “tools” or the name of a “toolset”")
    if name is None:
        return read_tools(given["tools"]), given.get("codes") or {}
    if not isinstance(name, str) or name not in toolsets:
        raise ValueError(f"the project has no toolset “{str(name)[:80]}”")
    tools, implementation = toolsets[name]
    return tools, given.get("codes") or codes_of(implementation)


def codes_of(implementation: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the code of each function of an implementation without a state. Raises ValueError for others."""
    if implementation is None:
        raise ValueError("the toolset has no code")
    if implementation["class"] is not None:
        raise ValueError("the tools keep a state between their calls, which those of constrained cases can’t")
    return dict.fromkeys(sorted(ToolCode(implementation).names), implementation["source"])


def query_problem(query: SourceQuery) -> str:
    """Return why no trajectory of a query can be sampled, as a sentence; blank if one can."""
    document = query.document
    if not document["unsolved_set"] or not any(document["unsolved_set"].values()):
        return "The query does not say what its tools must return."
    names = CompiledToolset.of_tools(query.tools).tools
    for tool in document["unsolved_set"]:
        if tool not in names:
            return f"The query expects results of {tool[:80]}, which is not one of its tools."
        if tool not in document["tool_codes"]:
            return f"The tool {tool[:80]} has no code."
    if len(query.name) > MAX_ID - _SUFFIX:
        return f"Its id has more than {MAX_ID - _SUFFIX} characters, so attempts can’t be named after it."
    try:
        Setup.from_json(setup_of(query, name=query.name, seed=0, retries=0), query.tools)
    except Unusable as problem:
        return str(problem)
    return ""


def without_constraints(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the query of a constrained case, without its constraints and the words that state them."""
    context = context_of(document["system_prompt"] or "", constraints_of(document))
    return {**document, "constraints": [], "system_prompt": context or None, "reference_trajectory": None}


def setup_of(query: SourceQuery, *, name: str, seed: int, retries: int) -> dict[str, Any]:
    """Return the setup of an attempt, without the tools."""
    document = query.document
    return Setup(
        name, ("any",), (("explicit",),), query.tools, document["language"] or "en", document["system_prompt"],
        seed, retries, request=document["user_query"].strip(), run_tools=True,
    ).to_json()  # fmt: skip


def trajectory_of(state: State) -> list[dict[str, Any]] | Message:
    """Return the rounds of a complete generation of one task: the calls of each plan, then the answer.

    A Message if it asked the user, because a constrained case has one message only.
    """
    steps = {step["id"]: step for step in state.tasks[0]["steps"]}
    if any(step["type"] == "clarification" for step in steps.values()):
        return message("It asks the user, who says no more than the query.")
    rounds: list[list[dict[str, Any]]] = []
    for ids in _plans(state):
        calls = [steps[one] for one in ids if steps[one]["type"] == "call"]
        if calls:
            rounds.append([{key: one[key] for key in ("id", "name", "arguments", "observation")} for one in calls])
    found: list[dict[str, Any]] = [{"id": f"r{place}", "calls": calls} for place, calls in enumerate(rounds, 1)]
    return [*found, {"id": f"r{len(found) + 1}", "final": state.tasks[0]["steps"][-1]["text"]}]


def _plans(state: State) -> Iterator[list[str]]:
    """Yield the ids of the steps of each plan: the planner's entries of the provenance that follow each other."""
    plan: list[str] = []
    for one in state.provenance:
        parts = one["place"].split("/")
        if one["role"] == "planner" and len(parts) == len(("", "tasks", "t1", "steps", "s1")):
            plan.append(parts[-1])
        elif plan:
            yield plan
            plan = []
    if plan:
        yield plan


def solved_query(query: SourceQuery, trajectory: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the document of a query with a trajectory that solves it: its calls have returned every expected text, and
    a response follows (``case_construction.read_query``). Without a reference answer, that response is it.

    Raises CannotConstruct if it does not solve the query, with the reason.
    """
    final = trajectory[-1].get("final") if trajectory else None
    document = {**query.document, "answer": query.document["answer"] or final}
    try:
        document = read_document({**document, "reference_trajectory": trajectory})
    except SchemaProblem as problem:
        raise CannotConstruct(str(problem)) from None
    read_query(document, CompiledToolset.of_tools(query.tools))
    return document
