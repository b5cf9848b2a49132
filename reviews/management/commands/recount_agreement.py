"""``manage.py recount_agreement [--project SLUG] [--repair]``"""

from collections.abc import Iterator

from annotator.models import Project
from reviews.management.recounting import RecountCommand
from reviews.services.statistics.agreement import recount_agreement


class Command(RecountCommand):
    help = (
        "Compare the stored rating patterns of a project (of every project) with what all its reviews say. "
        "Exit code 1 where they differ and are not repaired. Last line: a JSON summary."
    )

    def differences(self, project: Project, *, repair: bool) -> Iterator[str]:
        for one in recount_agreement(project, repair=repair):
            pair = f", pair {one.key.pair}" if one.key.pair else ""
            yield (
                f"{one.key.label} of {one.key.stage}{pair}, week of {one.key.week}: {one.key.pattern} is counted "
                f"{one.stored} times; the reviews say {one.right}."
            )
