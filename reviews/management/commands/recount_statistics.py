"""``manage.py recount_statistics [--project SLUG] [--repair]``"""

from collections.abc import Iterator

from annotator.models import Project
from reviews.management.recounting import RecountCommand
from reviews.services.statistics.counters import recount_counters
from reviews.services.statistics.item_history import recount_courses
from reviews.services.statistics.workload import recount_work


class Command(RecountCommand):
    help = (
        "Compare the stored counts of where items stand, of accuracy and of the work done in a project (in every "
        "project) with what all its items and reviews say. Exit code 1 where they differ and are not repaired. "
        "Last line: a JSON summary."
    )

    def differences(self, project: Project, *, repair: bool) -> Iterator[str]:
        for name, stored, right in recount_counters(project, repair=repair):
            yield f"{name} is counted {stored} times; it is right {right} times."
        for count in (recount_courses, recount_work):
            for one in count(project, repair=repair):
                key = ", ".join(part for part in one.key if part)
                yield f"{key} is counted {one.stored} times; it is right {one.right} times."
