"""A constraint as data: its category, its sentence and its parameters."""

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

#: A count; no booleans, no text.
Count = Annotated[int, Field(ge=0, strict=True)]
#: A maximum; "inf" means none, as in the published files.
Ceiling = Count | Literal["inf"]
#: In the JSON schema of a parameters model: marks a text that names a tool, so that a form offers the tools.
TOOL = "tool"
ToolName = Annotated[str, StringConstraints(min_length=1, max_length=200), Field(json_schema_extra={"format": TOOL})]


class Dimension(StrEnum):
    RESOURCE = "resource"
    BEHAVIOR = "behavior"
    TOOLSET = "toolset"
    RESPONSE = "response"


class Parameters(BaseModel):
    """The parameters of a category. Unknown fields are kept and written back.

    The form that edits them is built from this model: a field's ``title`` is its label, its ``description`` the hint;
    ``json_schema_extra`` may name one item of a list of lists (``{"row": "Chain"}``).
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    def native(self) -> dict[str, Any]:
        """Return the parameters exactly as they were given."""
        return self.model_dump(mode="json", exclude_unset=True)


class NoParameters(Parameters):
    """For categories whose rules are elsewhere: in the tools' schemas, or in validator code."""


class Variant(BaseModel):
    """Other parameters, which apply if one of ``first`` is among the tools called in the first round of calls."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    first: list[ToolName] = Field(min_length=1)
    parameters: dict[str, Any]


class Constraint(BaseModel):
    """One rule of a case. ``category`` is null if a native record lost its label; such a rule is kept but not judged.

    ``anchor`` quotes the span of the system prompt that states the rule; without it, the prompt must contain the text
    itself. The parameters are plain JSON; read them with ``annotator.core.constraints.taxonomy.read_parameters``.
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
