"""Decide reports of mistakes: confirm one, which adds a line to the errata log, or decline it."""

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.errors import Conflict, Invalid
from annotator.models import Dialogue, User
from annotator.models.content import DialogueStatus
from annotator.services.access.permissions import require_administrator
from annotator.services.history.events import append_event
from benchmark.core.archives import errata
from benchmark.core.archives.errata import MAX_EVIDENCE, MAX_PLACE, MAX_REASON, Severity
from benchmark.models import EntryStatistic, Erratum, ErratumReport, Release, ReportState
from benchmark.services.releases.errata import checked_text, report_item
from benchmark.services.runs.suspects import record_sent_back
from benchmark.services.runs.withdrawn import reopen_item, start_recount

#: What everyone who reviews the item may read: neither what is wrong, nor what models answered.
REASON = "An error in this item of release %(version)s was reported and confirmed."


def confirm_report(
    *,
    actor: User,
    report: ErratumReport,
    severity: str,
    reason: str,
    evidence: str = "",
    place: str | None = None,
    wake_worker: bool = True,
) -> Erratum:
    """Add a line to the errata log, and send the item back to review for the next release.

    ``place``: None for that of the report. If the item can't be sent back, because it was changed or is in review
    already, the erratum is confirmed all the same, and ``report.not_reopened`` says why. Nothing is deleted.

    Raises Denied for anyone but administrators, Invalid, and Conflict if the report was decided.
    """
    release = report.release
    require_administrator(actor=actor, project=release.project)
    if severity not in set(Severity):
        raise Invalid(_("Choose a severity: minor, major or critical."), field="severity")
    reason = checked_text(reason, most=MAX_REASON, field="reason")
    evidence = checked_text(evidence, most=MAX_EVIDENCE, field="evidence", required=False)
    place = report.place if place is None else checked_text(place, most=MAX_PLACE, field="place", required=False)
    with transaction.atomic():
        locked, report = _lock_open(report)
        line = errata.Erratum(
            number=locked.errata_count + 1,
            release=locked.version,
            archive_sha256=locked.sha256,
            item=report.item.dialogue.external_id,
            place=place,
            severity=Severity(severity),
            reason=reason,
            evidence=evidence,
            date=timezone.now().date().isoformat(),
            previous_sha256=locked.errata_head,
        )
        report.reopened, report.not_reopened = _reopen(actor, report)
        _decide(actor, report, ReportState.CONFIRMED)
        erratum = Erratum.objects.create(
            release=locked, number=line.number, item=report.item, report=report, line=line.line().decode(),
            sha256=line.sha256,
        )  # fmt: skip
        locked.errata_count, locked.errata_head = line.number, line.sha256
        locked.save(update_fields=["errata_count", "errata_head"])
        append_event(
            actor=actor, project=release.project, kind="erratum.confirmed", before={"state": ReportState.OPEN},
            after={
                "version": release.version, "item": line.item, "report": report.public_id, "number": line.number,
                "severity": severity, "sha256": line.sha256, "reopened": report.reopened,
            },
        )  # fmt: skip
        start_recount(actor=actor, release=release, wake_worker=wake_worker)
    return erratum


def decline_report(*, actor: User, report: ErratumReport, reason: str) -> ErratumReport:
    """Close a report without an erratum. Raises Denied, Invalid without a reason, Conflict if it was decided."""
    require_administrator(actor=actor, project=report.release.project)
    reason = checked_text(reason, most=MAX_REASON, field="reason")
    with transaction.atomic():
        locked, report = _lock_open(report)
        report.reason = reason
        _decide(actor, report, ReportState.DECLINED)
        append_event(
            actor=actor, project=locked.project, kind="erratum.declined", before={"state": ReportState.OPEN},
            after={
                "version": locked.version, "item": report.item.dialogue.external_id, "report": report.public_id,
            },
        )  # fmt: skip
    return report


def add_erratum(
    *,
    actor: User,
    release: Release,
    item: str,
    severity: str,
    reason: str,
    evidence: str = "",
    place: str = "",
    statistic: EntryStatistic | None = None,
    wake_worker: bool = True,
) -> Erratum:
    """Report and confirm a mistake in one step, for example from an entry of a run (``statistic``).

    Raises what ``report_item`` and ``confirm_report`` raise, and Conflict if the entry has an erratum.
    """
    require_administrator(actor=actor, project=release.project)
    with transaction.atomic():
        Release.objects.select_for_update(no_key=True).get(pk=release.pk)
        confirmed = ErratumReport.objects.filter(statistic=statistic, state=ReportState.CONFIRMED)
        if statistic is not None and confirmed.exists():
            raise Conflict(
                _("This entry has a confirmed erratum already. Open it in the list of errata of the release.")
            )
        report = report_item(actor=actor, release=release, item=item, text=reason, place=place, statistic=statistic)
        return confirm_report(
            actor=actor, report=report, severity=severity, reason=reason, evidence=evidence, wake_worker=wake_worker
        )


def _lock_open(report: ErratumReport) -> tuple[Release, ErratumReport]:
    """Return the release and the report as they are, locked. Raises Conflict if the report was decided.

    The release comes first: its log has one end.
    """
    release = Release.objects.select_for_update(no_key=True, of=("self",)).select_related("project")
    locked = release.get(pk=report.release_id)
    rows = ErratumReport.objects.select_for_update(no_key=True, of=("self",))
    found = rows.select_related("item__dialogue", "statistic").get(pk=report.pk)
    found.release = locked
    if found.state != ReportState.OPEN:
        raise Conflict(
            _("This report was decided in the meantime: it is %(state)s. Nothing was changed.")
            % {"state": found.get_state_display().lower()}
        )
    return locked, found


def _decide(actor: User, report: ErratumReport, state: ReportState) -> None:
    report.state, report.decided_by, report.decided_at = state, actor, timezone.now()
    report.save(update_fields=["state", "decided_by", "decided_at", "reason", "reopened", "not_reopened"])


def _reopen(actor: User, report: ErratumReport) -> tuple[bool, str]:
    """Return whether the item was sent back to review, and otherwise why not."""
    release = report.release
    dialogue = Dialogue.objects.select_for_update(no_key=True).defer("search_text").get(pk=report.item.dialogue_id)
    if dialogue.status == DialogueStatus.VERIFIED and dialogue.head_id != report.item.revision_id:
        return False, _("%(dialogue)s has other content than in release %(version)s.") % {
            "dialogue": dialogue.external_id, "version": release.version,
        }  # fmt: skip
    try:
        with transaction.atomic():
            cycle = reopen_item(actor=actor, item=report.item, reason=REASON % {"version": release.version})
    except Conflict as refusal:
        return False, refusal.sentence[:500]
    if report.statistic is not None:
        record_sent_back(actor=actor, statistic=report.statistic, cycle=cycle)
    return True, ""
