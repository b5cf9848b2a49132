"""The matrix: what a validator has to say of the reference, of stored examples, and of broken responses.

It accepts the reference and every stored good example; it rejects stored bad ones and what breaks its own constraint;
it accepts what breaks only other constraints of the item (one that rejects that looks at more than it was asked to).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from annotator.core.validators.aspects import Aspect
from annotator.core.validators.library import Form
from annotator.core.validators.mutations import Mutated


class RowKind(StrEnum):
    REFERENCE = "reference"
    GOOD = "good"
    BAD = "bad"
    #: A mutation that breaks the validator's own constraint.
    OWN = "own"
    #: A mutation that leaves the validator's own constraint alone.
    OTHER = "other"
    #: As right as the reference: with one alone of several things that the sentence names as examples.
    ENOUGH = "enough"
    #: A mutation of which nobody can say without looking.
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Row:
    """A response to try. ``expected``: the verdict it must get; None where either is fine."""

    key: str
    title: str
    text: str
    kind: RowKind
    expected: bool | None


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the matrix says of a validator, as sentences. With errors it cannot pass review."""

    errors: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return not self.errors


def rows_for(
    *,
    reference: str,
    good: Sequence[str],
    bad: Sequence[str],
    mutations: Iterable[Mutated],
    own: frozenset[Aspect],
    form: tuple[Form, Mapping[str, Any]] | None = None,
    enough: Mapping[str, str] | None = None,
) -> list[Row]:
    """The rows of one validator.

    ``own``: what its constraint speaks of. ``form``: the declarative form of the constraint, where it has one: then the
    form itself says what each mutation breaks, and where the sentence says that one is broken, the sentence holds.
    ``enough``: name → a response with that alone, of which the sentence names several as examples.
    """
    rows = [Row("reference", "The reference", reference, RowKind.REFERENCE, True)]
    rows += [Row(f"good_{n}", f"Good example {n + 1}", text, RowKind.GOOD, True) for n, text in enumerate(good)]
    rows += [Row(f"bad_{n}", f"Bad example {n + 1}", text, RowKind.BAD, False) for n, text in enumerate(bad)]
    for name, text in (enough or {}).items():
        rows.append(Row(f"only_{name.split()[-1]}", f"With nothing but {name}", text, RowKind.ENOUGH, True))
    judged = {row.text for row in rows}
    for one in mutations:
        if one.text not in judged:
            kind, expected = _expected(one, own, form)
            rows.append(Row(one.key, one.title, one.text, kind, expected))
    return rows


def _expected(
    mutated: Mutated, own: frozenset[Aspect], form: tuple[Form, Mapping[str, Any]] | None
) -> tuple[RowKind, bool | None]:
    if form is not None:
        accepted, _ = form[0].accepts(mutated.text, form[1])
        if accepted and mutated.breaks & own:
            return RowKind.OWN, False
        return (RowKind.OTHER if accepted else RowKind.OWN), accepted
    if mutated.breaks & own:
        return RowKind.OWN, False
    if own and not mutated.may_break & own:
        return RowKind.OTHER, True
    return RowKind.OPEN, None


def judge(rows: Sequence[Row], verdicts: Sequence[bool | None]) -> Judgement:
    """What follows from a validator's verdicts (None: it gave none) on the rows, in their order."""
    errors: list[str] = []
    warnings: list[str] = []
    own = [verdict for row, verdict in zip(rows, verdicts, strict=True) if row.kind is RowKind.OWN]
    for row, verdict in zip(rows, verdicts, strict=True):
        must = row.kind in (RowKind.REFERENCE, RowKind.GOOD, RowKind.BAD)
        if verdict is None:
            (errors if must else warnings).append(f"{row.title}: the validator gives no verdict.")
        elif row.expected is None or verdict == row.expected:
            continue
        elif row.kind is RowKind.REFERENCE:
            errors.append("It rejects the reference.")
        elif row.kind is RowKind.GOOD:
            errors.append(f"{row.title}: it is rejected, but was stored as acceptable.")
        elif row.kind is RowKind.BAD:
            errors.append(f"{row.title}: it is accepted, but was stored as wrong.")
        elif row.kind is RowKind.OWN:
            warnings.append(f"{row.title}: it is accepted, though it breaks this very constraint.")
        elif row.kind is RowKind.ENOUGH:
            warnings.append(
                f"{row.title}: it is rejected, though the sentence names this among examples, of which one is enough: "
                "the validator is too strict."
            )
        else:
            warnings.append(
                f"{row.title}: it is rejected, though this constraint does not speak of that: the validator looks at "
                "more than it was asked to."
            )
    if own and all(verdict is True for verdict in own):
        errors.append(f"It accepts every response that breaks its constraint ({len(own)} tried).")
    elif own and not any(verdict is False for verdict in own):
        errors.append("It rejects no response that breaks its constraint.")
    return Judgement(tuple(errors), tuple(warnings))
