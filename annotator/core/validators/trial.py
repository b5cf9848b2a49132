"""One validator to try, the key of everything that decides the result, and the result.

Nothing runs here: ``annotator.services.dialogues.trials`` runs the code on the rows and returns the results.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from annotator.core.constraints.rounds import without_thinking
from annotator.core.sandbox.results import CallResult, Status
from annotator.core.schema.canonical import canonical, content_hash
from annotator.core.schema.errors import SchemaProblem
from annotator.core.validators.aspects import aspects_of
from annotator.core.validators.library import Form, read_form
from annotator.core.validators.matrix import REFERENCE, REJECTS_REFERENCE, Row, judge, rows_for
from annotator.core.validators.mutations import mutate
from annotator.core.validators.probes import single_elements
from annotator.core.validators.suggesting import suggest

#: Increased when mutations or the matrix change, so that all validators are tried again.
VERSION = 2
#: Characters of a reference that is broken on purpose; a longer one is tried unchanged.
MUTABLE = 20_000
#: Characters of a response, and of a message, that are stored with a verdict.
KEPT_TEXT = 4_000
KEPT_MESSAGE = 600
#: Sentences that are stored.
KEPT_SENTENCES = 20
#: Said of a validator that fails on every response.
NO_VERDICT = "It returns no verdict on any response."
#: The name of the function when a built-in validator becomes code.
FUNCTION = "validate"


@dataclass(frozen=True)
class Subject:
    """A validator with everything that decides the result of its trial."""

    constraint: str
    text: str
    category: str | None
    parameters: Mapping[str, Any] | None
    code: str | None
    function: str
    form: str | None
    form_parameters: Mapping[str, Any] | None
    reference: str
    good: tuple[str, ...]
    bad: tuple[str, ...]

    @property
    def key(self) -> str:
        """SHA-256 over all of it except the constraint's id: an equal validator is never tried twice."""
        content = {name: value for name, value in asdict(self).items() if name != "constraint"}
        lists = {"good": list(self.good), "bad": list(self.bad)}
        return content_hash(canonical({**content, **lists, "version": VERSION}))

    @property
    def source(self) -> str:
        """The code to run; a built-in validator is turned into code."""
        if self.code is not None:
            return self.code
        form, parameters = self._form()
        return form.source(parameters, self.function)

    def rows(self) -> list[Row]:
        """Return the responses that it is tried on, and the expected verdict on each."""
        form = None if self.code is not None else self._form()
        # Trying a long reference itself costs little; breaking it on purpose reads it many times.
        keywords = [
            text for one in suggest(self.text) if one.form.key == "contains" for text in one.parameters["texts"]
        ]
        mutations = mutate(self.reference, keywords=keywords) if len(self.reference) <= MUTABLE else []
        return rows_for(
            reference=self.reference,
            good=self.good,
            bad=self.bad,
            mutations=mutations,
            own=aspects_of(self.text),
            form=form,
            enough=single_elements(self.text, self.reference),
        )

    def as_json(self) -> dict[str, Any]:
        """Return the parameters for a job; ``from_json`` reads them."""
        return asdict(self) | {"good": list(self.good), "bad": list(self.bad)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(**{**data, "good": tuple(data["good"]), "bad": tuple(data["bad"])})

    def _form(self) -> tuple[Form, dict[str, Any]]:
        assert self.form is not None  # noqa: S101 - without code there is a form
        return read_form(self.form, self.form_parameters)


def subjects_of(document: Mapping[str, Any]) -> list[Subject]:
    """Return the validators of a constrained document that can be tried, in its order.

    Leaves out validators whose code or parameters cannot be read. Empty if the document has no response to try them on.
    """
    found = (subject_of(document, constraint) for constraint in document.get("constraints", ()))
    return [one for one in found if isinstance(one, Subject)]


def subject_of(document: Mapping[str, Any], constraint: Mapping[str, Any]) -> Subject | str:
    """Return the validator of one constraint for a trial, or a sentence with the reason why it cannot be tried."""
    # Imported here, because constraints import the checks, which import this module.
    from annotator.core.constraints.code import outline

    validator = constraint["validator"]
    if validator is None:
        return "This constraint has no validator yet. Choose a built-in validator, or write code."
    reference = reference_of(document)
    if reference is None:
        return "The case has no reference answer to try a validator on. Write it first."
    function = FUNCTION
    if validator["code"] is not None:
        found = outline(validator["code"])
        function = validator["function"] or ""
        if found.problem:
            return f"The code cannot be read as Python: {found.problem}."
        if not found.functions.get(function):
            return "Choose the function of the code that takes the response and judges it."
    else:
        try:
            read_form(validator["form"] or "", validator["parameters"] or {})
        except SchemaProblem as problem:
            return f"The built-in validator cannot be used: {problem}"
    return Subject(
        constraint=constraint["id"],
        text=constraint["text"] or "",
        category=constraint["category"],
        parameters=constraint["parameters"],
        code=validator["code"],
        function=function,
        form=None if validator["code"] is not None else validator["form"],
        form_parameters=None if validator["code"] is not None else validator["parameters"] or {},
        reference=reference,
        good=tuple(validator["good"]),
        bad=tuple(validator["bad"]),
    )


def reference_of(document: Mapping[str, Any]) -> str | None:
    """Return what validators must accept: the last final response of the trajectory, else the reference answer.

    Without the model's thoughts, as validators get it. None if nothing remains.
    """
    finals = [one["final"] for one in document.get("reference_trajectory") or () if one["final"]]
    return without_thinking(finals[-1] if finals else document.get("answer") or "") or None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a trial: sentences, and the rows as JSON values, their texts cut."""

    errors: tuple[str, ...]
    warnings: tuple[str, ...]
    rows: tuple[dict[str, Any], ...] = ()

    @property
    def passed(self) -> bool:
        return not self.errors

    @property
    def accepts_reference(self) -> bool:
        """Whether it returned a verdict on the reference, and accepted it."""
        return not any(one == REJECTS_REFERENCE or one.startswith((NO_VERDICT, REFERENCE)) for one in self.errors)


def judged(rows: Sequence[Row], results: Sequence[CallResult]) -> Outcome:
    """Return the completed matrix. A validator that fails on every response gets one sentence, with its failures."""
    if any(result.status is Status.SANDBOX_UNAVAILABLE for result in results):
        raise ValueError("nothing was run")
    # Each kind once: on a busy machine, the same endless loop may reach one time limit or the other.
    failures = sorted({result.status.words for result in results if not result.ok})
    verdicts = [result.accepted if result.ok else None for result in results]
    if failures and not any(result.ok for result in results):
        errors: tuple[str, ...] = (" ".join([NO_VERDICT, *failures]),)
        warnings: tuple[str, ...] = ()
    else:
        judgement = judge(rows, verdicts)
        errors, warnings = judgement.errors, judgement.warnings
    return Outcome(
        errors[:KEPT_SENTENCES],
        warnings[:KEPT_SENTENCES],
        tuple(_row(row, result) for row, result in zip(rows, results, strict=True)),
    )


def _row(row: Row, result: CallResult) -> dict[str, Any]:
    return {
        "key": row.key,
        "title": row.title,
        "text": row.text[:KEPT_TEXT],
        "length": len(row.text),
        "kind": row.kind.value,
        "expected": row.expected,
        **verdict_of(result),
    }


def verdict_of(result: CallResult) -> dict[str, Any]:
    """Return one verdict as JSON values."""
    return {
        "status": result.status.value,
        "accepted": result.accepted if result.ok else None,
        "message": result.message[:KEPT_MESSAGE],
    }
