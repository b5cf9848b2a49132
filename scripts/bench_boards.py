"""Measure the pages of scores with 50 runs over a release.

``python scripts/bench_boards.py ENTRIES`` measures on the database of ``DATABASE_URL``, which must be empty, and prints
JSON; with 20,000 entries, there are a million predictions.
"""

import gc
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

RUNS, CELLS, TIMES = 50, 40, 20
#: Title and budget in ms.
PAGES = {
    "board": ("leaderboard, 50 runs", 100),
    "board_slice": ("leaderboard of a slice", 100),
    "run": ("run, first wrong entries", 60),
    "run_deep": ("run, entries in the middle", 60),
    "entries": ("entries over all runs", 60),
    "entry": ("one entry of a run", 60),
}


def measure_boards(database: str, url: str, entries: int, data: Path) -> dict[str, Any]:
    """Measure in a process of its own. Return the times of each page in ms: median and 95th percentile."""
    environment = os.environ | {"DATABASE_URL": url, "ASSAY_DATA": str(data)}
    done = subprocess.run(
        [sys.executable, __file__, str(entries)], env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    return {"database": database, "entries": entries, "pages": json.loads(done.stdout)}


def boards_table(found: Sequence[dict[str, Any]]) -> list[str]:
    """Return the lines of the table: a column for each database and number of predictions."""
    heads = [f"{one['database']}, {RUNS * one['entries']:,}" for one in found]
    lines = ["Scores: predictions", f"{'':32}" + "".join(f"{head:>24}" for head in heads) + "   budget"]
    for key, (title, budget) in PAGES.items():
        cells = [f"{one['pages'][key][0]:.0f} / {one['pages'][key][1]:.0f} ms" for one in found]
        kept = all(one["pages"][key][1] <= budget for one in found)
        lines.append(
            f"{title:32}" + "".join(f"{cell:>24}" for cell in cells) + f"   ≤ {budget} ms{'' if kept else '  missed'}"
        )
    return lines


def main(entries: int) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotator.config.settings")
    import django

    django.setup()
    from django.conf import settings
    from django.core.management import call_command
    from django.test import Client

    settings.ALLOWED_HOSTS = ["*"]
    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    person, addresses = make_boards(entries)
    client = Client()
    client.force_login(person)
    # What the rows were made from is no part of a web server's memory.
    gc.collect()
    gc.freeze()
    found = {}
    for key, address in addresses():
        found[key] = _times(client, address)
    print(json.dumps(found))


def _times(client: Any, address: str) -> tuple[float, float]:
    seen = []
    for _ in range(TIMES + 1):
        begun = time.perf_counter()
        response = client.get(address)
        seen.append(1000 * (time.perf_counter() - begun))
        if response.status_code != 200:
            raise SystemExit(f"{address} answered {response.status_code}.")
    ranked = sorted(seen[1:])
    return ranked[len(ranked) // 2], ranked[int(0.95 * len(ranked))]


def make_boards(entries: int) -> tuple[Any, Callable[[], Iterator[tuple[str, str]]]]:
    """Make a project with a release, runs, predictions, scores and figures. Return a person and the addresses."""
    from django.db import connection, transaction
    from django.utils import timezone

    from annotator.models import Job, Role, User
    from annotator.services.members import grant_role
    from annotator.services.projects import create_project
    from benchmark.core.scoring.statistics import mcnemar
    from benchmark.models import EntryStatistic, Figure, Prediction, Release, Run, RunPair, Score, ScoreSet
    from benchmark.services.runs.boards import COLUMNS

    chance = random.Random(1)  # noqa: S311 - test data
    project = create_project(actor=None, name="Bench", slug="bench")
    person = User.objects.create_user(username="bench")
    grant_role(actor=None, project=project, user=person, role=Role.ADMINISTRATOR)
    job = Job.objects.create(project=project, kind="release", state="done", ended_at=timezone.now())
    release = Release.objects.create(
        project=project, job=job, version="1.0", native_format="wild", state="frozen", sha256="0" * 64, frozen={},
        archive="none.zip",
    )  # fmt: skip
    columns = [*COLUMNS["wild"], *(("policy", f"cell {number}") for number in range(CELLS))]
    said = [{"calls": [{"name": "find", "arguments": '{"text": "x"}'}], "content": None, "error": None}] * 3
    detail = {"task": 0, "label": "error", "action_label": "error", "nodes": 3, "stop": None, "deviation": "x" * 200,
              "ours": {"label": "error", "matched": 0, "fewest_rounds": 3}, "strict": {"label": "error"},
              "c3": {"label": "error", "error_type": "early stop"}, "arguments": None}  # fmt: skip
    names = [f"d{number // 4}#{number % 4}" for number in range(entries)]
    sets = []
    for number in range(RUNS):
        with transaction.atomic():
            run = Run.objects.create(
                release=release, release_sha256=release.sha256, model=f"model {number}", family="wild", language="en",
                complete=True,
            )  # fmt: skip
            of_run = ScoreSet.objects.create(
                run=run, version=1, entries=entries, right=entries * number // RUNS, complete=True
            )
            sets.append(of_run)
            predictions = Prediction.objects.bulk_create(
                (Prediction(run=run, entry=name, content=said) for name in names), batch_size=2_000
            )
            Score.objects.bulk_create(
                (
                    Score(
                        score_set=of_run, prediction=one, entry=one.entry, right=chance.random() < number / RUNS,
                        error="early stop", said="abcdef", detail=detail,
                    )
                    for one in predictions
                ),
                batch_size=2_000,
            )  # fmt: skip
            Figure.objects.bulk_create(
                Figure(
                    score_set=of_run, name=name, cell=cell, n=entries, value=number / RUNS, low=number / RUNS - 0.01,
                    high=number / RUNS + 0.01,
                )
                for name, cell in columns
            )  # fmt: skip
    RunPair.objects.bulk_create(
        RunPair(first=one, second=other, n=entries, only_first=10, only_second=500, p=mcnemar(10, 500))
        for place, one in enumerate(sets) for other in sets[place + 1 :]
    )  # fmt: skip
    EntryStatistic.objects.bulk_create(
        (
            EntryStatistic(release=release, family="wild", language="en", entry=name, runs=RUNS, right=RUNS // 2)
            for name in names
        ),
        batch_size=2_000,
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    middle = sets[RUNS // 2]
    score = middle.scores.order_by("pk")[entries // 2]
    board, run_page = f"/p/bench/releases/{release.public_id}/scores/", f"/p/bench/runs/{middle.run.public_id}/"

    def addresses() -> Iterator[tuple[str, str]]:
        yield "board", board
        yield "board_slice", f"{board}?slice=policy%3Dcell%203"
        yield "run", f"{run_page}?outcome=wrong"
        yield "run_deep", f"{run_page}?outcome=all&after={_cursor(score)}"
        yield "entries", f"/p/bench/releases/{release.public_id}/entries/"
        yield "entry", f"{run_page}entries/{score.pk}/"

    return person, addresses


def _cursor(score: Any) -> str:
    """Return the cursor after a score."""
    from annotator.services.database.keyset import BY_KEY, read_page

    rows = type(score).objects.filter(score_set=score.score_set_id, pk__gte=score.pk)
    return str(read_page(rows, size=1, by=BY_KEY).after)


if __name__ == "__main__":
    main(int(sys.argv[1]))
