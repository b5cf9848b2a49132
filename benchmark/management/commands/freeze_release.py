"""``manage.py freeze_release --project SLUG --format NAME --release-version V --out DIR``"""

import os
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotator.core.wording import counted
from annotator.models import Job, JobState, Project
from benchmark.core.formats import WRITTEN
from benchmark.management.base import REFUSED, PipelineCommand, Stop
from benchmark.models import LeftOutDialogue, Release, ReleaseState
from benchmark.services.releases.freezing import what_differs
from benchmark.services.releases.layers import missing_count
from benchmark.services.releases.requests import archive_name, count_retired_gold, find_release, start_release
from benchmark.services.releases.runner import hand_out

#: Left-out dialogues listed on standard error; the release's page and the command's report have all of them.
_NAMED = 50


class Command(PipelineCommand):
    help = "Freeze the verified dialogues of a project as a release; needs no worker."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--project", required=True, metavar="SLUG")
        parser.add_argument("--format", required=True, choices=WRITTEN, help="the native format")
        # Not --version: that is Django's own.
        parser.add_argument("--release-version", required=True, metavar="V", help="for example 1.0")
        parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="folder for the archive")
        parser.add_argument("--require-all", action="store_true", help="fail if anything would be left out")
        parser.add_argument(
            "--leave-out-gold",
            action="store_true",
            help="leave out the answers of gold items in use (default: these gold items are retired)",
        )
        parser.add_argument(
            "--again", action="store_true", help="get the archive of an existing release, as it was frozen"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        project = Project.objects.filter(slug=options["project"]).first()
        if project is None:
            raise Stop(f"There is no project “{options['project']}”.")
        out: Path = options["out"].absolute()
        # Check before freezing: freezing makes answers public and retires gold items.
        there = next(folder for folder in (out, *out.parents) if folder.exists())
        if not there.is_dir():
            raise Stop(f"{there} is not a folder.")
        if not os.access(there, os.W_OK | os.X_OK):
            raise Stop(f"Can't write to {there}. Name another folder for the archive.")
        release = self._release(project, options)
        job = release.job
        if release.state != ReleaseState.FROZEN:
            job = self.run_here(release.job, progress=_progress)
            release.refresh_from_db()
        self._list_left_out(release)
        refused = ""
        if release.state != ReleaseState.FROZEN:
            refused = job.error if job.state != JobState.DONE else "The release was not frozen."
        elif options["require_all"] and (missing := missing_count(release)):
            refused = (
                f"{counted(missing, 'dialogue')} would be left out of this release, but --require-all allows none."
            )
        if refused:
            self.say(refused)
            self.tell({"items": 0, "left_out": release.left_out_count, "archive": None, "sha256": None})
            raise SystemExit(REFUSED)
        target = out / archive_name(release)
        hand_out(release, target)
        items = counted(release.item_count, "dialogue")
        self.say(f"Release {release.version}: {items}, {release.left_out_count:,} left out.")
        if retired := count_retired_gold(release):
            self.say(f"It makes known answers public, so it retired {counted(retired, 'gold item')}.")
        self.tell(
            {
                "items": release.item_count,
                "left_out": release.left_out_count,
                "archive": str(target),
                "sha256": release.sha256,
            }
        )

    def _release(self, project: Project, options: dict[str, Any]) -> Release:
        """Return the release with that version: a new one, an unfinished one, or the frozen one to be built again."""
        version, native_format = options["release_version"], options["format"]
        existing = find_release(project=project, version=version)
        if existing is None:
            return start_release(
                actor=None,
                project=project,
                version=version,
                native_format=native_format,
                require_all=options["require_all"],
                leave_out_gold=options["leave_out_gold"],
                wake_worker=False,
            )
        if existing.native_format != native_format:
            raise Stop(
                f"Release {version} already exists, in the format {existing.native_format}. Releases "
                "are never edited; choose the next version."
            )
        if existing.state == ReleaseState.FROZEN:
            self._say_it_exists(existing, again=options["again"])
        else:
            self.say(f"Release {version} is unfinished; continuing.")
        return existing

    def _say_it_exists(self, release: Release, *, again: bool) -> None:
        """Raise Stop if the dialogues verified now differ from the release, unless --again is given."""
        exists = f"Release {release.version} exists, frozen {release.frozen_at:%Y-%m-%d %H:%M} UTC"
        differs = what_differs(release)
        if differs and not again:
            raise Stop(
                f"{exists}, and the dialogues that are verified now differ from it: {differs}. Releases are "
                "never edited. Choose the next version, or add --again to get the archive as it was "
                "frozen."
            )
        now = f"The dialogues that are verified now {f'differ: {differs}' if differs else 'are the same'}"
        self.say(f"{exists}. {now}. Nothing new is frozen; you get its archive again.")

    def _list_left_out(self, release: Release) -> None:
        left_out = LeftOutDialogue.objects.filter(release=release).select_related("dialogue").order_by("pk")
        for row in left_out[:_NAMED]:
            self.say(f"  left out: {row.dialogue.external_id}: {row.reason}")
        if release.left_out_count > _NAMED:
            self.say(f"  … and {release.left_out_count - _NAMED:,} more, listed on the release's page.")


def _progress(job: Job) -> str:
    return f"{job.progress_done:,} of {counted(job.progress_total or 0, 'dialogue')}"
