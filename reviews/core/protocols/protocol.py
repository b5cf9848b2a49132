"""The protocol: an ordered list of stages, who may review in each, and the outcomes of their verdicts."""

from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    StringConstraints,
    ValidationError,
    model_serializer,
)

from annotator.core.roles import Role
from annotator.core.schema.errors import Problem, SchemaProblem, in_words
from annotator.core.schema.exact_json import pointer
from annotator.core.schema.formats import PERCENT
from annotator.core.text import gettext_noop as _

Key = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)]
Words = Annotated[str, StringConstraints(min_length=1, max_length=200, strip_whitespace=True)]
Prose = Annotated[str, StringConstraints(max_length=1000)]

#: In a rule's list of verdicts: any verdict.
ANY = "any"


class StageKind(StrEnum):
    #: The author reviews the item alone.
    SELF_CHECK = "self_check"
    #: Colleagues review the author's revision, independently of one another.
    CROSS_CHECK = "cross_check"
    #: A senior reviewer settles disputes and reviews a sample of the other items.
    EXPERT = "expert"


class AuthorRule(StrEnum):
    ANY = "any"
    #: Only the dialogue's owner, for whom the slot is reserved.
    OWNER = "owner"
    #: Neither the owner nor whoever wrote the revision under review.
    NOT_AUTHOR = "not_author"


class Verdict(StrEnum):
    APPROVE = "approve"
    #: Approve with a change of the dialogue.
    FIX = "fix"
    REJECT = "reject"
    ESCALATE = "escalate"


class Outcome(StrEnum):
    PASS = "pass"  # noqa: S105 - not a password
    PASS_WITH_FIX = "pass_with_fix"  # noqa: S105
    REJECTED = "rejected"
    ESCALATE = "escalate"
    BACK_TO_AUTHOR = "back_to_author"
    #: The stage repeats, with other people if there was a fix.
    RESTART = "restart"
    #: Settled by a senior reviewer: the stage that escalated the item repeats. An item that was not escalated goes on.
    RETURN = "return"
    #: Approved, but the stage needs more approvals in a row: another person reviews the same revision. Results from a
    #: stage's ``consecutive``, never from a table.
    CONFIRM = "confirm"


class ContentRule(StrEnum):
    #: The reviewers who approve, with or without changes, submit the same content.
    SAME = "same"
    DIFFERENT = "different"
    #: More than half of the reviewers make the same fix, whatever the others say.
    MAJORITY = "majority"
    ANY = "any"


class EntryMode(StrEnum):
    ALL = "all"
    #: A seeded random fraction; the other items go on to the next stage.
    FRACTION = "fraction"
    #: Every escalated item, and a seeded random fraction of the items that passed.
    ESCALATED_AND_FRACTION = "escalated_and_fraction"
    #: In rounds, each a seeded random fraction of all items in the stage, unseen items first. Reviewed items go back to
    #: the pool. The pool goes on after a round without errors, once every item was seen without a dispute.
    ROUNDS = "rounds"


class Applies(StrEnum):
    """Which dialogues or tasks a question of a checklist is about; others are not asked it."""

    ALWAYS = "always"
    #: Dialogues with two tasks or more.
    SEVERAL_TASKS = "several_tasks"
    #: Every task but the first; of a whole dialogue: one with two tasks or more.
    LATER_TASKS = "later_tasks"
    #: Tasks, or whole dialogues, that call a tool.
    HAS_CALLS = "has_calls"


#: Marks a share, in the JSON Schema, that the editor shows in per cent.
_PERCENT: dict[str, Any] = {"format": PERCENT}


class _Part(BaseModel):
    """The editor's fields are made from these models: ``title`` is the label, ``description`` the hint."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Eligible(_Part):
    """Who may claim a slot of the stage."""

    #: One of these roles is enough.
    roles: tuple[Role, ...] = Field(min_length=1)
    author: AuthorRule = Field(default=AuthorRule.ANY, title=_("Authors and owners"))
    #: Whether somebody who had a slot of an earlier stage or round of this cycle is excluded.
    not_earlier_reviewers: bool = Field(default=False, title=_("Exclude reviewers of earlier stages"))


class Evidence(_Part):
    """What an audit must find in an owner's items before the owner's other items are sent back."""

    #: The share of items with an error that must be exceeded, from 0 to 1.
    above: float = Field(
        ge=0.0, le=1.0, title=_("Send-back limit (% of audited items with errors)"), json_schema_extra=_PERCENT
    )
    #: How many of the owner's items must have been audited.
    audited: int = Field(ge=1, title=_("Minimum audited items"))

    def is_reached(self, *, audited: int, errors: int) -> bool:
        """Return whether this many errors in this many audited items send the rest back."""
        # Compare with the rate as written (0.2 is one fifth), not with its nearest binary number.
        return audited >= self.audited and errors > Fraction(Decimal(repr(self.above))) * audited


class Entry(_Part):
    """Which items enter the stage."""

    mode: EntryMode = Field(default=EntryMode.ALL, title=_("Items"))
    #: The share that is drawn, from 0 to 1.
    fraction: float = Field(
        default=0.0,
        ge=0.0,
        le=1.0,
        title=_("Random sample (%)"),
        description=_("Share of the items that pass the previous stage."),
        json_schema_extra=_PERCENT,
    )
    #: When the items of an owner that were not drawn are sent back to the owner; None: never.
    send_back: Evidence | None = None


class OutcomeRule(_Part):
    """One row of an outcome table.

    It matches if the verdicts of all reviewers, in any order, are those listed (``any`` matches every verdict) and the
    content they submit is as the row says.
    """

    verdicts: tuple[str, ...] = Field(min_length=1)
    content: ContentRule = ContentRule.ANY
    outcome: Outcome


class ChecklistItem(_Part):
    key: Key
    text: Words
    #: Whether it is answered for each task, or once for the dialogue.
    per_task: bool = Field(default=True, title=_("for each task"))
    applies: Applies = Field(default=Applies.ALWAYS, title=_("Asked"))
    #: Whether it must be answered although the checklist as a whole is voluntary.
    required: bool = Field(default=False, title=_("required"))

    @model_serializer(mode="wrap")
    def _without_defaults(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out later fields with their default: versions from before them keep their text and hash."""
        data: dict[str, Any] = write(self)
        if self.applies is Applies.ALWAYS:
            del data["applies"]
        if not self.required:
            del data["required"]
        return data


class Checklist(_Part):
    version: int = Field(default=1, ge=1)
    #: Whether a review can only be submitted with every question answered, in each task.
    required: bool = Field(default=False, title=_("Require an answer to every question"))
    items: tuple[ChecklistItem, ...] = ()


class Stage(_Part):
    """One step of the protocol."""

    key: Key
    title: Words = Field(title=_("Title"))
    kind: StageKind = Field(title=_("Type"))
    #: How many independent reviews an item gets here.
    reviewers: int = Field(default=1, ge=1, le=9, title=_("Independent reviewers"))
    #: How many people, one after the other, must approve the same revision; a change restarts the count.
    consecutive: int = Field(
        default=1,
        ge=1,
        le=5,
        title=_("Approvals in a row"),
        description=_("How many people, one after the other, must approve the same revision."),
    )
    eligible: Eligible
    #: Whether reviews stay hidden from everybody else until all are submitted.
    blind: bool = Field(default=False, title=_("Blind: hide reviews until all are submitted"))
    entry: Entry = Entry()
    #: Whether problems with a case's validators don't block submission here, because a later stage checks them.
    validators_are_checked_later: bool = Field(default=False, title=_("Check validators in a later stage"))
    #: The first row that matches decides.
    outcomes: tuple[OutcomeRule, ...] = Field(min_length=1)
    checklist: Checklist = Checklist()
    lease_minutes: int = Field(
        default=30, ge=1, le=24 * 60, title=_("Claim expires after (minutes)"), description=_("Minutes of inactivity.")
    )

    @property
    def in_rounds(self) -> bool:
        """Whether items are drawn for the stage round by round."""
        return self.entry.mode is EntryMode.ROUNDS

    @property
    def repeats(self) -> bool:
        """Whether a change sends an item through this stage again."""
        return self.consecutive > 1 or any(rule.outcome is Outcome.RESTART for rule in self.outcomes)


class ErrorType(_Part):
    """An error type that reviewers choose from."""

    key: Key
    label: Words
    description: Prose = ""
    #: The guideline's heading that explains it; blank: wherever the guideline names the error type.
    guideline: str = Field(default="", max_length=200)
    #: No longer offered; earlier reviews still show it.
    retired: bool = Field(default=False, title=_("retired"))


class Protocol(_Part):
    """An ordered list of stages. ``validate`` says whether it works."""

    name: Words = Field(title=_("Name"))
    preset: str = Field(default="", max_length=20)
    stages: tuple[Stage, ...] = Field(min_length=1, max_length=20)
    taxonomy: tuple[ErrorType, ...] = ()
    #: Share of compared items with a discrepancy above which the administrator is warned.
    discrepancy_alarm: float = Field(
        default=0.05,
        ge=0.0,
        le=1.0,
        title=_("Disagreement alarm limit (% of compared items)"),
        description=_("Assay raises an alarm if independent reviewers disagree on a larger share of items."),
        json_schema_extra=_PERCENT,
    )
    #: How many items of a stage must have been compared before there is an alarm: one of two is not enough.
    alarm_after: int = Field(
        default=20,
        ge=1,
        le=100_000,
        title=_("Minimum compared items"),
        description=_("Per stage. Small samples say little: one disagreement in two items is 50 %."),
    )
    #: Where toolsets are reviewed too, whether a dialogue is only verified when its toolset is.
    verified_toolsets: bool = Field(default=False, title=_("Verify dialogues only on verified toolsets"))

    @model_serializer(mode="wrap")
    def _without_defaults(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out later fields with their default: versions from before them keep their text and hash."""
        data: dict[str, Any] = write(self)
        if not self.verified_toolsets:
            del data["verified_toolsets"]
        return data

    @property
    def entry_stages(self) -> tuple[Stage, ...]:
        """The stages in which a cycle can start: the first, and the others that take every item."""
        return tuple(stage for place, stage in enumerate(self.stages) if not place or stage.entry.mode is EntryMode.ALL)

    def stage(self, key: str) -> Stage:
        """Return the stage with this key. Raises KeyError."""
        return self.stages[self._place(key)]

    def next_taking(self, key: str) -> Stage | None:
        """Return the next stage that takes items passing this one, all or a fraction; None if they are verified."""
        after = self.stages[self._place(key) + 1 :]
        return next((stage for stage in after if stage.entry.mode is EntryMode.ALL or stage.entry.fraction), None)

    def author_stage(self, key: str) -> Stage | None:
        """Return where an item sent back to its author goes: the nearest self-check up to this stage."""
        before = self.stages[self._place(key) :: -1]
        return next((stage for stage in before if stage.kind is StageKind.SELF_CHECK), None)

    def expert_stage(self, key: str) -> Stage | None:
        """Return where an item escalated by this stage goes: the next expert stage that takes escalations."""
        experts = (stage for stage in self.stages[self._place(key) + 1 :] if stage.kind is StageKind.EXPERT)
        return next((stage for stage in experts if stage.entry.mode is not EntryMode.FRACTION), None)

    def returns_to(self, key: str, escalated_by: str) -> Stage | None:
        """Return where an item returned by the expert stage ``key`` goes: the stage that escalated it.

        If this version no longer has that stage, it is the last cross-check before the expert stage; None if there is
        none.
        """
        before = reversed(self.stages[: self._place(key)])
        known = next((stage for stage in self.stages if stage.key == escalated_by), None)
        return known or next((stage for stage in before if stage.kind is StageKind.CROSS_CHECK), None)

    def _place(self, key: str) -> int:
        for place, stage in enumerate(self.stages):
            if stage.key == key:
                return place
        raise KeyError(key)

    def error_types_in_use(self) -> tuple[ErrorType, ...]:
        """Return the error types that reviewers can choose."""
        return tuple(kind for kind in self.taxonomy if not kind.retired)

    def error_type_keys(self) -> frozenset[str]:
        """Return the keys of the error types that reviewers can choose."""
        return frozenset(kind.key for kind in self.error_types_in_use())


def read_protocol(data: Any) -> Protocol:
    """Read a protocol from JSON values. Raises SchemaProblem with every error of form; see also ``validate``."""
    try:
        return Protocol.model_validate(data)
    except ValidationError as error:
        raise SchemaProblem(
            [Problem(pointer(item["loc"]), form_error_in_words(item)) for item in error.errors(include_url=False)]
        ) from None


#: Sentences for errors of form; for other errors the JSON reader's own are used.
_SENTENCES = {
    "string_too_short": "Enter a value.",
    "string_too_long": "Enter at most {max_length} characters.",
    "string_pattern_mismatch": "Use lower-case letters, digits and underscores, and start with a letter.",
    "int_parsing": "Enter a whole number.",
    "int_from_float": "Enter a whole number.",
    "int_type": "Enter a whole number.",
    "float_parsing": "Enter a number.",
    "float_type": "Enter a number.",
    "greater_than_equal": "Enter {ge} or more.",
    "less_than_equal": "Enter {le} or less.",
    "enum": "Choose one of: {expected}.",
    "missing": "This value is missing.",
    "extra_forbidden": "A protocol has no such field.",
    "too_short": "Add at least {min_length}.",
    "too_long": "At most {max_length} are allowed.",
}


def form_error_in_words(item: Any) -> str:
    """Return a sentence for one of the errors that a ValidationError lists."""
    given = item.get("ctx", {})
    if any(isinstance(given.get(bound), float) for bound in ("ge", "le")):
        # The editor takes shares in per cent, JSON and presets take them from 0 to 1.
        return "Enter a share from 0 % to 100 % (in JSON, from 0 to 1)."
    return in_words(item, _SENTENCES)
