"""Trials of validators: stored by content, run only in workers.

Pages and checks read known outcomes (``known_outcomes``) and start a job for the others (``start_trials``).
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from annotator.core.sandbox.results import Call, CallResult, SandboxUnavailable, Status
from annotator.core.sandbox.sharing import shared_sandbox
from annotator.core.text import message
from annotator.core.validators.trial import KEPT_TEXT, Outcome, Subject, judged, subject_of, subjects_of, verdict_of
from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Dialogue, Job, Project, Revision, User, ValidatorTrial
from annotator.models.jobs import JOB_ENDED
from annotator.models.trials import TrialRows
from annotator.services.jobs.jobs import Running, job_kind, start_job

KIND = "validators"
#: Seconds after which a job leaves the rest untried, since others wait for the same worker.
BUDGET = 20.0
#: Running trials of one person.
MAX_RUNNING = 3
#: Typed texts in one trial, and their characters.
MAX_TEXTS = 5
MAX_TEXT_LENGTH = 20_000


# --- known outcomes --------------------------------------------------------------------------------------------------


def known_outcomes(subjects: Iterable[Subject]) -> dict[str, Outcome]:
    """Return {key: outcome} of the subjects that were tried, without rows."""
    keys = {subject.key for subject in subjects}
    rows = ValidatorTrial.objects.filter(key__in=keys).values_list("key", "errors", "warnings") if keys else ()
    return {key: Outcome(tuple(errors), tuple(warnings)) for key, errors, warnings in rows}


def known_outcomes_of(document: Mapping[str, Any]) -> dict[str, Outcome]:
    """Return the known outcomes of a document; empty if it has no validators."""
    return known_outcomes(subjects_of(document)) if document.get("kind") == "constrained" else {}


def read_trial(subject: Subject) -> ValidatorTrial | None:
    """Return the trial of exactly this validator, with its matrix."""
    return ValidatorTrial.objects.select_related("matrix").filter(key=subject.key).first()


def facts_of(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what a release states about each of a document's validators."""
    subjects = subjects_of(document) if document.get("kind") == "constrained" else []
    rows = ValidatorTrial.objects.filter(key__in=[one.key for one in subjects])
    found = {row.key: row for row in rows}
    return [
        {
            "constraint": one.constraint,
            "validator": one.form or "code",
            "trial_sha256": one.key,
            "responses": found[one.key].row_count if one.key in found else 0,
            "errors": found[one.key].error_count if one.key in found else 0,
            "warnings": found[one.key].warning_count if one.key in found else 0,
            "tried": one.key in found,
        }
        for one in subjects
    ]


# --- requests --------------------------------------------------------------------------------------------------------


def start_trials(
    *,
    actor: User | None,
    project: Project,
    document: Mapping[str, Any],
    dialogue: Dialogue | None = None,
    constraint: str = "",
    texts: Sequence[str] = (),
) -> Job | None:
    """Let a worker try the document's validators, or that of one ``constraint``.

    ``dialogue``: the document's dialogue, for finding the job. ``texts``: more responses to judge, for one constraint;
    their verdicts are only in the job's result. Returns None if all outcomes are known. Raises Invalid, and Conflict if
    the person has too many running trials.
    """
    if len(texts) > MAX_TEXTS or any(len(text) > MAX_TEXT_LENGTH for text in texts):
        sentence = _("You can try at most %(texts)d responses of %(length)s characters at a time.")
        raise Invalid(sentence % {"texts": MAX_TEXTS, "length": f"{MAX_TEXT_LENGTH:,}"})
    if any("\x00" in text for text in texts):
        raise Invalid(_("A response contains a NUL character, which can’t be stored. Remove it."))
    subjects = [one for one in subjects_of(document) if constraint in ("", one.constraint)]
    known = known_outcomes(subjects)
    wanted = [one for one in subjects if texts or one.key not in known]
    if not wanted:
        return None
    parameters = {
        "dialogue": dialogue.public_id if dialogue else "",
        "subjects": [one.as_json() for one in wanted],
        "texts": list(texts),
    }
    with transaction.atomic():
        if actor is not None:
            # One request of a person at a time, so that two windows can't exceed the limit together.
            User.objects.select_for_update(no_key=True).get(pk=actor.pk)
            under_way = Job.objects.filter(requester=actor, kind=KIND).exclude(state__in=JOB_ENDED)
            waiting = list(under_way.order_by("-pk"))
            for job in waiting:
                if job.parameters == parameters:
                    return job
            if len(waiting) >= MAX_RUNNING:
                sentence = ngettext(
                    "You have %(count)d trial in progress. Wait until it has ended.",
                    "You have %(count)d trials in progress. Wait until one has ended.",
                    len(waiting),
                )
                raise Conflict(sentence % {"count": len(waiting)})
        return start_job(actor=actor, project=project, kind=KIND, parameters=parameters)


def start_trials_of(*, actor: User, revision: Revision, constraint: str = "", texts: Sequence[str] = ()) -> Job | None:
    """Start trials for a revision of a dialogue that the actor sees. Raises Invalid if nothing can be tried."""
    document = revision.document()
    if document["kind"] != "constrained":
        raise Invalid(_("Only constrained cases have validators."))
    found = next((one for one in document["constraints"] if one["id"] == constraint), None)
    if constraint and found is None:
        sentence = _("The case has no constraint “%(constraint)s”.")
        raise Invalid(sentence % {"constraint": constraint}, field="constraint")
    if found is not None and isinstance(why := subject_of(document, found), str):
        raise Invalid(why, field="constraint")
    if texts and found is None:
        raise Invalid(_("Choose the constraint whose validator judges the responses."), field="constraint")
    if not subjects_of(document):
        raise Invalid(_("The case has no validator that can be tried. Its findings say why."))
    dialogue = revision.dialogue
    return start_trials(
        actor=actor,
        project=dialogue.project,
        document=document,
        dialogue=dialogue,
        constraint=constraint,
        texts=texts,
    )


def load_trial(*, actor: User, dialogue: Dialogue, public_id: str) -> Job:
    """Return a trial of a dialogue's validators that the actor started. Raises Hidden."""
    job = load_trial_job(actor=actor, public_id=public_id)
    if job is None or job.parameters.get("dialogue") != dialogue.public_id:
        raise Hidden(_("This trial doesn’t exist, or you can’t see it."))
    return job


def subjects_of_trial(job: Job) -> list[Subject]:
    """Return the subjects of a trial."""
    return [Subject.from_json(one) for one in job.parameters["subjects"]]


def load_trial_job(*, actor: User, public_id: str) -> Job | None:
    """Return a trial that the actor started, if any."""
    return Job.objects.filter(requester=actor, kind=KIND, public_id=public_id).first()


# --- in a worker -----------------------------------------------------------------------------------------------------


@job_kind(KIND, gettext_noop("Validator trial"), quiet=True, untrusted=True)
def run_trials(running: Running) -> dict[str, Any]:
    """Run the job kind ``validators``. The result counts what is left untried when the budget is used up."""
    parameters = running.job.parameters
    subjects = subjects_of_trial(running.job)
    begin, tried, left, texts = time.monotonic(), 0, 0, []
    with running.chunk() as chunk:
        chunk.advance(done=0, total=len(subjects))
    for number, subject in enumerate(subjects, 1):
        if time.monotonic() - begin > BUDGET:
            left += 1
            continue
        tried += ensure_tried([subject])
        running.beat()
        texts += try_texts(subject, parameters["texts"])
        with running.chunk() as chunk:
            chunk.advance(done=number)
    return {"tried": tried, "left": left, "constraint": subjects[0].constraint, "texts": texts}


def ensure_tried(subjects: Sequence[Subject]) -> int:
    """Try subjects without a known outcome and store it; returns how many were run.

    For workers and commands. Raises Conflict if the sandbox is not available; then nothing is stored.
    """
    known = known_outcomes(subjects)
    wanted = {one.key: one for one in subjects if one.key not in known}
    for key, subject in wanted.items():
        rows = subject.rows()
        keep_outcome(key, judged(rows, run_calls(subject, [row.text for row in rows])))
    return len(wanted)


def keep_outcome(key: str, outcome: Outcome) -> None:
    """Store the outcome of a trial; the first one stays."""
    with transaction.atomic():
        trial, created = ValidatorTrial.objects.get_or_create(
            key=key,
            defaults={
                "row_count": len(outcome.rows),
                "error_count": len(outcome.errors),
                "warning_count": len(outcome.warnings),
                "errors": list(outcome.errors),
                "warnings": list(outcome.warnings),
            },
        )
        if created:
            TrialRows.objects.create(trial=trial, rows=list(outcome.rows))


def try_texts(subject: Subject, texts: Sequence[str]) -> list[dict[str, Any]]:
    """Return verdicts on typed texts as JSON values."""
    results = run_calls(subject, texts) if texts else []
    return [
        {"text": text[:KEPT_TEXT], "length": len(text), **verdict_of(result)}
        for text, result in zip(texts, results, strict=True)
    ]


def run_calls(subject: Subject, texts: Sequence[str]) -> list[CallResult]:
    """Return the verdict on each text. All run in one process, so that a validator can't tell them apart by time."""
    calls = [Call((text,)) for text in texts]
    last: SandboxUnavailable | None = None
    for __ in range(2):
        try:
            return shared_sandbox().run(subject.source, subject.function, calls)
        except SandboxUnavailable as error:
            last = error
    raise Conflict(
        message(
            "%(status)s This isn’t a problem with the validator. %(reason)s",
            status=Status.SANDBOX_UNAVAILABLE.words,
            reason=str(last),
        )
    )
