"""``manage.py score_release REFERENCES PREDICTIONS … --family F [--language L] [--strip-think] --out DIR``"""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotator.core.sandbox import SandboxUnavailable
from annotator.core.schema.exact_json import dumps
from annotator.management.base import REFUSED, Stop
from benchmark.core.scoring.arguments import NoScoringLibraries
from benchmark.core.scoring.records import Unreadable
from benchmark.core.scoring.scoring_run import FAMILIES, Options, score_files
from benchmark.management.base import PipelineCommand
from benchmark.services.stored_files import written_whole

#: Refused records named on standard error.
_NAMED = 20


class Command(PipelineCommand):
    help = (
        "Score predictions against a release or its native files, as the published evaluators do and as the papers "
        "describe it. Writes entries.jsonl and summary.json; needs no database."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "references", type=Path, metavar="REFERENCES", help="release archive, native file, or folder (cctu, async)"
        )
        parser.add_argument(
            "predictions", type=Path, nargs="+", metavar="PREDICTIONS", help="files or folders of predictions"
        )
        parser.add_argument("--family", required=True, choices=FAMILIES)
        parser.add_argument("--language", choices=("en", "zh"), help="score every run in this language")
        parser.add_argument("--strip-think", action="store_true", help="leave out <think>…</think>")
        parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write to")

    def handle(self, *args: Any, **options: Any) -> None:
        folder: Path = options["out"]
        for path in (options["references"], *options["predictions"]):
            if not path.exists():
                raise Stop(f"{path} does not exist.")
        if folder.exists() and not folder.is_dir():
            raise Stop(f"Can’t write to {folder}: it is a file. Give a folder.")
        folder.mkdir(parents=True, exist_ok=True)
        chosen = Options(options["family"], options["language"], strip_think=options["strip_think"])
        try:
            with written_whole((folder / "entries.jsonl").absolute()) as entries:
                summary, outcome = score_files(options["references"], options["predictions"], chosen, entries)
        except (Unreadable, SandboxUnavailable, NoScoringLibraries) as error:
            raise Stop(str(error)) from None
        with written_whole((folder / "summary.json").absolute()) as file:
            file.write(dumps(summary) + b"\n")
        for sentence in outcome.listed[:_NAMED]:
            self.say(sentence)
        if len(outcome.listed) > _NAMED:
            self.say("  … and more; summary.json lists them.")
        self.tell(outcome.as_line())
        if outcome.problems or outcome.foreign:
            raise SystemExit(REFUSED)
