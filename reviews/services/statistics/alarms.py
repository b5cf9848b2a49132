"""Records when reviewers of a stage start to disagree more often than the protocol allows, and when that ends."""

from django.db import transaction
from django.utils import timezone

from annotator.models import Project
from annotator.services.history.events import append_event
from reviews.models import Counter, DiscrepancyAlarm
from reviews.services.protocols.versions import current_protocol
from reviews.services.statistics.counters import stored_counters


def watch_discrepancies(project: Project) -> list[DiscrepancyAlarm]:
    """Compare the discrepancies of the project's stages with the protocol's limit; return the new alarms.

    A stage has no alarm before the protocol's minimum of compared items. Each crossing of the limit adds an event,
    ``protocol.discrepancy_alarm`` or ``protocol.discrepancy_cleared``.
    """
    protocol = current_protocol(project)
    if protocol is None:
        return []
    counts = stored_counters(project)
    titles = {stage.key: stage.title for stage in protocol.stages}
    above = {
        stage.key
        for stage in protocol.stages
        if counts.get(f"compared:{stage.key}", 0) >= protocol.alarm_after
        and counts.get(f"discrepant:{stage.key}", 0)
        > protocol.discrepancy_alarm * counts.get(f"compared:{stage.key}", 0)
    }
    open_alarms = set(DiscrepancyAlarm.objects.filter(project=project, cleared_at=None).values_list("stage", flat=True))
    if above == open_alarms:
        return []
    with transaction.atomic():
        # If two tasks run at the same time, the second waits here and then finds nothing to do.
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        known = DiscrepancyAlarm.objects.filter(project=project, cleared_at=None)
        open_alarms = set(known.values_list("stage", flat=True))
        raised = [DiscrepancyAlarm(project=project, stage=key) for key in sorted(above - open_alarms)]
        DiscrepancyAlarm.objects.bulk_create(raised)
        over = sorted(open_alarms - above)
        known.filter(stage__in=over).update(cleared_at=timezone.now())
        for kind, keys in (("alarm", [alarm.stage for alarm in raised]), ("cleared", over)):
            for key in keys:
                discrepant, compared = counts.get(f"discrepant:{key}", 0), counts.get(f"compared:{key}", 0)
                append_event(
                    actor=None,
                    project=project,
                    kind=f"protocol.discrepancy_{kind}",
                    after={
                        "stage": key, "title": titles.get(key, key), "discrepant": discrepant, "compared": compared,
                        "rate": round(discrepant / compared, 4) if compared else 0.0,
                        "above": protocol.discrepancy_alarm,
                    },
                )  # fmt: skip
    return raised


def watch_all_discrepancies() -> int:
    """Check every project with compared reviews; return the number of new alarms."""
    compared = Counter.objects.filter(key__startswith="compared:", value__gt=0, project__archived_at=None)
    projects = Project.objects.filter(pk__in=compared.values("project")).order_by("pk")
    return sum(len(watch_discrepancies(project)) for project in projects)
