"""Errata of releases: reports by members and by everyone who knows a public link, and reading the log.

``benchmark.services.runs.errata`` decides reports.
"""

from collections.abc import Iterator
from datetime import datetime

from django.db import transaction
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils.translation import gettext as _

from annotator.core.text import message
from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import NoticeKind, Project, Role, User
from annotator.services.access.permissions import archived_refusal, require_administrator
from annotator.services.history.events import append_event
from annotator.services.notices.notices import members_with, notify
from benchmark.core.archives.errata import MAX_PLACE, MAX_REASON, check_lines
from benchmark.models import (
    EntryStatistic,
    ErrataLink,
    Erratum,
    ErratumReport,
    Release,
    ReleaseItem,
    ReleaseState,
    ReportState,
)
from benchmark.services.releases.requests import oversees
from reviews.models import Cycle, CycleState
from reviews.services.cycles.sending_back import may_be_sent_back

MAX_TEXT = MAX_REASON
#: Open reports of a release by one member, and by all who use the public link.
MAX_OPEN = 200


# --- the public link -------------------------------------------------------------------------------------------------


def find_link(*, actor: User, release: Release) -> ErrataLink | None:
    """Return the public link for reports, None if it is off. Raises Denied for anyone but administrators."""
    require_administrator(actor=actor, project=release.project)
    return ErrataLink.objects.filter(release=release).select_related("requester").first()


def open_link(*, actor: User, release: Release, renew: bool = False) -> ErrataLink:
    """Let everyone who knows the link report mistakes; an open link stays the same, unless ``renew`` closes it.

    Raises Denied and Conflict.
    """
    require_administrator(actor=actor, project=release.project)
    require_frozen(release)
    with transaction.atomic():
        if renew:
            close_link(actor=actor, release=release)
        link, created = ErrataLink.objects.get_or_create(release=release, defaults={"requester": actor})
        if created:
            append_event(actor=actor, project=release.project, kind="errata.shared", after={"version": release.version})
    return link


def close_link(*, actor: User, release: Release) -> None:
    """Switch the public link off; if it is switched on again, the link is another. Raises Denied."""
    require_administrator(actor=actor, project=release.project)
    with transaction.atomic():
        if ErrataLink.objects.filter(release=release).delete()[0]:
            append_event(
                actor=actor, project=release.project, kind="errata.unshared", after={"version": release.version}
            )


def load_linked(token: str) -> Release:
    """Return the release whose mistakes can be reported under a public link. Raises Hidden."""
    # PostgreSQL takes no text with a NUL.
    known = ErrataLink.objects.filter(token=token) if token.isprintable() else ErrataLink.objects.none()
    found = known.select_related("release__project").first()
    if found is None:
        raise Hidden(
            _("There is no such link, or it was switched off. Ask the people who published the release for a new one.")
        )
    return found.release


# --- reports ---------------------------------------------------------------------------------------------------------


def find_item(release: Release, name: str) -> ReleaseItem:
    """Return an item by its id in the release. Raises Invalid."""
    found = None
    if "\x00" not in name:
        rows = ReleaseItem.objects.filter(release=release, dialogue__external_id=name)
        found = rows.select_related("dialogue").first()
    if found is None:
        raise Invalid(
            _("Release %(version)s has no item “%(item)s”. Copy the id from items.jsonl in the release’s archive.")
            % {"version": release.version, "item": name[:80]},
            field="item",
        )
    return found


def report_item(
    *,
    actor: User | None,
    release: Release,
    item: str,
    text: str,
    place: str = "",
    statistic: EntryStatistic | None = None,
    waits: bool = True,
) -> ErratumReport:
    """Store that an item of a release is wrong. ``item``: its id; ``place``: a JSON pointer or a field; ``statistic``:
    the entry of that item which gave rise to it (that of another item is left out). ``waits``: administrators get a
    notice that it waits for a decision.

    ``actor``: a member who can see the release, None for the public link. Raises Invalid, and Conflict if the release
    is not frozen, its project is archived, or it has too many open reports from there.
    """
    if release.project.archived_at is not None:
        raise archived_refusal()
    require_frozen(release)
    text = checked_text(text, most=MAX_TEXT, field="text")
    place = checked_text(place, most=MAX_PLACE, field="place", required=False)
    found = find_item(release, item)
    if statistic is not None and statistic.item_id != found.pk:
        statistic = None
    with transaction.atomic():
        # Locked, so that parallel reports do not exceed the limit.
        Release.objects.select_for_update(no_key=True).get(pk=release.pk)
        waiting = ErratumReport.objects.filter(release=release, state=ReportState.OPEN, reporter=actor).count()
        if waiting >= MAX_OPEN:
            raise Conflict(_too_many(actor, release))
        report = ErratumReport.objects.create(
            release=release, item=found, reporter=actor, text=text, place=place, statistic=statistic
        )
        append_event(
            actor=actor, project=release.project, kind="erratum.reported",
            after={"version": release.version, "item": item, "report": report.public_id},
        )  # fmt: skip
        if waits:
            _notify(actor, release)
    return report


def _notify(actor: User | None, release: Release) -> None:
    """Notify the administrators of a report. It names no item: an administrator may review the item blind."""
    project = release.project
    page = reverse("errata-list", args=[project.slug, release.public_id])
    notify(
        actor=actor, project=project, people=members_with(project, Role.ADMINISTRATOR), kind=NoticeKind.ALARM,
        text=message("Somebody reported an error in release %(version)s.", version=release.version),
        target=f"{page}?state={ReportState.OPEN}", key=f"erratum.reported:{release.public_id}",
    )  # fmt: skip


def list_reports(*, actor: User, release: Release, state: str = "") -> QuerySet[ErratumReport]:
    """Return the reports of a release, or those in one state. Raises Denied for people who may review its items."""
    if not oversees(actor=actor, project=release.project):
        raise Denied(_("Only administrators and senior reviewers of the project can see reports of errors."))
    found = ErratumReport.objects.filter(release=release)
    found = found.filter(state=state) if state else found
    related = ("item__dialogue", "reporter", "decided_by", "erratum")
    return found.select_related(*related).defer("item__dialogue__search_text")


def changed_since(rows: QuerySet[ErratumReport], moment: datetime) -> QuerySet[ErratumReport]:
    """Return the reports that were made or decided since."""
    return rows.filter(Q(created_at__gte=moment) | Q(decided_at__gte=moment))


def with_open_reports(releases: QuerySet[Release]) -> QuerySet[Release]:
    """Return the releases with ``open_reports``, the number of their open reports."""
    rows = ErratumReport.objects.filter(release=OuterRef("pk"), state=ReportState.OPEN)
    counted = rows.order_by().values("release").annotate(count=Count("pk")).values("count")
    return releases.annotate(open_reports=Coalesce(Subquery(counted), 0))


def count_reports(release: Release) -> dict[str, int]:
    """Return how many reports are in each state."""
    rows = ErratumReport.objects.filter(release=release).values_list("state").annotate(Count("pk"))
    return dict(rows.order_by())


def load_report(*, actor: User, release: Release, public_id: str) -> ErratumReport:
    """Return one report. Raises Denied and Hidden."""
    found = list_reports(actor=actor, release=release).filter(public_id=public_id).first()
    if found is None:
        raise Hidden(_("There is no such report about the release."))
    found.release = release
    return found


# --- the log ---------------------------------------------------------------------------------------------------------


def may_read_log(*, actor: User, release: Release) -> bool:
    """Return whether the actor may read the log: people who oversee the project at any time, others while none of its
    items is in review and no open audit can send one back. Otherwise reviewers would read what they must find.
    """
    if oversees(actor=actor, project=release.project):
        return True
    dialogues = set(Erratum.objects.filter(release=release).values_list("item__dialogue", flat=True))
    in_review = Cycle.objects.filter(dialogue__in=dialogues, state=CycleState.ACTIVE)
    return not (dialogues and (in_review.exists() or may_be_sent_back(*dialogues)))


def read_log(*, actor: User, release: Release) -> Iterator[bytes]:
    """Return the lines of ``errata.jsonl``. Raises Conflict while the actor may not read them."""
    if not may_read_log(actor=actor, release=release):
        raise Conflict(
            _(
                "An item of this errata log is in review again. Its reviewers must not know what was reported, so only "
                "administrators and senior reviewers can read the log now. Try again when the review is over."
            )
        )
    lines = Erratum.objects.filter(release=release).order_by("number").values_list("line", flat=True)
    return (f"{line}\n".encode() for line in lines.iterator(chunk_size=500))


def errata_problems(project: Project) -> Iterator[str]:
    """Yield sentences for the project's errata logs that were changed in the database."""
    for release in Release.objects.filter(project=project, state=ReleaseState.FROZEN).order_by("pk"):
        rows = Erratum.objects.filter(release=release).select_related("item__dialogue").order_by("number")
        known = set(rows.values_list("item__dialogue__external_id", flat=True))
        lines = (line.encode() for line in rows.values_list("line", flat=True).iterator(chunk_size=500))
        found = check_lines(
            f"errata log of release {release.version}", lines, version=release.version, sha256=release.sha256,
            known=known, remedy="Restore it from a backup.",
        )  # fmt: skip
        yield from found.problems
        if (found.errata, found.head) != (release.errata_count, release.errata_head):
            yield (
                f"errata log of release {release.version} has {found.errata} of {release.errata_count} lines, or ends "
                "with another hash than the release. Restore it from a backup."
            )


# --- texts -----------------------------------------------------------------------------------------------------------


def checked_text(text: str, *, most: int, field: str, required: bool = True) -> str:
    """Return a text with plain line breaks. Raises Invalid if it is missing, too long, or can't be stored."""
    text = "\n".join(line.rstrip() for line in text.splitlines()).strip()
    if required and not text:
        raise Invalid(_("Enter a text."), field=field)
    if len(text) > most:
        raise Invalid(
            _("The text has %(length)s characters. The limit is %(limit)s.")
            % {"length": f"{len(text):,}", "limit": f"{most:,}"},
            field=field,
        )
    if "\x00" in text:
        raise Invalid(_("The text contains a NUL character. Remove it."), field=field)
    return text


def _too_many(actor: User | None, release: Release) -> str:
    values = {"limit": MAX_OPEN, "version": release.version}
    if actor is None:
        return (
            _("%(limit)s public reports about release %(version)s wait for a decision. Try again in a few days.")
            % values
        )
    return (
        _(
            "%(limit)s of your reports about release %(version)s wait for a decision. Wait until an administrator has "
            "decided some."
        )
        % values
    )


def require_frozen(release: Release) -> None:
    """Raise Conflict if a release is not frozen, so that its items can still change."""
    if release.state != ReleaseState.FROZEN:
        raise Conflict(
            _("Release %(version)s isn’t frozen, so its items can still change. Wait until it is.")
            % {"version": release.version}
        )
