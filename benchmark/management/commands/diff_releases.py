"""``manage.py diff_releases A B [--json F] [--html F]``"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotator.core.wording import counted
from annotator.management.base import Stop, require_different_files
from benchmark.core.archives.difference import Difference, suggestion_values, write_json
from benchmark.core.archives.differing import compare_archives
from benchmark.core.archives.readable_difference import category_words, write_html
from benchmark.core.files.limits import SourceError
from benchmark.management.base import PipelineCommand
from benchmark.services.stored_files import written_whole


class Command(PipelineCommand):
    help = (
        "Say what changed from one release to another, and which version number fits; needs no database. A and B are "
        "archives. Check them with verify_release first: of unchanged dialogues, only the hashes are compared."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("before", type=Path, metavar="A", help="the older release's archive")
        parser.add_argument("after", type=Path, metavar="B", help="the newer release's archive")
        parser.add_argument("--json", type=Path, metavar="F", help="write every change to this file, as JSON")
        parser.add_argument("--html", type=Path, metavar="F", help="write a page to read, print or send")

    def handle(self, *args: Any, **options: Any) -> None:
        before, after, as_json, as_html = (options[name] for name in ("before", "after", "json", "html"))
        for path in (before, after):
            if not path.is_file():
                raise Stop(f"{path} is not a file. Give the path of a release's archive.")
        for path in (as_json, as_html):
            if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
                raise Stop(f"Can't write {path}: it is a folder, or its folder does not exist.")
            require_different_files(before, path)
            require_different_files(after, path)
        require_different_files(as_json, as_html)
        try:
            with compare_archives(before, after) as difference:
                if as_json is not None:
                    with written_whole(as_json.absolute()) as file:
                        file.writelines(write_json(difference))
                if as_html is not None:
                    with written_whole(as_html.absolute()) as file:
                        file.writelines(piece.encode() for piece in write_html(difference))
                self._say(difference)
        except SourceError as error:
            raise Stop(str(error)) from None

    def _say(self, difference: Difference) -> None:
        counts, suggestion = difference.counts, difference.suggestion
        if difference.before.project != difference.after.project:
            self.say(
                f"These are releases of different projects: {difference.before.project} and {difference.after.project}."
            )
        self.say(
            f"From {difference.before.version} to {difference.after.version}: {counted(counts.added, 'dialogue')} "
            f"added, {counts.removed:,} removed, {counts.changed:,} changed, {counts.unchanged:,} unchanged."
        )
        for category, count in difference.categories.items():
            self.say(f"  {category_words(category)}: changed in {counted(count, 'dialogue')}")
        fitting = suggestion.version or f"a {suggestion.level} step"
        self.say(f"Suggested version after {difference.before.version}: {fitting}. {suggestion.reason}")
        self.tell(asdict(counts) | {"suggestion": suggestion_values(suggestion)})
