"""Errata in the demo: one that was confirmed, and a report that waits for a decision."""

from collections.abc import Callable

from annotator.models import User
from annotator.services.jobs import jobs
from benchmark.demo import slip
from benchmark.models import Recount, Release
from benchmark.services.releases.errata import report_item
from benchmark.services.runs.errata import confirm_report

#: A dialogue in which the user writes a time as a program does.
NAME = "home-energy-02"


def play(release: Release, reporter: User, log: Callable[[str], None]) -> None:
    """Report two errors in a release; its administrator confirms the small one."""
    administrator = release.requester
    names = set(release.items.values_list("dialogue__external_id", flat=True))
    if administrator is None or not names >= {NAME, slip.NAME}:
        return
    small = report_item(
        actor=reporter, release=release, item=NAME, place="/tasks/t1/user_message",
        text="People do not write a time like 2026-02-13T22:00 in a message.",
    )  # fmt: skip
    confirm_report(
        actor=administrator, report=small, severity="minor",
        reason="The user message has a time in the form that programs use. People write “22:00 on 13 February”.",
        evidence="The reference is right with either form, so the scores stay the same.", wake_worker=False,
    )  # fmt: skip
    jobs.run(Recount.objects.filter(release=release, complete=False).latest("pk").job_id)
    report_item(
        actor=None, release=release, item=slip.NAME, place=f"/tasks/t{slip.TASK + 1}",
        text="The user asks for the larger of the two telescopes. The reference reserves the smaller one.",
    )  # fmt: skip
    log(f"Reported errors in release {release.version} of {release.project.name}.")
