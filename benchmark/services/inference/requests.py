"""Start, continue and read inferences."""

from dataclasses import asdict, dataclass
from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _

from annotator.core.composites.delays import read_delay
from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Job, Project, User
from annotator.models.keys import new_public_id
from annotator.services.access.permissions import require_administrator
from annotator.services.jobs.jobs import start_job
from benchmark.models import BaselineEntry, Endpoint, Inference, InferenceReply, Mode, Release, ReleaseState, Run, Score
from benchmark.services.inference.options import RESERVED, Options
from benchmark.services.runs.uploads import check_mode, families_of, run_ids_in

KIND = "inference"
BASELINE = "baseline"
#: Replies of one entry that are read.
MAX_REPLIES = 100
#: Refused requests of an inference that are read.
MAX_REFUSED = 20


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits on what an inference may use in total; None for none."""

    tokens: int | None = None
    cost: Decimal | None = None


def start_inference(
    *,
    actor: User,
    release: Release,
    endpoint: Endpoint,
    model: str,
    family: str,
    name: str = "",
    mode: Mode | None = None,
    options: Options | None = None,
    input_price: Decimal = Decimal(0),
    output_price: Decimal = Decimal(0),
    budget: Budget | None = None,
    wake_worker: bool = True,
) -> Inference:
    """Start to ask a model about all entries of a release.

    ``name``: the run's on the leaderboard, by default the model's. Raises Denied for anyone but administrators,
    Conflict unless the release is frozen and the endpoint still there, Invalid for options that make no sense.
    """
    options, budget, mode = options or Options(), budget or Budget(), mode or Mode()
    check_request(actor=actor, release=release, family=family, mode=mode, options=options)
    if endpoint.project_id != release.project_id:
        raise Hidden(_("There is no such endpoint in the project."))
    if not model.strip():
        raise Invalid(_("Name the model."))
    if budget.cost is not None and not (input_price or output_price):
        raise Invalid(_("A limit on the cost needs the prices of the tokens."))
    with transaction.atomic():
        _require_endpoint(endpoint)
        public_id = new_public_id()
        job = start_job_of(public_id, KIND, actor=actor, project=release.project, wake_worker=wake_worker)
        inference = Inference.objects.create(
            public_id=public_id, release=release, release_sha256=release.sha256, endpoint=endpoint, job=job,
            requester=actor, model=model.strip(), name=name.strip() or model.strip(), family=family,
            settings=options.as_json(), **asdict(mode), input_price=input_price, output_price=output_price,
            token_budget=budget.tokens, cost_budget=budget.cost,
        )  # fmt: skip
    return inference


def continue_inference(
    *, actor: User, inference: Inference, budget: Budget | None = None, wake_worker: bool = True
) -> Inference:
    """Continue an inference that has stopped; replies that are there are not asked for again.

    ``budget``: the limits from now on, in total. Raises Denied, and Conflict if it is in progress, complete, or its
    endpoint was removed.
    """
    require_administrator(actor=actor, project=inference.release.project)
    with transaction.atomic():
        # Without joins: after the wait for the lock, a join would still look for the earlier job, and find no row.
        inference = Inference.objects.select_for_update(no_key=True).get(pk=inference.pk)
        if not inference.job.ended:
            raise Conflict(_("The inference is in progress."))
        if inference.predictions_id is not None:
            raise Conflict(_("The inference is complete."))
        if inference.endpoint is not None:
            _require_endpoint(inference.endpoint)
        if budget is not None:
            if budget.cost is not None and not inference.priced:
                raise Invalid(_("A limit on the cost needs the prices of the tokens."))
            inference.token_budget, inference.cost_budget = budget.tokens, budget.cost
        inference.job = start_job_of(
            inference.public_id, KIND if inference.endpoint_id else BASELINE, actor=actor,
            project=inference.release.project, wake_worker=wake_worker,
        )  # fmt: skip
        inference.save(update_fields=["job", "token_budget", "cost_budget"])
    return inference


def start_job_of(
    public_id: str, kind: str, *, actor: User | None, project: Project, wake_worker: bool, **parameters: str
) -> Job:
    """Start a job of an inference."""
    return start_job(
        actor=actor, project=project, kind=kind, parameters={"inference": public_id, **parameters},
        wake_worker=wake_worker,
    )  # fmt: skip


def _require_endpoint(endpoint: Endpoint) -> None:
    """Raise Conflict if the endpoint was removed. Locks it until the transaction ends."""
    rows = Endpoint.objects.select_for_update(no_key=True).filter(pk=endpoint.pk, removed_at__isnull=True)
    if rows.only("pk").first() is None:
        raise Conflict(_("The endpoint was removed, so nothing can be asked there."))


def check_request(*, actor: User, release: Release, family: str, mode: Mode, options: Options) -> None:
    """Raise Denied for anyone but administrators, Conflict unless the release is frozen, and Invalid for what makes
    no sense.
    """
    require_administrator(actor=actor, project=release.project)
    if release.state != ReleaseState.FROZEN:
        raise Conflict(_("Only frozen releases can be answered."))
    if family not in families_of(release):
        raise Invalid(_("This release can’t be scored as %(family)s.") % {"family": family})
    check_mode(mode)
    check_options(options)


def check_options(options: Options) -> None:
    """Raise Invalid for options that make no sense."""
    if not options.delays:
        raise Invalid(_("Name at least one delay."))
    for delay in options.delays:
        try:
            read_delay(delay)
        except ValueError as problem:
            raise Invalid(str(problem)) from None
    reserved = sorted(RESERVED & options.extra.keys())
    if reserved:
        raise Invalid(_("Assay sets “%(name)s” itself. Leave it out.") % {"name": reserved[0]})


def list_inferences(*, actor: User, release: Release) -> QuerySet[Inference]:
    """Return the inferences of a release, newest first. Raises Denied for anyone but administrators."""
    require_administrator(actor=actor, project=release.project)
    related = ("job", "requester", "endpoint", "person", "predictions__job", "release")
    found = Inference.objects.filter(release=release).select_related(*related)
    return found.defer("release__frozen", "predictions__notes").order_by("-pk")


def load_inference(*, actor: User, project: Project, public_id: str) -> Inference:
    """Return an inference. Raises Denied for anyone but administrators, Hidden if the project has no such one."""
    require_administrator(actor=actor, project=project)
    found = (
        Inference.objects.filter(release__project=project, public_id=public_id)
        .select_related("job", "requester", "endpoint", "release__project", "predictions__job", "person")
        .first()
    )
    if found is None:
        raise Hidden(_("There is no such inference in the project."))
    return found


def changed_since(rows: QuerySet[Inference], moment: datetime) -> QuerySet[Inference]:
    """Return the inferences that were started or worked on since, and those in progress: also by replies of a person,
    and by the scores of the answers.
    """
    recent = Q(ended_at__gte=moment) | Q(ended_at=None)
    jobs = Job.objects.filter(recent)
    replied = BaselineEntry.objects.filter(inference=OuterRef("pk"), job__in=jobs)
    mine = Q(created_at__gte=moment) | Q(job__in=jobs) | Q(predictions__job__in=jobs)
    return rows.filter(mine | Q(Exists(replied)))


def jobs_of(inference: Inference) -> list[Job]:
    """Return the latest job that asks, and the job that scores the answers, if it has begun."""
    return [inference.job, *([inference.predictions.job] if inference.predictions else [])]


def list_refused(inference: Inference) -> list[InferenceReply]:
    """Return the first requests that the endpoint refused."""
    if not inference.refused:
        return []
    return list(inference.replies.filter(message=None).order_by("pk")[:MAX_REFUSED])


def run_ids_of(inference: Inference) -> list[str]:
    """Return the public ids of the runs that an inference has led to."""
    return [] if inference.predictions is None else run_ids_in(inference.predictions)


def inference_of(run: Run) -> Inference | None:
    """Return how Assay asked the model of a run; None for uploaded predictions."""
    if run.file_id is None:
        return None
    return Inference.objects.filter(predictions=run.file_id).select_related("endpoint", "person").first()


def list_replies(score: Score) -> list[InferenceReply]:
    """Return the replies that an entry's prediction was made from, as the endpoint gave them."""
    file = score.score_set.run.file_id
    if file is None:
        return []
    found = InferenceReply.objects.filter(inference__predictions=file, unit=score.entry)
    return list(found.order_by("number")[:MAX_REPLIES])
