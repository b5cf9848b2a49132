"""The dialogue document: the content of one revision.

Discriminated on ``kind``. A candidate may be incomplete: labels, observations, answer texts and dependencies may be
null, and null ("not annotated") is not the empty list ("depends on nothing"). Completeness is checked by the checks,
not by this schema.
"""

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from annotator.core.schema.labels import Labelled

Id = Annotated[str, StringConstraints(min_length=1, max_length=80, pattern=r"^[A-Za-z0-9_.:\-]+$")]


class Policy(StrEnum):
    SINGLE_TOOL = "single_tool"
    MULTI_TOOL = "multi_tool"
    CLARIFY = "clarify"
    CHAT = "chat"


class Information(StrEnum):
    EXPLICIT = "explicit"
    PARTIAL_INFORMATION = "partial_information"
    COREFERENTIAL_REFERENCE = "coreferential_reference"
    LONG_RANGE_DEPENDENCY = "long_range_dependency"


class DependencyKind(StrEnum):
    PARAMETER = "parameter"
    LOGICAL = "logical"


class AnswerType(StrEnum):
    TOOL = "tool"
    CHAT = "chat"


class Part(BaseModel):
    """The fields that every part of a document has."""

    model_config = ConfigDict(extra="forbid", use_enum_values=True)

    #: Fields of the native record that Assay does not use; written back on export.
    extra: dict[str, Any] = Field(default_factory=dict)


class Message(BaseModel):
    """One message of the imported context, in which earlier tasks have no steps."""

    model_config = ConfigDict(extra="forbid")

    role: Literal["system", "user", "assistant", "tool"]
    content: str


class Dependency(BaseModel):
    model_config = ConfigDict(extra="forbid", use_enum_values=True)

    id: Id
    #: A value flows (parameter), or only the order matters (logical). Native formats do not say which; parameter is
    #: assumed.
    kind: DependencyKind = DependencyKind.PARAMETER


class _Step(Part):
    id: Id
    depends_on: list[Dependency] | None = None


class Call(_Step, Labelled):
    type: Literal["call"] = "call"
    name: str
    #: A string if the candidate's arguments could not be read as a JSON object; a check reports it.
    arguments: dict[str, Any] | str
    observation: Any = None
    #: Argument anchor below this call (such as "/city") → why its value may be inferred.
    inferable: dict[str, str] = Field(default_factory=dict)


class Clarification(_Step):
    type: Literal["clarification"] = "clarification"
    question: str | None = None
    user_reply: str | None = None


class Answer(_Step, Labelled):
    type: Literal["answer"] = "answer"
    text: str | None = None
    answer_type: AnswerType | None = None


Step = Annotated[Call | Clarification | Answer, Field(discriminator="type")]


class CandidateMessage(Part):
    """A generated alternative to a task's user message."""

    id: Id
    text: str


class Task(Part, Labelled):
    id: Id
    user_message: str
    policy: Policy | None = None
    information: Information | None = None
    #: The label as spelled in the native record.
    native_information: str | None = None
    #: The system's information at this task, if it differs from the dialogue's.
    env_info: str | None = None
    candidate_messages: list[CandidateMessage] = Field(default_factory=list)
    #: The chosen candidate message, if any.
    chosen: Id | None = None
    steps: list[Step] = Field(default_factory=list)


class _OfTasks(Part, Labelled):
    """The fields of documents that consist of tasks."""

    language: Literal["en", "zh"] | None = None
    env_info: str | None = None
    #: The imported context: the messages before the first task.
    context: list[Message] = Field(default_factory=list)


class MultiTurn(_OfTasks):
    kind: Literal["multi_turn"] = "multi_turn"
    tasks: list[Task] = Field(min_length=1, max_length=64)


class SingleTask(_OfTasks):
    """One question about a stateful tool. The steps of its task are calls, in a strict order."""

    kind: Literal["single_task"] = "single_task"
    tasks: list[Task] = Field(min_length=1, max_length=1)
    category: Annotated[str, StringConstraints(min_length=1, max_length=80)] | None = None
    #: What the tool is loaded with before the first call.
    initial_state: Any = None
    #: The date and time at which the clock stands (ISO 8601; without a zone, UTC), and the seed of random numbers.
    now: str | None = None
    seed: int | None = None


#: A content hash in hexadecimal digits.
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class Replaced(Part):
    """The single task for which another one was chosen."""

    single: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    reason: Annotated[str, StringConstraints(min_length=1, max_length=2_000)]


class Member(Task):
    """A single task in a composite: a reference to one of its revisions, and what lists and readers see of it.

    The calls are those of the single task, so there are no steps here.
    """

    #: The id of the single task in its project.
    single: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    #: The hashes of the revision's content and toolset; null if no revision is chosen yet.
    sha256: Sha256 | None = None
    toolset_sha256: Sha256 | None = None
    category: Annotated[str, StringConstraints(min_length=1, max_length=80)] | None = None
    #: The number of its gold calls.
    calls: int = Field(default=0, ge=0, le=10_000)
    replaced: Replaced | None = None


class Composite(_OfTasks):
    """Several single tasks in one dialogue, in which the results of calls may come later."""

    kind: Literal["composite"] = "composite"
    #: Similar: all of one category; cross: all of different ones.
    composition: Literal["similar", "cross"]
    tasks: list[Member] = Field(min_length=2, max_length=8)
    #: The ceiling of messages of the model.
    max_rounds: int = Field(ge=1, le=10_000)
    #: The seed of the draw; null if it was not drawn.
    seed: int | None = None
