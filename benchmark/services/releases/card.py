"""The data card of a release: README.md with dataset front matter, from what was frozen."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any

from annotator.core.wording import counted
from benchmark.core.archives.citation import CITATION
from benchmark.core.archives.croissant import CROISSANT
from benchmark.core.archives.description import LICENCES, ORCID_URL, OWN_LICENCE, Author, Description
from benchmark.core.archives.entry_files import ENTRIES_FILE, lines_path
from benchmark.core.archives.entry_rows import NOT_SCORED, OTHER_KIND
from benchmark.core.archives.errata import ERRATA
from benchmark.core.archives.message_copies import COPY
from benchmark.core.archives.quoting import markdown_code, markdown_paragraphs, markdown_text, yaml_text
from benchmark.core.archives.table import CHALLENGES, DEFAULT, ENTRIES, LABELS, SPLIT, Table, table_path
from benchmark.core.scoring.challenges import FIRST_TASK, NOT_MULTI_TOOL, TOO_MANY_TASKS
from benchmark.models import Release
from benchmark.services.dataset_statistics.releases import STATISTICS
from benchmark.services.releases.card_figures import figure_sections
from benchmark.services.releases.card_statistics import statistics_sections
from benchmark.services.releases.coverage import coverage_section
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
LICENCE = "LICENSE"
_FILES = {
    "dialogues.jsonl": "Assay's own documents, complete",
    CHECK_FILES: "for each dialogue, the files that check its constraints: parameters (.json) and code (.py)",
    COPY: "the dialogues as messages of the OpenAI chat API, with their calls",
    table_path(DEFAULT): (
        "all dialogues, one per row, with their labels; `document` and `tools` are JSON texts, so that every column "
        "has one type in every release"
    ),
    ENTRIES_FILE: (
        "a row for each entry: its id as in scores, labels, request and reference. `history_messages` says how many "
        f"messages of the dialogue in `{COPY}` come before the request"
    ),
    table_path(ENTRIES): f"the same as `{ENTRIES_FILE}`, with `reference` as a JSON text",
    "items.jsonl": "for each dialogue, the hash of the verified revision and the stages it passed",
    DRAWS: (
        "for each draw whose items are all reviewed, the ids it was made from, in the order "
        "in which they were hashed, and which were drawn"
    ),
    LICENCE: "the licence of the data",
    ERRATA: "errors that were found later; empty when the release was frozen",
    CROISSANT: "the tables, described in Croissant 1.1",
    CITATION: "how to cite this release, for programs",
    "SHA256SUMS": "checksums for `sha256sum --check`",
    "manifest.json": "every file's checksum, the protocol, the draws, the counts",
}
_NO_LICENCE = (
    "**No licence.** The project chose no licence for this release, so nothing says what others may do with the data. "
    "Ask its authors before you use it."
)


@dataclass(frozen=True, slots=True)
class Written:
    """What the archive contains. ``data_files``: the files of dialogues; ``messages``: how many dialogues are also
    messages, None if the native records are messages; ``not_native``: how many dialogues have fields that no native
    record has; ``entries``: the summary of ``EntryRows``, None in a layout without entries.
    """

    data_files: Sequence[str]
    tables: Sequence[Table]
    messages: int | None
    not_native: int
    entries: dict[str, Any] | None


def write_card(release: Release, description: Description, written: Written) -> str:
    """Return the card, in Markdown."""
    frozen, settings = release.frozen, description.settings
    counts = frozen["counts"]
    body = [
        f"# {markdown_text(description.title)}",
        *([] if settings.licence else [_NO_LICENCE]),
        *([markdown_text(description.about)] if description.about.strip() else []),
        f"{counted(counts['dialogues'], 'verified tool-use dialogue')}, "
        f"{counted(counts['entries'], 'entry', 'entries')} (a dialogue up to and including one of its tasks), "
        f"{counted(counts['calls'], 'call')}. Frozen {frozen['frozen_at']}.",
        *_not_native(written.not_native),
        *_not_messages(counts["dialogues"], written.messages),
        "## Load it",
        _loading(written.tables),
        "## Contents",
        "\n".join(f"- `{name}`: {_described(name, release)}" for name in _listed(release, description, written)),
        *_entries(written),
        *_custom_fields(frozen.get("custom_fields", [])),
        "## How it was verified",
        _protocol(release),
        *figure_sections(frozen["figures"]),
        *(
            f"### {title}\n\n| | number |\n|---|---|\n"
            + "\n".join(f"| {_cell(value)} | {number:,} |" for value, number in counts[name].items())
            for name, title in _BREAKDOWNS
            if counts.get(name)
        ),
        *coverage_section(frozen),
        *statistics_sections(frozen.get(STATISTICS)),
        *_section("Limits", settings.limits),
        *_section("Annotators", settings.demographics),
        *_licence(description),
        *(["## Authors", "\n".join(map(_author, settings.authors))] if settings.authors else []),
        "## Citation",
        markdown_code(description.citation),
        "## Verify this release",
        (
            "`manifest.json` and `SHA256SUMS` contain the SHA-256 of every file. With Assay, "
            "`manage.py verify_release ARCHIVE` checks the whole archive offline."
        ),
        "## Not for training",
        "Every record contains this canary; a model that can complete it has seen this data in training:",
        f"    {release.canary}",
    ]
    return "\n".join(_front_matter(release, description, written)) + "\n\n" + "\n\n".join(body) + "\n"


def languages_of(release: Release) -> list[str]:
    """Return the codes of the languages of a release."""
    return [code for code in release.frozen["counts"]["by_language"] if code != "none"]


def _front_matter(release: Release, description: Description, written: Written) -> list[str]:
    """Return the lines that loaders and the Hugging Face Hub read."""
    settings, languages = description.settings, languages_of(release)
    dialogues = release.frozen["counts"]["dialogues"]
    size = next((name for limit, name in _SIZES if dialogues < limit), "n>1M")
    licence: list[str] = []
    if settings.licence in LICENCES:
        licence = [f"license: {LICENCES[settings.licence].hub}"]
    elif settings.licence == OWN_LICENCE:
        licence = ["license: other", f"license_name: {description.slug}", f"license_link: {LICENCE}"]
    authors: list[str] = []
    for author in settings.authors:
        authors.append(f"  - name: {yaml_text(author.full)}")
        authors += [f"    orcid: {author.orcid}"] if author.orcid else []
        authors += [f"    affiliation: {yaml_text(author.affiliation)}"] if author.affiliation else []
    return [
        "---",
        f"pretty_name: {yaml_text(f'{description.project} {description.version}')}",
        *licence,
        *(["language:", *(f"  - {yaml_text(code)}" for code in languages)] if languages else []),
        *(["authors:", *authors] if authors else []),
        f"citation: {yaml_text(description.citation)}",
        "tags:",
        "  - tool-use",
        "  - function-calling",
        "  - benchmark",
        "size_categories:",
        f"  - {yaml_text(size)}",
        "configs:",
        *(
            "\n".join([f"  - config_name: {config}", "    data_files:", *map(_split, splits)])
            for config, splits in groupby(written.tables, key=attrgetter("config"))
        ),
        "---",
    ]


def _split(table: Table) -> str:
    return f"      - split: {table.split}\n        path: {table.path}"


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


def _not_messages(dialogues: int, messages: int | None) -> list[str]:
    if messages is None or messages == dialogues:
        return []
    left = counted(dialogues - messages, "dialogue")
    return [f"{left} cannot be written as messages of the OpenAI chat API, so `{COPY}` {_lacks(messages)}."]


def _lacks(messages: int) -> str:
    return f"has the other {messages:,}" if messages else "is not part of this release"


def _entries(written: Written) -> list[str]:
    """Return how many entries there are, which of them each challenge has, and why others are left out."""
    if written.entries is None:
        return []
    found = [
        "## Entries",
        f"`{ENTRIES_FILE}` has {counted(written.entries['entries'], 'row')}: one for each task in each language, case, "
        f"single task and composite. {_not_scored(written.entries['not_scored'])}",
    ]
    if not any(table.config == CHALLENGES for table in written.tables):
        return found
    rows = [
        f"| `{name}` | {_CHALLENGES[name]} | {one['entries']:,} | {one['dialogues']:,} | "
        + (", ".join(f"{number:,} {_REASONS[why]}" for why, number in one["excluded"].items()) or "–")
        + " |"
        for name, one in written.entries["challenges"].items()
    ]
    heads = ["| file | entries and their history | entries | dialogues | left out |", "|---|---|---|---|---|"]
    return [*found, "\n".join([*heads, *rows])]


def _not_scored(number: int) -> str:
    if not number:
        return "The scorers can use the reference of each."
    return f"The scorers cannot use the reference of {number:,}: `not_scored` says why."


_CHALLENGES = {
    "challenge_1": "C3-Bench’s challenge 1: one to four tasks, the last of which needs several tools; with calls",
    "challenge_2": "C3-Bench’s challenge 2: two to four tasks; only what user and model said",
    "challenge_3": "C3-Bench’s challenge 3: the same as in 2, with calls",
    "history_answers": "one to four tasks; only what user and model said",
    "history_calls": "one to four tasks, as WildToolBench shows them: with calls",
}
_REASONS = {
    FIRST_TASK: "without an earlier task",
    TOO_MANY_TASKS: "with more than four tasks",
    NOT_MULTI_TOOL: "whose last task is not labelled as needing several tools",
    NOT_SCORED: "without a usable reference",
    OTHER_KIND: "of another kind",
}


def _loading(tables: Sequence[Table]) -> str:
    lines = [
        f'- `load_dataset(FOLDER, split="{SPLIT}")` gives all dialogues with their labels. FOLDER is the unpacked '
        "archive.",
        *(
            f'- `load_dataset(FOLDER, "{config}", split="{split}")` gives {_given(config, split)}'
            for config, split in tables
            if config != DEFAULT
        ),
        f"- The tables are Parquet files. `{CROISSANT}` describes them for Croissant's loaders.",
    ]
    return "\n".join(lines)


def _given(config: str, split: str) -> str:
    if config == ENTRIES:
        return "a row for each entry."
    if config == CHALLENGES:
        return f"the entries of {split} with their messages; `messages`, `tools` and `reference` are JSON texts."
    if config == LABELS:
        return "the answers to the project’s own questions, one in a row."
    return f"the records in the format {config}: each row has an `id` and the `record` as a JSON text."


def _listed(release: Release, description: Description, written: Written) -> list[str]:
    beside = [CHECK_FILES] if release.native_format == "cctu" else []
    unlisted = set() if has_populations(release) else {DRAWS}
    unlisted |= set() if description.settings.licence == OWN_LICENCE else {LICENCE}
    tables = [table.path for table in written.tables]
    entries = [lines_path(table) for table in written.tables if table.config in (ENTRIES, CHALLENGES)]
    rest = [name for name in list(_FILES)[6:] if name not in unlisted]
    return [*written.data_files, *beside, *entries, *tables, *rest]


def _described(name: str, release: Release) -> str:
    form = release.native_format
    if name == table_path(form):
        return f"the records in the format {form}, one per row: `id`, and the `record` as a JSON text"
    if name == table_path(LABELS):
        return (
            "the answers to the project’s own questions, one in a row: `text`, `number` or `values` by their type; "
            "`spans` is a JSON text"
        )
    if name.startswith(f"{CHALLENGES}/"):
        return "these entries, each with the messages that a model answers, the tools, and the reference apart"
    if name.startswith(f"data/{CHALLENGES}/"):
        return "the same as a table, with `messages`, `tools` and `reference` as JSON texts"
    if name in _FILES and not (name == COPY and form == "openai"):
        return _FILES[name]
    return f"the dialogues in the format {form}, for its published evaluators"


def _section(title: str, text: str) -> list[str]:
    return [f"## {title}", markdown_paragraphs(text)] if text.strip() else []


def _licence(description: Description) -> list[str]:
    licence = description.settings.licence
    if licence == OWN_LICENCE:
        return ["## Licence", f"The project's own licence is in the file `{LICENCE}`."]
    if licence in LICENCES:
        return ["## Licence", f"[{licence}]({LICENCES[licence].url}): {LICENCES[licence].title}."]
    return []


def _author(author: Author) -> str:
    parts = [markdown_text(author.full), markdown_text(author.affiliation)]
    parts += [f"[ORCID {author.orcid}]({ORCID_URL}{author.orcid})"] if author.orcid else []
    return f"- {', '.join(part for part in parts if part)}"


def _custom_fields(fields: Sequence[dict[str, Any]]) -> list[str]:
    """Return the questions that the project asked, whose answers are the ``labels`` of documents."""
    if not fields:
        return []
    rows = [
        f"| `{one['key']}` | {_cell(one['title'])} | {one['type']} | {one['scope']} | {_cell(_answers(one))} |"
        for one in fields
    ]
    return [
        "## Custom fields",
        "The project’s own questions. The answers are in `dialogues.jsonl`, as `labels` of the dialogue, task, call or "
        "answer. Native records do not have them.",
        "\n".join(["| key | question | type | about | answers |", "|---|---|---|---|---|", *rows]),
    ]


def _answers(field: dict[str, Any]) -> str:
    if "low" in field:
        return f"{field['low']} to {field['high']}"
    return ", ".join(option["value"] for option in field.get("options", ()))


def _protocol(release: Release) -> str:
    out = []
    for protocol in release.frozen["protocols"]:
        stages = protocol["definition"].get("stages", [])
        out.append(
            f"By {_named(protocol)}, SHA-256 `{protocol['hash']}`):\n\n"
            + "\n".join(
                f"{n}. {markdown_text(str(stage.get('title') or stage.get('key')))}"
                for n, stage in enumerate(stages, 1)
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
    return f"the project's protocol “{markdown_text(protocol['name'])}” (version {number}{origin}"


def _cell(text: str) -> str:
    return markdown_text(text) or "–"
