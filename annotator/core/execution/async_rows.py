"""Single tasks as rows of files: their toolsets, and their executions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotator.core.execution.call_text import NotACall, argument_names, read_call
from annotator.core.execution.dependencies import explain, run_again
from annotator.core.execution.findings import findings
from annotator.core.execution.running import Runner, Start, StatefulTool, execute
from annotator.core.execution.static_findings import static_findings
from annotator.core.execution.subjects import read_moment
from annotator.core.sandbox.trajectories import MAX_CALLS, Implementation, ToolCall
from annotator.core.schema.errors import SchemaProblem
from annotator.core.schema.exact_json import loads
from annotator.core.schema.toolsets import MAX_SOURCE, read_implementation, read_tools


class NotASingleTask(ValueError):
    """The row is not a single task that can be run; the text is a sentence."""


class NotAToolset(ValueError):
    """The row is not a toolset; the text is a sentence."""


@dataclass(frozen=True, slots=True)
class RowToolset:
    """A toolset of a file: its functions' schemas, and the code that runs them; None if the file has none."""

    schemas: Mapping[str, Mapping[str, Any]]
    implementation: Implementation | None

    @property
    def names(self) -> dict[str, tuple[str, ...]]:
        """Function → names of its arguments in order."""
        return {name: argument_names(schema) for name, schema in self.schemas.items()}


def read_toolset(row: Any, folder: Path) -> tuple[str, RowToolset]:
    """Return the id and the toolset of a row. Paths in it are relative to ``folder``.

    Raises NotAToolset, and OSError if a file cannot be read.
    """
    if not isinstance(row, dict) or not isinstance(row.get("id"), str):
        raise NotAToolset("A toolset must be an object with an id.")
    functions = row.get("functions")
    if isinstance(row.get("functions_file"), str):
        functions = [loads(line) for line in (folder / row["functions_file"]).read_text("utf-8").splitlines() if line]
    implementation = None
    try:
        tools = read_tools(functions)
        if isinstance(row.get("source_file"), str):
            with (folder / row["source_file"]).open("rb") as file:
                source = file.read(MAX_SOURCE + 1).decode("utf-8", "surrogateescape")
            found = read_implementation({"source": source, "class": row.get("class"), "load": row.get("load")})
            assert found is not None  # noqa: S101 - there is a source
            implementation = Implementation(found["source"], found["class"], found["load"])
    except SchemaProblem as problem:
        raise NotAToolset(f"The toolset {row['id']} cannot be used: {problem.problems[0].message}") from None
    schemas = {
        (tool.get("function") or tool)["name"]: (tool.get("function") or tool).get("parameters") or {} for tool in tools
    }
    return row["id"], RowToolset(schemas, implementation)


@dataclass(frozen=True, slots=True)
class SingleRow:
    """A single task of a file. ``family`` is where it comes from."""

    id: str
    category: str
    question: str
    toolset: RowToolset
    calls: Sequence[ToolCall]
    start: Start
    family: str

    @property
    def tool(self) -> StatefulTool:
        """The tool that runs its calls. Raises NotASingleTask if the toolset has no code."""
        if self.toolset.implementation is None:
            raise NotASingleTask("/toolset: the toolset has no source_file, so nothing can be run.")
        return StatefulTool(self.toolset.implementation, frozenset(self.toolset.schemas))


def read_single(row: Any, toolsets: Mapping[str, RowToolset]) -> SingleRow:
    """Return a single task of a file. Raises NotASingleTask with the place in the row."""
    if not isinstance(row, dict):
        raise NotASingleTask("A single task must be an object.")
    for key in ("id", "question", "toolset"):
        if not isinstance(row.get(key), str):
            raise NotASingleTask(f"/{key}: must be a text.")
    toolset = toolsets.get(row["toolset"])
    if toolset is None:
        raise NotASingleTask(f"/toolset: there is no toolset {row['toolset']} in the file of toolsets.")
    category = row.get("category")
    if category is not None and not isinstance(category, str):
        raise NotASingleTask("/category: must be a text.")
    seed, now = row.get("seed"), row.get("now")
    if seed is not None and type(seed) is not int:
        raise NotASingleTask("/seed: must be a whole number.")
    try:
        moment = None if now is None else read_moment(now)
    except (TypeError, ValueError):
        raise NotASingleTask("/now: must be a date and time such as 2026-02-03T09:30:00.") from None
    source = row.get("source")
    family = source.get("dataset") if isinstance(source, dict) else None
    return SingleRow(
        row["id"],
        category or "",
        row["question"],
        toolset,
        _read_calls(row.get("ground_truth"), toolset),
        Start(row.get("initial_config"), seed, moment),
        family if isinstance(family, str) else "",
    )


def _read_calls(texts: Any, toolset: RowToolset) -> list[ToolCall]:
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise NotASingleTask("/ground_truth: must be a list of calls as Python text.")
    if len(texts) > MAX_CALLS:
        raise NotASingleTask(f"/ground_truth: there are {len(texts):,} calls. The limit is {MAX_CALLS:,}.")
    calls = []
    for index, text in enumerate(texts):
        try:
            calls.append(read_call(text, toolset.names))
        except NotACall as error:
            raise NotASingleTask(f"/ground_truth/{index}: {error}") from None
    return calls


def execute_row(row: Any, toolsets: Mapping[str, RowToolset], runner: Runner) -> dict[str, Any]:
    """Return the execution of a single task with its findings. Raises NotASingleTask and SandboxUnavailable."""
    single = read_single(row, toolsets)
    execution = execute(runner, single.tool, single.start, single.calls)
    reruns = run_again(runner, single.tool, single.start, single.calls, execution)
    static = static_findings(single.question, single.calls, single.toolset.schemas)
    dependencies = explain(execution, reruns, single.question) if reruns else None
    return {
        "id": single.id,
        "calls": [
            {
                "name": outcome.name,
                "status": outcome.status.value,
                "result": outcome.result,
                "state_changed": outcome.state_changed,
                "state_sha256": outcome.state_sha256,
            }
            for outcome in execution.outcomes
        ],
        "final_state_sha256": execution.final_sha256,
        "findings": [list(finding) for finding in findings(static, execution, dependencies)],
    }
