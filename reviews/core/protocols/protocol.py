"""What a protocol says: an ordered list of stages, who may work in each, and what follows from their verdicts."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from annotator.core.schema.canonical import escape
from annotator.core.schema.errors import Problem, SchemaProblem, in_words
from annotator.core.schema.formats import PERCENT

Key = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)]
Words = Annotated[str, StringConstraints(min_length=1, max_length=200, strip_whitespace=True)]
Prose = Annotated[str, StringConstraints(max_length=1000)]

#: In a rule's list of verdicts: whatever the reviewer says.
ANY = "any"


class StageKind(StrEnum):
    #: The author looks at the item alone.
    SELF_CHECK = "self_check"
    #: Colleagues look at the author's version, independently of one another.
    CROSS_CHECK = "cross_check"
    #: A senior reviewer settles what is disputed and looks at a sample of what is not.
    EXPERT = "expert"


class Role(StrEnum):
    """The roles of ``annotator.models.Role``, named again because this module knows no models."""

    ANNOTATOR = "annotator"
    SENIOR_REVIEWER = "senior_reviewer"
    ADMINISTRATOR = "administrator"


class AuthorRule(StrEnum):
    ANY = "any"
    #: Only the dialogue's owner, for whom the slot is reserved.
    OWNER = "owner"
    #: Neither the owner nor whoever wrote the revision under review.
    NOT_AUTHOR = "not_author"


class Verdict(StrEnum):
    APPROVE = "approve"
    #: Approve with changes.
    FIX = "fix"
    REJECT = "reject"
    ESCALATE = "escalate"


class Outcome(StrEnum):
    PASS = "pass"  # noqa: S105 - not a password
    PASS_WITH_FIX = "pass_with_fix"  # noqa: S105
    REJECTED = "rejected"
    ESCALATE = "escalate"
    BACK_TO_AUTHOR = "back_to_author"
    #: Another round of the same stage, with other people where there was a fix.
    RESTART = "restart"
    #: Settled by an expert: another round of the stage that escalated it. What was not escalated goes on.
    RETURN = "return"
    #: Approved, but the stage wants more approvals in a row: another person looks at the same version. Made by a
    #: stage's ``consecutive``, never named in a table.
    CONFIRM = "confirm"


class ContentRule(StrEnum):
    #: The reviewers who approve, with or without changes, hand in the same content.
    SAME = "same"
    DIFFERENT = "different"
    #: More than half of the reviewers make the same fix, whatever the others say.
    MAJORITY = "majority"
    ANY = "any"


class EntryMode(StrEnum):
    ALL = "all"
    #: A seeded random fraction; the others go on to the next stage.
    FRACTION = "fraction"
    #: Everything escalated, and a seeded random fraction of what passed.
    ESCALATED_AND_FRACTION = "escalated_and_fraction"
    #: In rounds, each a seeded random fraction of all that is in the stage, unseen items first. What was looked at goes
    #: back to the pool; the pool goes on when a round has found no error and every item was seen once without conflict.
    ROUNDS = "rounds"


#: The mark, in the JSON Schema, of a share that the editor shows in per cent.
_PERCENT: dict[str, Any] = {"format": PERCENT}


class _Part(BaseModel):
    """The editor's fields are made from it: a ``title`` is the label, a ``description`` the hint."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Eligible(_Part):
    """Who may take a slot of the stage."""

    #: One of these roles is enough.
    roles: tuple[Role, ...] = Field(min_length=1)
    author: AuthorRule = Field(default=AuthorRule.ANY, title="Author rule")
    #: Whether somebody who held a slot of an earlier stage or round of this cycle is barred.
    not_earlier_reviewers: bool = Field(default=False, title="Nobody who reviewed the item in an earlier stage")


class Evidence(_Part):
    """What an audit must show of one owner's items before the rest of them goes back."""

    #: The share of erroneous items that must be exceeded, from 0 to 1.
    above: float = Field(ge=0.0, le=1.0, title="Send back above, % with an error", json_schema_extra=_PERCENT)
    #: How many of the owner's items must have been audited.
    audited: int = Field(ge=1, title="… of at least so many audited")


class Entry(_Part):
    """How items come into the stage."""

    mode: EntryMode = Field(default=EntryMode.ALL, title="What enters")
    #: The share that is drawn, from 0 to 1.
    fraction: float = Field(
        default=0.0,
        ge=0.0,
        le=1.0,
        title="Random fraction, %",
        description="Of what passes the stage before.",
        json_schema_extra=_PERCENT,
    )
    #: When the items of an owner that were not drawn go back to them; never where there is nothing.
    send_back: Evidence | None = None


class OutcomeRule(_Part):
    """One row of an outcome table.

    It applies when the verdicts of all reviewers, in whatever order, are those named, ``any`` standing for every
    verdict, and the content they hand in is as said.
    """

    verdicts: tuple[str, ...] = Field(min_length=1)
    content: ContentRule = ContentRule.ANY
    outcome: Outcome


class ChecklistItem(_Part):
    key: Key
    text: Words
    #: Whether it is answered for each task, or once for the dialogue.
    per_task: bool = Field(default=True, title="each task")


class Checklist(_Part):
    version: int = Field(default=1, ge=1)
    #: Whether a review can only be handed in with every item answered yes or no, in each task.
    required: bool = Field(default=False, title="Every question must be answered yes or no")
    items: tuple[ChecklistItem, ...] = ()


class Stage(_Part):
    """One step of the protocol."""

    key: Key
    title: Words = Field(title="Title")
    kind: StageKind
    #: How many independent reviews an item gets here.
    reviewers: int = Field(default=1, ge=1, le=9, title="Independent reviewers")
    #: How many people, one after the other, must approve the same version; a change begins the count anew.
    consecutive: int = Field(
        default=1,
        ge=1,
        le=5,
        title="Approvals in a row",
        description="How many people, one after the other, must approve the same version.",
    )
    eligible: Eligible
    #: Whether nothing of a review is seen by anybody else before all are in.
    blind: bool = Field(default=False, title="Blind: nobody sees a review before all are in")
    entry: Entry = Entry()
    #: Whether what is wrong with a case's validators holds nobody up here, because a later stage is there for it.
    validators_are_checked_later: bool = False
    #: Read from the top; the first row that applies decides.
    outcomes: tuple[OutcomeRule, ...] = Field(min_length=1)
    checklist: Checklist = Checklist()
    lease_minutes: int = Field(
        default=30, ge=1, le=24 * 60, title="Lease, minutes", description="Without a sign of life."
    )

    @property
    def in_rounds(self) -> bool:
        """Whether items are drawn for it round by round."""
        return self.entry.mode is EntryMode.ROUNDS

    @property
    def repeats(self) -> bool:
        """Whether a change sends an item through another round of this stage."""
        return self.consecutive > 1 or any(rule.outcome is Outcome.RESTART for rule in self.outcomes)


class ErrorType(_Part):
    """A error type that reviewers name."""

    key: Key
    label: Words
    description: Prose = ""
    #: The guideline's heading under which it is explained; blank: wherever the guideline names the kind.
    guideline: str = Field(default="", max_length=200)
    #: Not offered any more; what was named by it keeps its word.
    retired: bool = Field(default=False, title="not used any more")


class Protocol(_Part):
    """An ordered list of stages. ``validate`` says whether it can be worked with."""

    name: Words = Field(title="Name of the protocol")
    preset: str = Field(default="", max_length=20)
    stages: tuple[Stage, ...] = Field(min_length=1, max_length=20)
    taxonomy: tuple[ErrorType, ...] = ()
    #: Share of compared items with a discrepancy above which the administrator is warned.
    discrepancy_alarm: float = Field(
        default=0.05,
        ge=0.0,
        le=1.0,
        title="Warn above, % of compared items",
        description="When independent reviewers disagree more often than this, the project’s page warns.",
        json_schema_extra=_PERCENT,
    )
    #: How many items of a stage must have been compared before it is warned of: one of two says nothing yet.
    alarm_after: int = Field(
        default=20,
        ge=1,
        le=100_000,
        title="Warn from so many compared items",
        description="Of a stage. Before that there is no warning: one disagreement in two items says little.",
    )

    def stage(self, key: str) -> Stage:
        """The stage with this key. Raises KeyError."""
        for stage in self.stages:
            if stage.key == key:
                return stage
        raise KeyError(key)

    def following(self, key: str) -> Stage | None:
        """The stage after this one; None after the last."""
        keys = [stage.key for stage in self.stages]
        place = keys.index(key) + 1
        return self.stages[place] if place < len(keys) else None

    def next_taking(self, key: str) -> Stage | None:
        """The next stage that takes what passes this one, all of it or a fraction; None where it is verified."""
        keys = [stage.key for stage in self.stages]
        for stage in self.stages[keys.index(key) + 1 :]:
            if stage.entry.mode is EntryMode.ALL or stage.entry.fraction:
                return stage
        return None

    def author_stage(self, key: str) -> Stage | None:
        """Where an item goes that is sent back to its author: the nearest self-check up to this stage."""
        keys = [stage.key for stage in self.stages]
        for stage in reversed(self.stages[: keys.index(key) + 1]):
            if stage.kind is StageKind.SELF_CHECK:
                return stage
        return None

    def expert_stage(self, key: str) -> Stage | None:
        """Where an item goes that this stage escalates: the next stage of experts that takes escalations."""
        keys = [stage.key for stage in self.stages]
        for stage in self.stages[keys.index(key) + 1 :]:
            if stage.kind is StageKind.EXPERT and stage.entry.mode is not EntryMode.FRACTION:
                return stage
        return None

    def returns_to(self, key: str, escalated_by: str) -> Stage | None:
        """Where an item goes that the experts of stage ``key`` return: the stage that escalated it.

        Where that is not in this version any more, the last stage before the experts in which colleagues look; None
        where there is none.
        """
        keys = [stage.key for stage in self.stages]
        if escalated_by in keys:
            return self.stage(escalated_by)
        before = self.stages[: keys.index(key)]
        return next((stage for stage in reversed(before) if stage.kind is StageKind.CROSS_CHECK), None)

    def error_types_in_use(self) -> tuple[ErrorType, ...]:
        """The error types that reviewers may name."""
        return tuple(kind for kind in self.taxonomy if not kind.retired)

    def error_type_keys(self) -> frozenset[str]:
        """The keys of the error types that reviewers may name."""
        return frozenset(kind.key for kind in self.error_types_in_use())


def read_protocol(data: Any) -> Protocol:
    """A protocol from JSON values. Raises SchemaProblem with every error of form; for the sense see ``validate``."""
    try:
        return Protocol.model_validate(data)
    except ValidationError as error:
        raise SchemaProblem(
            [
                Problem("".join(f"/{escape(str(step))}" for step in item["loc"]), form_error_in_words(item))
                for item in error.errors(include_url=False)
            ]
        ) from None


#: What people are told of an error of form; of others what the reader of the JSON says.
_SENTENCES = {
    "string_too_short": "Write something here.",
    "string_too_long": "Write at most {max_length} characters.",
    "string_pattern_mismatch": "Use small letters, digits and underscores, a letter first.",
    "int_parsing": "Write a whole number.",
    "int_from_float": "Write a whole number.",
    "int_type": "Write a whole number.",
    "float_parsing": "Write a number.",
    "float_type": "Write a number.",
    "greater_than_equal": "Write {ge} or more.",
    "less_than_equal": "Write {le} or less.",
    "enum": "Choose one of: {expected}.",
    "missing": "This is missing.",
    "extra_forbidden": "A protocol has no such field.",
    "too_short": "There must be at least {min_length}.",
    "too_long": "There may be at most {max_length}.",
}


def form_error_in_words(item: Any) -> str:
    """What people are told of one of the errors that a ValidationError lists."""
    given = item.get("ctx", {})
    if any(isinstance(given.get(bound), float) for bound in ("ge", "le")):
        # The editor takes shares in per cent, JSON and presets as they are: the sentence is right in both.
        return "A share lies between 0 and 1, that is between 0 % and 100 %."
    return in_words(item, _SENTENCES)
