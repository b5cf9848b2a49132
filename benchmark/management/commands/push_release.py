"""``manage.py push_release ARCHIVE TARGET``"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.core.management.base import CommandParser

from annotator.core.wording import counted
from benchmark.core.archives.verifying import verify_archive
from benchmark.core.files.limits import SourceError
from benchmark.core.pushing.pushing import plan, push, unpack
from benchmark.core.pushing.target import PushError
from benchmark.core.pushing.targets import open_target
from benchmark.management.base import REFUSED, PipelineCommand, Stop


class Command(PipelineCommand):
    help = (
        "Send the files of a release to a Hugging Face repository, a git repository, an S3-compatible store or a "
        "folder; needs no database. The same command continues a push that was interrupted. Tokens are read from the "
        "environment: HF_TOKEN, GIT_TOKEN, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("archive", type=Path, metavar="ARCHIVE")
        parser.add_argument("target", metavar="TARGET", help="hf:OWNER/NAME, git+https://…, s3://BUCKET/PREFIX, a path")
        parser.add_argument("--private", action="store_true", help="create the Hugging Face repository as private")
        parser.add_argument("--dry-run", action="store_true", help="only list what would be sent")

    def handle(self, *args: Any, **options: Any) -> None:
        archive: Path = options["archive"]
        if not archive.is_file():
            raise Stop(f"{archive} is not a file. Give the path of a release's archive.")
        try:
            with _ended_cleanly(), TemporaryDirectory(prefix="assay-push-") as folder:
                self._push(archive, Path(folder), options)
        except (PushError, SourceError) as error:
            raise Stop(str(error)) from None
        except KeyboardInterrupt:
            raise Stop("Interrupted. Run the same command again to continue.") from None

    def _push(self, archive: Path, folder: Path, options: dict[str, Any]) -> None:
        target = open_target(options["target"], os.environ, private=options["private"])
        report = verify_archive(archive)
        if not report.ok:
            for problem in report.problems:
                self.say(problem)
            raise Stop("The archive is damaged, so nothing was sent. Download or build it again.")
        release = unpack(archive, folder)
        missing = plan(target, release)
        result = {"target": options["target"], "version": release.version, "files": len(release.files)}
        if options["dry_run"]:
            for file in release.files:
                self.tell({"path": file.path, "bytes": file.bytes, "send": file in missing})
            self.say(f"Nothing was sent: {counted(len(missing), 'file')} would be sent to {target.url}.")
            skipped = len(release.files) - len(missing)
            self.tell({**result, "sent": 0, "skipped": skipped, "verified": 0, "url": target.url})
            return
        done = push(target, release, missing, lambda what: self.say(f"Sending {what}."))
        for path in done.damaged:
            self.say(f"{path} differs at {target.url} from the release.")
        if done.damaged:
            self.say("The push is not complete. Run the command again; if files differ again, check the server.")
        elif missing:
            self.say(f"Sent and compared: release {release.version} is at {target.url}.")
        else:
            self.say(f"Release {release.version} is already at {target.url}. Nothing was sent.")
        counts = {"sent": done.sent, "skipped": done.skipped, "verified": done.verified}
        self.tell({**result, **counts, "url": target.url})
        if done.damaged:
            raise SystemExit(REFUSED)


@contextmanager
def _ended_cleanly() -> Iterator[None]:
    """Treat SIGTERM as Ctrl-C, so that unpacked files are removed."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
