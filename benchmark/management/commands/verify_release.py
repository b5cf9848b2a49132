"""``manage.py verify_release ARCHIVE``, and ``--errata FILE`` for its errata log"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotator.core.execution.running import Execution, Runner, execute
from annotator.core.execution.subjects import Subject
from annotator.core.sandbox import Sandbox, SandboxUnavailable
from annotator.core.wording import counted
from benchmark.core.archives.errata import verify_errata
from benchmark.core.archives.executing import execute_release
from benchmark.core.archives.verifying import verify_archive
from benchmark.management.base import REFUSED, PipelineCommand, Stop


class Command(PipelineCommand):
    help = "Check the archive of a release offline, and run its single tasks again if asked; needs no database."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("archive", type=Path, metavar="ARCHIVE")
        parser.add_argument("--execute", action="store_true", help="also run every single task again in the sandbox")

        parser.add_argument("--errata", type=Path, metavar="FILE", help="also check its errata log, errata.jsonl")
        parser.add_argument(
            "--errata-head", default="", metavar="HASH", help="the last hash of the log, from the release's page"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        archive: Path = options["archive"]
        if not archive.is_file():
            raise Stop(f"{archive} is not a file. Give the path of a release's archive.")
        if options["errata_head"] and options["errata"] is None:
            raise Stop("--errata-head is the last hash of an errata log. Give the log with --errata FILE.")
        report = verify_archive(archive)
        for problem in report.problems:
            self.say(problem)
        if report.ok:
            self.say(
                f"Verified: {counted(report.items, 'dialogue')} in {counted(report.files, 'file')}, "
                "complete and unchanged."
            )
        result = asdict(report)
        if options["errata"] is not None and result["ok"]:
            result |= self._errata(archive, options["errata"], options["errata_head"], result)
        if options["execute"] and result["ok"]:
            result |= self._execute(archive, result)
        self.tell(result)
        if not result["ok"]:
            raise SystemExit(REFUSED)

    def _errata(self, archive: Path, log: Path, head: str, result: dict[str, Any]) -> dict[str, Any]:
        """Check the errata log of a whole archive; return what changes in its result."""
        found = verify_errata(log, archive, head=head)
        for problem in found.problems:
            self.say(problem)
        if not found.problems:
            self.say(
                f"Verified the errata: {counted(found.errata, 'line')} about {counted(found.items, 'item')}, unchanged"
                + (", up to the given hash." if head else f". Compare the last hash: {found.head or 'none'}.")
            )
        return {
            "ok": not found.problems,
            "errata": found.errata,
            "errata_items": found.items,
            "errata_head": found.head,
            "problems": [*result["problems"], *found.problems],
        }

    def _execute(self, archive: Path, result: dict[str, Any]) -> dict[str, Any]:
        """Run the single tasks of a whole archive; return what changes in its result."""

        def run(runner: Runner, subject: Subject) -> Execution:
            return execute(runner, subject.tool, subject.start, subject.tool_calls)

        try:
            with Sandbox() as sandbox:
                found = execute_release(
                    archive, run, lambda trajectory, twice: sandbox.run_trajectory(trajectory, twice=twice)
                )
        except SandboxUnavailable as why:
            raise Stop(str(why)) from None
        for problem in found.problems:
            self.say(problem)
        if not found.problems:
            self.say(f"Run again: {counted(found.executed, 'single task')}, with the same results and states.")
        return {
            "ok": not found.problems,
            "executed": found.executed,
            "problems": [*result["problems"], *found.problems],
        }
