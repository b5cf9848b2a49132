"""The matrix: a validator's verdicts on the reference, on stored examples, and on broken responses.

It accepts the reference and every stored good example; it rejects stored bad examples and mutations that break its own
constraint; it accepts mutations that only break other constraints of the item (otherwise it checks more than it
should).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from annotator.core.validators.aspects import Aspect
from annotator.core.validators.library import Form
from annotator.core.validators.mutations import Mutated

#: The title of the row of the reference.
REFERENCE = "The reference"
#: Said of a validator that rejects what it must accept above all.
REJECTS_REFERENCE = "It rejects the reference."


class RowKind(StrEnum):
    REFERENCE = "reference"
    GOOD = "good"
    BAD = "bad"
    #: A mutation that breaks the validator's own constraint.
    OWN = "own"
    #: A mutation that does not affect the validator's own constraint.
    OTHER = "other"
    #: As correct as the reference: with only one of several elements that the sentence names as examples.
    ENOUGH = "enough"
    #: A mutation that only a person can judge.
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Row:
    """A response to try. ``expected``: the verdict that it must get; None if either is fine."""

    key: str
    title: str
    text: str
    kind: RowKind
    expected: bool | None


@dataclass(frozen=True, slots=True)
class Judgement:
    """The matrix's conclusions about a validator, as sentences. With errors it cannot pass review."""

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
    """Return the rows of one validator.

    ``own``: the aspects that its constraint is about. ``form``: the built-in validator, if it is one. It then decides
    what each mutation breaks, unless the constraint's sentence says that the mutation breaks it. ``enough``: name of
    an element → a response with only this element, if the sentence names several as examples.
    """
    rows = [Row("reference", REFERENCE, reference, RowKind.REFERENCE, True)]
    rows += [Row(f"good_{n}", f"Good example {n + 1}", text, RowKind.GOOD, True) for n, text in enumerate(good)]
    rows += [Row(f"bad_{n}", f"Bad example {n + 1}", text, RowKind.BAD, False) for n, text in enumerate(bad)]
    for name, text in (enough or {}).items():
        rows.append(Row(f"only_{name.split()[-1]}", f"With only {name}", text, RowKind.ENOUGH, True))
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
    """Return the conclusions from a validator's verdicts (None: it gave none) on the rows, in their order."""
    errors: list[str] = []
    warnings: list[str] = []
    own = [verdict for row, verdict in zip(rows, verdicts, strict=True) if row.kind is RowKind.OWN]
    for row, verdict in zip(rows, verdicts, strict=True):
        must = row.kind in (RowKind.REFERENCE, RowKind.GOOD, RowKind.BAD)
        if verdict is None:
            (errors if must else warnings).append(f"{row.title}: the validator returns no verdict.")
        elif row.expected is None or verdict == row.expected:
            continue
        elif row.kind is RowKind.REFERENCE:
            errors.append(REJECTS_REFERENCE)
        elif row.kind is RowKind.GOOD:
            errors.append(f"{row.title}: rejected, but it should be accepted.")
        elif row.kind is RowKind.BAD:
            errors.append(f"{row.title}: accepted, but it should be rejected.")
        elif row.kind is RowKind.OWN:
            warnings.append(f"{row.title}: accepted, although it breaks this constraint.")
        elif row.kind is RowKind.ENOUGH:
            warnings.append(
                f"{row.title}: rejected, although the sentence names this as one of several examples "
                "and one of them is enough. The validator is too strict."
            )
        else:
            warnings.append(
                f"{row.title}: rejected, although this does not affect the constraint. The validator checks too much."
            )
    if own and all(verdict is True for verdict in own):
        errors.append(f"It accepts every response that breaks its constraint ({len(own)} tried).")
    elif own and not any(verdict is False for verdict in own):
        errors.append("It rejects no response that breaks its constraint.")
    return Judgement(tuple(errors), tuple(warnings))
