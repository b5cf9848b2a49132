"""The dialogue document: the content of one revision.

Discriminated on ``kind``. A candidate may be incomplete: labels, observations, answer texts and dependencies may be
null, and null ("not annotated") is not the empty list ("depends on nothing"). Completeness is checked by the checks,
not by this schema.
"""

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

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


class Call(_Step):
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


class Answer(_Step):
    type: Literal["answer"] = "answer"
    text: str | None = None
    answer_type: AnswerType | None = None


Step = Annotated[Call | Clarification | Answer, Field(discriminator="type")]


class CandidateMessage(Part):
    """A generated alternative to a task's user message."""

    id: Id
    text: str


class Task(Part):
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


class MultiTurn(Part):
    kind: Literal["multi_turn"] = "multi_turn"
    language: Literal["en", "zh"] | None = None
    env_info: str | None = None
    #: The imported context: the messages before the first task.
    context: list[Message] = Field(default_factory=list)
    tasks: list[Task] = Field(min_length=1, max_length=64)
