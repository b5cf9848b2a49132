"""How many bytes of stored files a project has, and how many it may have.

Bytes are summed from the rows that name the files, so the sum is exact whenever such a row is written or loses its
file. Files that are being uploaded are added under a lock of the project, so two uploads never exceed a quota together.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.utils.translation import gettext as _

from annotator.errors import Hidden, Invalid, OverQuota
from annotator.models import Dialogue, Event, Membership, Project, Role, User
from annotator.services.access.operators import require_operator
from annotator.services.history.events import append_event

MEGABYTE = 10**6
#: The largest quota: a petabyte.
MAX_MB = 10**9
#: Keys of projects → bytes of one kind of file of each; projects without such files may be missing.
CountFiles = Callable[[Collection[int]], Mapping[int, int]]
#: An application that stores files adds what counts them.
COUNT_FILES: list[CountFiles] = []


@dataclass(frozen=True)
class Storage:
    """Bytes of a project's stored files, and how many it may have (None: any number)."""

    used: int
    quota: int | None

    def fits(self, size: int) -> bool:
        return self.quota is None or (self.used + size <= self.quota and self.used < self.quota)


def quota_of(project: Project) -> int | None:
    """Return the bytes that a project may store; None: no limit."""
    megabytes = settings.PROJECT_QUOTA_MB if project.quota_mb is None else project.quota_mb
    return megabytes * MEGABYTE or None


def stored_bytes(project_ids: Collection[int]) -> Counter[int]:
    """Return the bytes of the stored files of each project."""
    total: Counter[int] = Counter()
    for count in COUNT_FILES:
        total.update(count(project_ids))
    return total


def storage_of(project: Project) -> Storage:
    """Return what a project stores and may store."""
    return Storage(stored_bytes([project.pk])[project.pk], quota_of(project))


def require_quota(project: Project, size: int = 0) -> None:
    """Refuse a file before it is stored, if it would exceed the quota, or if the quota is used up. Raises OverQuota."""
    if quota_of(project) is None:
        return
    storage = storage_of(project)
    if not storage.fits(size):
        values = {"used": _megabytes(storage.used), "quota": _megabytes(storage.quota or 0), "size": _megabytes(size)}
        sentence = _(
            "This project’s files take up %(used)s MB of the %(quota)s MB that it may store, so nothing more is "
            "stored (here: %(size)s MB). Nothing was saved. Send a smaller or compressed file, or ask the operator "
            "of this server for a larger quota."
        )
        raise OverQuota(sentence % values)


def hold_quota(project: Project, size: int) -> None:
    """Do the same in the transaction that writes the row of the stored file; further uploads wait until it ends."""
    if quota_of(project) is not None:
        Project.objects.select_for_update(no_key=True).only("pk").get(pk=project.pk)
        require_quota(project, size)


def set_quota(*, actor: User, slug: str, megabytes: str) -> Project:
    """Set how much a project may store; blank: as the installation says, 0: no limit. Raises Hidden, Invalid."""
    require_operator(actor)
    wanted = megabytes.strip()
    if wanted and not (wanted.isascii() and wanted.isdigit() and len(wanted) <= 10 and int(wanted) <= MAX_MB):
        raise Invalid(
            _("The quota must be a whole number of MB up to %(most)s, 0 for no limit, or blank for the default.")
            % {"most": f"{MAX_MB:,}"},
            field="quota_mb",
        )
    quota = int(wanted) if wanted else None
    with transaction.atomic():
        project = Project.objects.select_for_update(no_key=True).filter(slug=slug).first()
        if project is None:
            raise Hidden(_("This project doesn’t exist."))
        if project.quota_mb != quota:
            append_event(
                actor=actor,
                project=project,
                kind="project.quota_changed",
                before={"quota_mb": project.quota_mb},
                after={"quota_mb": quota},
            )
            project.quota_mb = quota
            project.save(update_fields=["quota_mb"])
    return project


def list_projects(*, actor: User) -> QuerySet[Project]:
    """Return all projects, with ``active_at``, the time of their last event. Raises Hidden."""
    require_operator(actor)
    last = Event.objects.filter(project=OuterRef("pk")).order_by("-pk").values("created_at")[:1]
    return Project.objects.annotate(active_at=Subquery(last))


def administrators_of(project_ids: Collection[int]) -> dict[int, list[User]]:
    """Return the active administrators of each project."""
    found: dict[int, list[User]] = {}
    rows = Membership.objects.active().filter(project__in=project_ids, role=Role.ADMINISTRATOR)
    for row in rows.select_related("user").order_by("user__display_name", "user_id"):
        found.setdefault(row.project_id, []).append(row.user)
    return found


def dialogues_of(project_ids: Collection[int]) -> dict[int, int]:
    """Return the number of dialogues of each project."""
    rows = Dialogue.objects.filter(project__in=project_ids).order_by()
    return dict(rows.values_list("project").annotate(count=Count("pk")))


def _megabytes(size: int) -> str:
    """Return bytes as megabytes, rounded up to a tenth."""
    return f"{-(-size * 10 // MEGABYTE) / 10:,.1f}"
