"""A constraint as data: its place in the taxonomy, its sentence, its parameters."""

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

#: A count, bools and texts excluded.
Count = Annotated[int, Field(ge=0, strict=True)]
#: A ceiling; "inf" stands for none, as in the published files.
Ceiling = Count | Literal["inf"]
#: The mark, in the JSON schema of a parameters model, of a text that names a tool: a form then offers the tools.
TOOL = "tool"
ToolName = Annotated[str, StringConstraints(min_length=1, max_length=200), Field(json_schema_extra={"format": TOOL})]


class Dimension(StrEnum):
    RESOURCE = "resource"
    BEHAVIOR = "behavior"
    TOOLSET = "toolset"
    RESPONSE = "response"


class Parameters(BaseModel):
    """What a category counts with. Fields nobody knows are kept and written back.

    The form that edits them is made from this model: a field's ``title`` is its label, its ``description`` the hint;
    ``json_schema_extra`` may name one item of a list of lists (``{"row": "Chain"}``).
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    def native(self) -> dict[str, Any]:
        """As they were given: nothing added, nothing lost."""
        return self.model_dump(mode="json", exclude_unset=True)


class NoParameters(Parameters):
    """Of categories whose rule stands elsewhere: in the tools' schemas, or in validator code."""


class Variant(BaseModel):
    """Other parameters, in force when one of ``first`` is among the tools called in the first round of calls."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    first: list[ToolName] = Field(min_length=1)
    parameters: dict[str, Any]


class Constraint(BaseModel):
    """One rule a case sets. ``category`` is null where a native record lost its label; it is kept and not judged.

    ``anchor`` quotes the span of the system prompt that states the rule; without it the text itself must stand there.
    ``extra`` holds fields of the native record that have no place here. The parameters are plain JSON; read them with
    ``annotator.core.constraints.taxonomy.read_parameters``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, use_enum_values=True)

    dimension: str | None = None
    category: str | None = None
    text: str | None = None
    parameters: dict[str, Any] | None = None
    variants: list[Variant] = Field(default_factory=list)
    anchor: str | None = None
    #: Names of the functions in the validator code, for format and content.
    validator_functions: list[str] | None = None
    extra: dict[str, Any] = Field(default_factory=dict)
