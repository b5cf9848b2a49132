"""``manage.py compose_tasks SINGLES.jsonl --kind similar|cross --size N --per-stratum Q --seed S``"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotator.management.base import REFUSED, SentenceCommand, Stop
from annotator.management.single_tasks import read_rows
from benchmark.core.composing.drawing import SIZES, CannotCompose, Kind, Single, compose, coverage, strata


class Command(SentenceCommand):
    help = (
        "Draw composites from single tasks: so many for each category (similar) or set of categories (cross), no "
        "combination twice, rarely used tasks first. Writes one composite per line. Needs no database."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("singles", metavar="SINGLES.jsonl", help="single tasks, one per line")
        parser.add_argument("--kind", required=True, choices=[kind.value for kind in Kind])
        parser.add_argument("--size", required=True, type=int, choices=SIZES, help="tasks of a composite")
        parser.add_argument("--per-stratum", required=True, type=int, metavar="Q", help="composites of each stratum")
        parser.add_argument("--seed", required=True, type=int, metavar="S", help="the same seed gives the same draw")
        parser.add_argument("--dry-run", action="store_true", help="write the strata with their combinations only")

    def handle(self, *args: Any, **options: Any) -> None:
        singles = [_read(number, row) for number, row in read_rows(Path(options["singles"]))]
        kind, size, quota = Kind(options["kind"]), options["size"], options["per_stratum"]
        try:
            offered = strata(singles, kind, size, quota)
            drawn = [] if options["dry_run"] else compose(singles, kind, size, quota, options["seed"])
        except CannotCompose as error:
            raise Stop(str(error)) from None
        if options["dry_run"]:
            for stratum in offered:
                row = {"stratum": stratum.categories, "combinations": stratum.combinations, "short": stratum.short}
                self._write(row)
        for composite in drawn:
            self._write({**asdict(composite), "size": len(composite.tasks)})
        used = coverage(singles, [composite.tasks for composite in drawn]).singles
        short = [stratum for stratum in offered if stratum.short]
        self.say(
            f"Strata: {len(offered):,}; composites: {len(drawn):,}; single tasks used: "
            f"{sum(map(bool, used.values())):,} of {len(used):,}; strata with too few combinations: {len(short):,}."
        )
        for stratum in short:
            self.say(f"{' × '.join(stratum.categories)}: {stratum.short:,} missing of {quota:,}.")
        if short:
            raise SystemExit(REFUSED)

    def _write(self, row: dict[str, Any]) -> None:
        self.stdout.write(json.dumps(row, ensure_ascii=False))


def _read(number: int, row: Any) -> Single:
    if not isinstance(row, dict):
        raise Stop(f"Line {number}: a single task must be an object.")
    for key in ("id", "category"):
        if not isinstance(row.get(key), str) or not row[key]:
            raise Stop(f"Line {number}: /{key} must be a text.")
    calls = row.get("ground_truth")
    if not isinstance(calls, list):
        raise Stop(f"Line {number}: /ground_truth must be a list of calls.")
    source = row.get("source")
    family = source.get("dataset") if isinstance(source, dict) else ""
    return Single(row["id"], row["category"], len(calls), family if isinstance(family, str) else "")
