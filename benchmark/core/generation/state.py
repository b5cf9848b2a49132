"""Where the generation of one dialogue stands, as JSON: everything that is needed to go on, or to go back."""

from copy import deepcopy
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from functools import cached_property
from typing import Any, Self

from annotator.core.checks import CheckSettings
from annotator.core.schema.toolsets import CompiledToolset
from annotator.core.text import Message, message
from benchmark.core.generation.answers import text_problem
from benchmark.core.generation.cells import ANY, FAR, FAR_RELATION, HIDING, MAX_TASKS, POLICIES
from benchmark.core.generation.problems import Problem
from benchmark.core.generation.purposes import Purpose

#: Most retries of one step, and candidates of one request.
MAX_RETRIES, MAX_CANDIDATES = 10, 10


class Stage(StrEnum):
    PROPOSE = "propose"
    CHOOSE = "choose"
    PLAN = "plan"
    JUDGE = "judge"
    OBSERVE = "observe"
    ASK = "ask"
    REPLY = "reply"
    ANSWER = "answer"
    DONE = "done"


class Unusable(ValueError):
    """What a person gave can't be used; ``problem`` says why. Setups raise it, too."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(problem.english)


@dataclass(frozen=True)
class Setup:
    """What to generate.

    ``policies``: of each task, in order; ``any``: the one to which its steps lead. ``relations``: the information types
    that are wanted for each task, explicit for the first. ``tools``: as a toolset has them. ``retries``: after an
    answer that is not accepted, for each step. ``candidates``: for the first task; ``per_relation``: for each relation
    of a later one. ``checks``: the settings of the checks, which stay as they were at the start, so that the same
    events give the same state. ``past``: verified tasks, as in their document, that the new ones continue; the first
    policies are theirs. ``request``: the user's message of the first new task; if blank, requests are proposed.
    ``run_tools``: functions with code are run; otherwise all results are simulated. ``initial_state``: what stateful
    tools start from.
    """

    name: str
    policies: tuple[str, ...]
    relations: tuple[tuple[str, ...], ...]
    tools: list[dict[str, Any]]
    language: str = "en"
    env_info: str | None = None
    seed: int = 0
    retries: int = 2
    candidates: int = 5
    per_relation: int = 3
    checks: dict[str, Any] = field(default_factory=dict)
    past: list[dict[str, Any]] = field(default_factory=list)
    request: str = ""
    run_tools: bool = False
    initial_state: Any = None

    def __post_init__(self) -> None:
        """Raises Unusable for what can't be generated."""
        texts, numbers = (
            (self.name, self.env_info or "", self.request),
            (self.seed, self.retries, self.candidates, self.per_relation),
        )
        new, counts = max(1, len(self.past)), {self.candidates, self.per_relation}
        later = [set(one) for one in self.relations[new:]]
        known = tuple(task.get("policy") for task in self.past)
        rules = (
            (
                all(isinstance(one, str) for one in texts) and all(type(one) is int for one in numbers),
                message("The name, the circumstances and the request are texts, the seed and counts whole numbers."),
            ),
            (0 < len(self.policies) <= MAX_TASKS, message("A cell has 1 to %(most)s policies.", most=MAX_TASKS)),
            (
                set(self.policies) <= {*POLICIES, ANY},
                message("The policies are: %(names)s.", names=", ".join((*POLICIES, ANY))),
            ),
            (len(self.relations) == len(self.policies), message("Each task needs its information types.")),
            (
                len(known) < len(self.policies) and self.policies[: len(known)] == known,
                message("A cell begins with the policies of the tasks that it continues, and has at least one more."),
            ),
            (bool(self.past) or self.relations[:1] == (("explicit",),), message("The first task is explicit.")),
            (
                all(one and one <= set(HIDING) for one in later),
                message("Later tasks are one of: %(names)s.", names=", ".join(HIDING)),
            ),
            (
                not any(FAR_RELATION in one for one in self.relations[new:FAR]),
                message("A long-range dependency needs two tasks before it."),
            ),
            (self.language in ("en", "zh"), message("The language is en or zh.")),
            (0 <= self.retries <= MAX_RETRIES, message("There are 0 to %(most)s retries.", most=MAX_RETRIES)),
            (counts <= set(range(1, MAX_CANDIDATES + 1)), message("There are 1 to %(most)s candidates.",
                                                                  most=MAX_CANDIDATES)),
            (bool(self.tools), message("The toolset has no functions.")),
        )  # fmt: skip
        for kept, sentence in rules:
            if not kept:
                raise Unusable(Problem("setup", sentence))
        problem = text_problem(self.request, language=self.language) if self.request else None
        if problem is not None:
            raise Unusable(problem)

    @cached_property
    def toolset(self) -> CompiledToolset:
        return CompiledToolset.of_tools(self.tools)

    @cached_property
    def settings(self) -> CheckSettings:
        return CheckSettings(**self.checks)

    @classmethod
    def from_json(cls, stored: dict[str, Any], tools: list[dict[str, Any]]) -> Self:
        """Return the setup of ``to_json``, with the tools, which are stored elsewhere."""
        given: dict[str, Any] = {**stored, "tools": tools, "policies": tuple(stored["policies"])}
        return cls(**{**given, "relations": tuple(map(tuple, stored["relations"]))})

    def to_json(self) -> dict[str, Any]:
        """Return the setup without its tools."""
        stored = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "tools"}
        return stored | {"policies": list(self.policies), "relations": [list(one) for one in self.relations]}


@dataclass(frozen=True, slots=True)
class Source:
    """Where a text comes from: ``by`` model, person or program. ``prompt``: the hash of the template; ``call``: the
    number of the recorded call; ``who``: a person's public id.
    """

    by: str
    model: str = ""
    prompt: str = ""
    call: int | None = None
    who: str = ""

    def to_json(self) -> dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if value not in ("", None)}


@dataclass(slots=True)
class State:
    """``tasks``: those of the document, first the past ones, the last one growing. ``actions``: the planner's latest
    proposal, as it gave it and as steps. ``refusals``: stage → the answers that were not accepted: how many, the latest
    and its problems. ``stuck``: no retries are left, so a person must act. ``answers``: of models, used so far.
    ``events``: everything that happened, from which ``pipeline.replay`` makes this state again.
    """

    setup: Setup
    stage: Stage = Stage.PROPOSE
    stuck: bool = False
    answers: int = 0
    tasks: list[dict[str, Any]] = field(default_factory=list)
    candidates: list[dict[str, Any]] = field(default_factory=list)
    actions: dict[str, Any] | None = None
    refusals: dict[str, dict[str, Any]] = field(default_factory=dict)
    provenance: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)

    @property
    def task(self) -> int:
        """The number of the task, from 0."""
        return len(self.tasks) if self.stage in (Stage.PROPOSE, Stage.CHOOSE) else len(self.tasks) - 1

    @property
    def policy(self) -> str:
        return self.setup.policies[self.task]

    @property
    def problems(self) -> list[Problem]:
        """Why the latest answer of this stage was not accepted."""
        return [Problem.from_json(one) for one in self.refusals.get(self.stage, {}).get("problems", ())]

    @property
    def refused(self) -> str:
        """The latest answer of this stage that was not accepted, perhaps cut."""
        return str(self.refusals.get(self.stage, {}).get("text", ""))

    @property
    def tried(self) -> int:
        """The answers of this stage that were not accepted."""
        return int(self.refusals.get(self.stage, {}).get("count", 0))

    def copy(self) -> "State":
        """Return a copy that can be changed. Events are never changed, only added."""
        parts = {one.name: getattr(self, one.name) for one in fields(self)}
        kept: dict[str, Any] = {"setup": self.setup, "events": list(self.events), "provenance": list(self.provenance)}
        return State(**{name: deepcopy(value) for name, value in parts.items() if name not in kept}, **kept)

    def to_json(self) -> dict[str, Any]:
        """Return the state without its setup."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name != "setup"} | {
            "stage": self.stage.value, "refusals": {str(stage): one for stage, one in self.refusals.items()}
        }  # fmt: skip

    @classmethod
    def from_json(cls, stored: dict[str, Any], setup: Setup) -> "State":
        """Return the state of ``to_json``."""
        given: dict[str, Any] = {**stored, "setup": setup, "stage": Stage(stored["stage"])}
        return cls(**given)


@dataclass(frozen=True, slots=True)
class Turn:
    """What comes next: a purpose with the values of its prompt; or, without one, a person's decision."""

    purpose: Purpose | None
    values: dict[str, Any] = field(default_factory=dict)
    #: Why a person must act; None for an ordinary choice.
    why: Message | None = None
