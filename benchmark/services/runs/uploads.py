"""Upload predictions of models for a release, and start the job that scores them."""

from dataclasses import asdict

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Project, User
from annotator.models.jobs import JOB_ENDED
from annotator.models.keys import new_public_id
from annotator.services.access.permissions import require_administrator
from annotator.services.jobs.jobs import lock_requester, start_job
from annotator.services.quotas import hold_quota
from benchmark.core.scoring.scoring_run import FAMILIES
from benchmark.models import HISTORIES, THINKING, TOOL_MODES, Mode, PredictionFile, Release, ReleaseState
from benchmark.services.imports.requests import shown_filename
from benchmark.services.stored_files import Readable, full_path, store

ENDINGS = (".jsonl", ".jsonl.gz", ".json", ".eval")
_NATIVE = {"cctu": ("cctu",), "async": ("async",)}


def families_of(release: Release) -> tuple[str, ...]:
    """Return the families that a release can be scored as, its own first."""
    own = release.native_format
    if own in _NATIVE:
        return _NATIVE[own]
    every = ("wild", "c3", "mmtb") if own != "neutral" else FAMILIES
    return tuple(sorted(every, key=lambda family: family != own))


def check_mode(mode: Mode) -> None:
    """Raise Invalid for a mode that does not exist."""
    if mode.history not in HISTORIES:
        raise Invalid(_("The history is “calls” or “answers”."))
    if mode.tool_mode not in TOOL_MODES:
        raise Invalid(_("The tools are given as “tool_calls” or in the “prompt”."))
    if mode.thinking not in THINKING:
        raise Invalid(_("Thinking is “on”, “off” or not stated."))


def start_scoring(
    *,
    actor: User,
    release: Release,
    upload: Readable,
    filename: str,
    family: str,
    model: str = "",
    provider: str = "",
    mode: Mode | None = None,
    strip_thinking: bool = False,
    even_if_same: bool = False,
    wake_worker: bool = True,
) -> PredictionFile:
    """Store a file of predictions and start the job that scores it.

    A repeated request returns the unfinished job's file, unless ``even_if_same``. Raises Denied for anyone but
    administrators, OverQuota if the file would exceed the project's quota, Conflict
    unless the release is frozen, Invalid for another kind of file.
    """
    require_administrator(actor=actor, project=release.project)
    if release.state != ReleaseState.FROZEN:
        raise Conflict(_("Only a frozen release can be scored."))
    if family not in families_of(release):
        raise Invalid(_("This release can’t be scored as %(family)s.") % {"family": family})
    mode = mode or Mode()
    check_mode(mode)
    filename = shown_filename(filename)
    if not filename.lower().endswith(ENDINGS):
        raise Invalid(
            _("Assay can’t read %(file)s. Use a file that ends in one of: %(endings)s.")
            % {"file": filename, "endings": ", ".join(ENDINGS)}
        )
    public_id = new_public_id()
    # The ending says how to read it.
    name = f"predictions/{public_id}{next(one for one in ENDINGS[::-1] if filename.lower().endswith(one))}"
    stored = store(upload, name)
    asked = {"family": family, "model": model, "provider": provider, "strip_thinking": strip_thinking} | asdict(mode)
    try:
        with transaction.atomic():
            lock_requester(actor.pk)
            begun = (
                PredictionFile.objects.filter(release=release, requester=actor, sha256=stored.sha256, **asked)
                .exclude(job__state__in=JOB_ENDED)
                .first()
            )
            if begun is not None and not even_if_same:
                full_path(name).unlink()
                return begun
            hold_quota(release.project, stored.bytes)
            job = start_job(
                actor=actor,
                project=release.project,
                kind="score_predictions",
                parameters={"predictions": public_id, "release": release.public_id},
                wake_worker=wake_worker,
            )
            return PredictionFile.objects.create(
                public_id=public_id, release=release, job=job, requester=actor, filename=filename, file=stored.name,
                bytes=stored.bytes, sha256=stored.sha256, **asked,
            )  # fmt: skip
    except BaseException:
        full_path(name).unlink(missing_ok=True)
        raise


def list_files(*, actor: User, release: Release) -> QuerySet[PredictionFile]:
    """Return the files of predictions of a release. Raises Denied for anyone but administrators."""
    require_administrator(actor=actor, project=release.project)
    return PredictionFile.objects.filter(release=release).select_related("job", "requester").defer("notes")


def load_file(*, actor: User, project: Project, public_id: str) -> PredictionFile:
    """Return one file. Raises Denied for anyone but administrators, Hidden if the project has no such file."""
    require_administrator(actor=actor, project=project)
    found = (
        PredictionFile.objects.filter(release__project=project, public_id=public_id)
        .select_related("job", "requester", "release")
        .first()
    )
    if found is None:
        raise Hidden(_("There are no such predictions in the project."))
    return found


def run_ids_in(file: PredictionFile) -> list[str]:
    """Return the public ids of the runs that a file led to."""
    return list(file.runs.filter(complete=True).order_by("pk").values_list("public_id", flat=True))
