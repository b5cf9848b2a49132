"""The data card of a release: README.md with dataset front matter, from what was frozen."""

from collections.abc import Sequence
from typing import Any

from annotator.core.wording import counted
from benchmark.core.archives.table import ROW_COLUMNS, TABLE
from benchmark.models import Release
from benchmark.services.releases.items import NOT_NATIVE

_SIZES = (
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
)
_BREAKDOWNS = (
    ("by_policy", "Policy of the task"),
    ("by_topology", "Topology of multi-tool tasks"),
    ("by_information", "How a task hides what it needs"),
    ("by_tasks", "Tasks of the dialogue"),
    ("by_entry_switches", "Policy switches up to an entry's task"),
)
CHECK_FILES = "check_code/"
DRAWS = "draws.jsonl"
_FILES = {
    "dialogues.jsonl": "Assay's own documents, complete",
    CHECK_FILES: "for each dialogue, the files that check its constraints: parameters (.json) and code (.py)",
    TABLE: (
        "all dialogues again, one per row, with `document` and `tools` as JSON texts, so that "
        "every column has one type: for `datasets.load_dataset`"
    ),
    "items.jsonl": "for each dialogue, the hash of the verified revision and the stages it passed",
    DRAWS: (
        "for each draw whose items are all reviewed, the ids it was made from, in the order "
        "in which they were hashed, and which were drawn"
    ),
    "SHA256SUMS": "checksums for `sha256sum --check`",
    "manifest.json": "every file's checksum, the protocol, the draws, the counts",
}


def write_card(release: Release, data_files: Sequence[str], not_native: int = 0) -> str:
    """Return the card, in Markdown. ``data_files``: the files of dialogues.

    ``not_native``: how many dialogues have fields that no native record has.
    """
    frozen = release.frozen
    counts, project = frozen["counts"], frozen["project"]
    size = next((name for limit, name in _SIZES if counts["dialogues"] < limit), "n>1M")
    languages = [code for code in counts["by_language"] if code != "none"]
    front = [
        "---",
        f"pretty_name: {_quoted(project['name'] + ' ' + release.version)}",
        *(["language:", *(f"  - {code}" for code in languages)] if languages else []),
        "tags:",
        "  - tool-use",
        "  - function-calling",
        "  - benchmark",
        "size_categories:",
        f"  - {_quoted(size)}",
        *_TABLE_CONFIG,
        "---",
    ]
    body = [
        f"# {_plain(project['name'])}, release {release.version}",
        *([_plain(project["description"])] if project["description"].strip() else []),
        f"{counted(counts['dialogues'], 'verified tool-use dialogue')}, "
        f"{counted(counts['entries'], 'entry', 'entries')} (a dialogue up to and including one of its tasks), "
        f"{counted(counts['calls'], 'call')}. Frozen {frozen['frozen_at']}.",
        *_not_native(not_native),
        "## Contents",
        "\n".join(f"- `{name}`: {_described(name, release)}" for name in _listed(release, data_files)),
        "## How it was verified",
        _protocol(release),
        *_accuracy(frozen["figures"]),
        *_revisions(frozen["figures"]),
        *(
            f"### {title}\n\n| | number |\n|---|---|\n"
            + "\n".join(f"| {_cell(value)} | {number:,} |" for value, number in counts[name].items())
            for name, title in _BREAKDOWNS
            if counts.get(name)
        ),
        "## Verify this release",
        (
            "`manifest.json` and `SHA256SUMS` contain the SHA-256 of every file. With Assay, "
            "`manage.py verify_release ARCHIVE` checks the whole archive offline."
        ),
        "## Not for training",
        "Every record contains this canary; a model that can complete it has seen this data in training:",
        f"    {release.canary}",
    ]
    return "\n".join(front) + "\n\n" + "\n\n".join(body) + "\n"


def has_populations(release: Release) -> bool:
    """Return whether there are draws whose members the archive may name."""
    return bool(release.frozen["populations"])


def _not_native(dialogues: int) -> list[str]:
    if not dialogues:
        return []
    return [
        (
            f"Some fields of {counted(dialogues, 'dialogue')} are not in the native records: the "
            "languages of one record differ there, the format has a field of that name, or a "
            "file has the number of a constraint that was added later. `dialogues.jsonl` has "
            f"these fields; `items.jsonl` lists them under `{NOT_NATIVE}`."
        )
    ]


#: One configuration, which loads without a name. Without the types, a loader reads texts that look like dates as times.
_TABLE_CONFIG = [
    "configs:",
    "  - config_name: default",
    "    data_files:",
    "      - split: test",
    f"        path: {TABLE}",
    "dataset_info:",
    "  features:",
    *(f"    - name: {column}\n      dtype: string" for column in ROW_COLUMNS),
]


def _listed(release: Release, data_files: Sequence[str]) -> list[str]:
    beside = [CHECK_FILES] if release.native_format == "cctu" else []
    unlisted = [] if has_populations(release) else [DRAWS]
    return [*data_files, *beside, TABLE, *(name for name in list(_FILES)[3:] if name not in unlisted)]


def _described(name: str, release: Release) -> str:
    if name in _FILES:
        return _FILES[name]
    return f"the dialogues in the format {release.native_format}, for its published evaluators"


def _protocol(release: Release) -> str:
    out = []
    for protocol in release.frozen["protocols"]:
        stages = protocol["definition"].get("stages", [])
        out.append(
            f"By {_named(protocol)}, SHA-256 `{protocol['hash']}`):\n\n"
            + "\n".join(
                f"{n}. {_plain(str(stage.get('title') or stage.get('key')))}" for n, stage in enumerate(stages, 1)
            )
        )
    for draw in release.frozen["draws"]:
        out.append(
            f"Draw {draw['number']} of the stage `{draw['stage']}`: {draw['sample_size']:,} of "
            f"{draw['population_size']:,}, with the seed `{draw['seed']}`, drawn after the population was closed "
            f"(SHA-256 `{draw['population_hash']}`)."
        )
    return "\n\n".join(out)


def _named(protocol: dict[str, Any]) -> str:
    """Return the protocol's name and number, up to the bracket's last part."""
    preset, number = protocol["preset"], protocol["number"]
    origin = f", based on the preset {preset}" if preset else ""
    return f"the project's protocol “{_plain(protocol['name'])}” (version {number}{origin}"


def _accuracy(figures: dict[str, Any]) -> list[str]:
    """Return the accuracy curve, if there is one."""
    points = figures["accuracy"]["by_stage"]
    if not any(point["of"] for point in points):
        return []
    rows = [
        f"| {_cell(point['title'])} | {point['right']:,} of {point['of']:,} | {_share(point['accuracy'])} |"
        for point in points
    ]
    table = "\n".join(["| after | correct | accuracy (95 % interval) |", "|---|---|---|", *rows])
    return ["### Accuracy by stage", figures["notes"]["accuracy"], table]


def _revisions(figures: dict[str, Any]) -> list[str]:
    """Return revised items by the rounds they needed, if the protocol had stages that repeat after a change."""
    stages = [one for one in figures["revision_rounds"] if one["items"]]
    if not stages:
        return []
    rounds = range(1, max(2, *(int(number) for one in stages for number in ("1", *one["revised"]))) + 1)
    pools = any(one["not_drawn"] for one in stages)
    rows = [
        f"| {_cell(one['title'])} | {one['items']:,} | "
        + (f"{one['not_drawn']:,} | " if pools else "")
        + "".join(f"{one['revised'].get(str(number), 0):,} | " for number in rounds)
        + f"{sum(one['revised'].values()):,} | {_share(one['rate'])} |"
        for one in stages
    ]
    heads = "".join(f"{number} round{'s' if number > 1 else ''} | " for number in rounds)
    table = "\n".join(
        [
            f"| stage | items | {'not drawn | ' if pools else ''}{heads}revised | revision rate (95 % interval) |",
            "|" + "---|" * (len(rounds) + 4 + pools),
            *rows,
        ]
    )
    return ["### Revisions by stage", figures["notes"]["revision_rounds"], table]


def _share(figure: dict[str, Any]) -> str:
    if figure["value"] is None:
        return "–"
    value, low, high = (100 * (figure[name] or 0) for name in ("value", "low", "high"))
    return f"{value:.1f} % ({low:.1f} to {high:.1f})"


def _plain(text: str) -> str:
    """Return a text on one line, escaped for Markdown."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>#|" else c for c in " ".join(text.split()))


def _cell(text: str) -> str:
    return _plain(text) or "–"


def _quoted(text: str) -> str:
    """Return a YAML string in double quotes."""
    escaped = " ".join(text.split()).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
