"""What is wrong with a drawn case: what the filter of the pipeline (paper, 3.2) finds. Nothing here runs code."""

from collections.abc import Mapping
from typing import Any

from annotator.core.constraints.feasibility import feasibility_findings
from annotator.core.constraints.reading_case import case_of, constraints_of, rounds_of
from annotator.core.constraints.replay import Ending, Status, Validator, replay
from annotator.core.schema.toolsets import CompiledToolset
from annotator.core.validators import Subject, judge, read_form, subject_of


def problems_of(document: Mapping[str, Any], toolset: CompiledToolset) -> dict[int, str]:
    """Return by position of a constraint what is wrong with it, as a sentence; empty if the case is sound.

    Constraints contradict each other, cannot be met, are not stated once with the same numbers, or are violated by the
    trajectory, even if it repairs that; or the validator fails its trial: it rejects the reference, or accepts what
    breaks the constraint.
    """
    found: dict[int, str] = {}
    for finding in feasibility_findings(case_of(document, toolset.names)):
        found.setdefault(int(finding.anchor.rpartition("/")[2]), finding.message)
    if found:
        return found
    return _violations(document) | _failed_trials(document)


def _violations(document: Mapping[str, Any]) -> dict[int, str]:
    validators = {i: _validator(one["validator"]) for i, one in enumerate(document["constraints"]) if one["validator"]}
    replayed = replay(constraints_of(document), rounds_of(document), validators=validators)
    found: dict[int, str] = {}
    for turn in replayed.turns:
        for each in turn.broken:
            found.setdefault(each.constraint, f"The reference trajectory violates it. {each.breach.feedback}")
    for position, status in enumerate(replayed.statuses):
        if status is not Status.SATISFIED:
            owed = replayed.turns[-1].constraint_states[position].owed
            found.setdefault(position, f"The reference trajectory violates it. {owed}".strip())
    if not found and replayed.ending is not Ending.ANSWERED:
        raise ValueError("a trajectory without violations has no accepted response")
    return found


def _validator(validator: Mapping[str, Any]) -> Validator:
    form, parameters = read_form(validator["form"], validator["parameters"])
    return lambda response: form.accepts(response, parameters)


def _failed_trials(document: Mapping[str, Any]) -> dict[int, str]:
    found = {}
    for position, constraint in enumerate(document["constraints"]):
        if constraint["validator"] is None:
            continue
        subject = subject_of(document, constraint)
        told = _verdict(subject, _validator(constraint["validator"])) if isinstance(subject, Subject) else subject
        if told:
            found[position] = told
    return found


def _verdict(subject: Subject, accepts: Validator) -> str:
    rows = subject.rows()
    judgement = judge(rows, [accepts(row.text)[0] for row in rows])
    told = (*judgement.errors, *judgement.warnings)
    return f"Its validator fails the trial. {told[0]}" if told else ""
