"""Trials of validators: known by content, run in workers only, never in a web process.

Pages and checks read what is known (``known_outcomes``) and start a job where nothing is (``start_trials``).
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import transaction

from annotator.core.sandbox.results import Call, CallResult, SandboxUnavailable, Status
from annotator.core.sandbox.sharing import shared_sandbox
from annotator.core.validators.trial import KEPT_TEXT, Outcome, Subject, judged, subject_of, subjects_of, verdict_of
from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Dialogue, Job, Project, Revision, User, ValidatorTrial
from annotator.models.jobs import JOB_ENDED
from annotator.models.trials import TrialRows
from annotator.services.jobs.jobs import Running, job_kind, start_job

KIND = "validators"
#: Seconds of trying after which a job leaves the rest: others wait for the same worker.
BUDGET = 20.0
#: Trials one person may have under way.
MAX_RUNNING = 3
#: Typed texts in one trial, and their characters.
MAX_TEXTS = 5
MAX_TEXT_LENGTH = 20_000


# --- what is known ---------------------------------------------------------------------------------------------------


def known_outcomes(subjects: Iterable[Subject]) -> dict[str, Outcome]:
    """Key → what the trial said, for those that were tried; without their rows."""
    keys = {subject.key for subject in subjects}
    rows = ValidatorTrial.objects.filter(key__in=keys).values_list("key", "errors", "warnings") if keys else ()
    return {key: Outcome(tuple(errors), tuple(warnings)) for key, errors, warnings in rows}


def known_outcomes_of(document: Mapping[str, Any]) -> dict[str, Outcome]:
    """The same for a whole document; empty for one that has no validators."""
    return known_outcomes(subjects_of(document)) if document.get("kind") == "constrained" else {}


def read_trial(subject: Subject) -> ValidatorTrial | None:
    """The trial of exactly this validator, with its matrix."""
    return ValidatorTrial.objects.select_related("matrix").filter(key=subject.key).first()


def facts_of(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What a release says of a document's validators: each with its key and how many rows were tried."""
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


# --- asking for it ---------------------------------------------------------------------------------------------------


def start_trials(
    *,
    actor: User | None,
    project: Project,
    document: Mapping[str, Any],
    dialogue: Dialogue | None = None,
    constraint: str = "",
    texts: Sequence[str] = (),
) -> Job | None:
    """Have a worker try the document's validators (or that of one ``constraint``) as they stand now.

    ``dialogue``: whose document it is, for those who look for the job. ``texts``: responses to judge besides, for one
    constraint; their verdicts are in the job's result alone. None where everything is known already. Raises Invalid,
    and Conflict when the person has too much under way.
    """
    if len(texts) > MAX_TEXTS or any(len(text) > MAX_TEXT_LENGTH for text in texts):
        raise Invalid(f"At most {MAX_TEXTS} responses of {MAX_TEXT_LENGTH:,} characters are tried at once.")
    if any("\x00" in text for text in texts):
        raise Invalid("A response holds a NUL character, which cannot be stored; remove it.")
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
            # One after another, so that two windows of one person do not pass the bound together.
            User.objects.select_for_update(no_key=True).get(pk=actor.pk)
            under_way = Job.objects.filter(requester=actor, kind=KIND).exclude(state__in=JOB_ENDED)
            waiting = list(under_way.order_by("-pk"))
            for job in waiting:
                if job.parameters == parameters:
                    return job
            if len(waiting) >= MAX_RUNNING:
                raise Conflict(f"{len(waiting)} of your trials are still under way; wait until one has ended.")
        return start_job(actor=actor, project=project, kind=KIND, parameters=parameters)


def start_trials_of(*, actor: User, revision: Revision, constraint: str = "", texts: Sequence[str] = ()) -> Job | None:
    """The same for a version of a dialogue that the actor sees. Raises Invalid where nothing can be tried."""
    document = revision.document()
    if document["kind"] != "constrained":
        raise Invalid("Only constrained cases have validators to try.")
    found = next((one for one in document["constraints"] if one["id"] == constraint), None)
    if constraint and found is None:
        raise Invalid(f"The case has no constraint {constraint}.", field="constraint")
    if found is not None and isinstance(why := subject_of(document, found), str):
        raise Invalid(why, field="constraint")
    if texts and found is None:
        raise Invalid("Name the constraint whose validator is to judge the responses.", field="constraint")
    if not subjects_of(document):
        raise Invalid("The case has no validator that can be tried; its findings say why.")
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
    """A trial of a dialogue's validators that the actor asked for. Raises Hidden."""
    job = load_trial_job(actor=actor, public_id=public_id)
    if job is None or job.parameters.get("dialogue") != dialogue.public_id:
        raise Hidden("There is no such trial of this dialogue, or it is not yours to see.")
    return job


def subjects_of_trial(job: Job) -> list[Subject]:
    """What a trial was asked to try."""
    return [Subject.from_json(one) for one in job.parameters["subjects"]]


def load_trial_job(*, actor: User, public_id: str) -> Job | None:
    """A trial that the actor asked for; nobody else's."""
    return Job.objects.filter(requester=actor, kind=KIND, public_id=public_id).first()


# --- running it, in a worker -----------------------------------------------------------------------------------------


@job_kind(KIND, "Trial of validators", quiet=True, untrusted=True)
def run_trials(running: Running) -> dict[str, Any]:
    """Runner of the job kind ``validators``. What is not reached within the budget is left, and said so."""
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
    """Try what was not tried yet and keep the outcome; returns how many were run.

    For workers and commands. Raises Conflict where the sandbox is not available: then nothing is kept, for that is not
    the validator's fault.
    """
    known = known_outcomes(subjects)
    wanted = {one.key: one for one in subjects if one.key not in known}
    for key, subject in wanted.items():
        rows = subject.rows()
        keep_outcome(key, judged(rows, run_calls(subject, [row.text for row in rows])))
    return len(wanted)


def keep_outcome(key: str, outcome: Outcome) -> None:
    """Store what came of a trial; the first one stays."""
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
    """Verdicts on typed texts, as JSON values."""
    results = run_calls(subject, texts) if texts else []
    return [
        {"text": text[:KEPT_TEXT], "length": len(text), **verdict_of(result)}
        for text, result in zip(texts, results, strict=True)
    ]


def run_calls(subject: Subject, texts: Sequence[str]) -> list[CallResult]:
    """What the validator says of each text: all at once, so that none can be told by when it is asked."""
    calls = [Call((text,)) for text in texts]
    last: SandboxUnavailable | None = None
    for _ in range(2):
        try:
            return shared_sandbox().run(subject.source, subject.function, calls)
        except SandboxUnavailable as error:
            last = error
    raise Conflict(f"{Status.SANDBOX_UNAVAILABLE.words} The validator is not the reason. {last}")
