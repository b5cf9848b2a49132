"""Show a case before it is made, and start the job that makes all."""

from dataclasses import dataclass

from django.db import transaction
from django.utils.translation import gettext as _

from annotator.core.case_construction import CannotConstruct
from annotator.errors import Conflict, Invalid
from annotator.models import Job, Project, User
from annotator.models.jobs import JOB_ENDED
from annotator.services.access.permissions import require_administrator
from annotator.services.jobs.jobs import start_job
from benchmark.core.constructing import Made
from benchmark.services.constructing.rewriting import Rewriting, check_rewriting
from benchmark.services.constructing.sources import Request, chosen_sources, existing_cases, make_from, source_names

KIND = "constrained_cases"
#: Sources that a preview reads until it finds one from which a case can be made.
_TRIED = 20


@dataclass(frozen=True)
class Preview:
    """``sources``: how many there are; ``there``: how many cases exist already.

    ``example``: the first case that would be made; None if none of the first sources gives one. ``refused``: the
    sources before it, each with the reason.
    """

    sources: int
    there: int
    example: Made | None
    refused: list[tuple[str, str]]


def preview(*, actor: User, project: Project, request: Request) -> Preview:
    """Return what a request would make. Raises Invalid, and Denied for anyone but administrators."""
    require_administrator(actor=actor, project=project)
    rows = chosen_sources(project, request)
    names = {name: request.options.name_of(name) for name in rows.values_list("external_id", flat=True)}
    there = existing_cases(project, names.values())
    wanted = [name for name, case in names.items() if case not in there][:_TRIED]
    refused: list[tuple[str, str]] = []
    for source in rows.filter(external_id__in=wanted).select_related("head__toolset_revision").defer("search_text"):
        try:
            return Preview(len(names), len(there), make_from(source, request.options), refused)
        except CannotConstruct as problem:
            refused.append((source.external_id, str(problem)))
    return Preview(len(names), len(there), None, refused)


def start_constructing(
    *,
    actor: User | None,
    project: Project,
    request: Request,
    rewriting: Rewriting | None = None,
    wake_worker: bool = True,
) -> Job:
    """Start a job that makes the cases and imports them. ``actor`` None is the command line.

    ``rewriting``: who puts the sentences into other words before the import. Raises Denied for anyone but
    administrators, Conflict if another one has not ended, and Invalid if there is nothing to make, or too much to
    rewrite.
    """
    if actor is not None:
        require_administrator(actor=actor, project=project)
    with transaction.atomic():
        # One job at a time: the next one must know its cases.
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        if Job.objects.filter(project=project, kind=KIND).exclude(state__in=JOB_ENDED).exists():
            raise Conflict(_("Other cases are being made. Wait until that has ended."))
        names = source_names(project, request)
        if rewriting is not None:
            check_rewriting(rewriting, project, len(names))
        cases = [request.options.name_of(name) for name in names]
        if existing_cases(project, cases) == set(cases):
            raise Invalid(_("The cases of these sources with this seed exist already. Use another seed."))
        return start_job(
            actor=actor,
            project=project,
            kind=KIND,
            parameters={
                **request.options.as_json(),
                "names": list(request.names),
                "only_verified": request.only_verified,
                "sampling": request.sampling,
                "wake_worker": wake_worker,
                **({} if rewriting is None else {"rewriting": rewriting.as_json()}),
            },
            wake_worker=wake_worker,
        )


def last_job(project: Project) -> Job | None:
    """Return the last job that made cases."""
    return Job.objects.filter(project=project, kind=KIND).order_by("-id").select_related("cancellation").first()
