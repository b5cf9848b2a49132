"""croissant.json of a release: the tables for loaders, in Croissant 1.1 and its vocabulary for responsible AI (RAI)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmark.core.archives.archive import WrittenFile
from benchmark.core.archives.description import LICENCES, ORCID_URL, OWN_LICENCE, Author, Description
from benchmark.core.archives.manifest import dump
from benchmark.core.archives.table import CHALLENGES, DEFAULT, ENTRIES, LABELS, NUMBER, TEXTS, Table, columns_of

CROISSANT = "croissant.json"
_CONFORMS = ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"]
_OWN = (
    "arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "extract", "field", "fileProperty",
    "fileObject", "fileSet", "format", "includes", "isArray", "isLiveDataset", "jsonPath", "key", "md5", "parentField",
    "path", "recordSet", "references", "regex", "repeated", "replace", "samplingRate", "separator", "source",
    "subField", "transform",
)  # fmt: skip
#: The context that the specification recommends.
_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "sc": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "description": {"@container": "@language"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "name": {"@container": "@language"},
} | {name: f"cr:{name}" for name in _OWN}
_SEMANTIC = re.compile(r"(0|[1-9]\d*)(\.(0|[1-9]\d*)(\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?)?)?")
_UNLICENSED = "No licence was chosen. Ask the authors before you use the data."


@dataclass(frozen=True, slots=True)
class Responsibility:
    """How the data was made, for RAI: sentences."""

    collection: str
    protocol: Sequence[str]
    analysis: Sequence[str]
    per_item: str


def write_croissant(
    description: Description,
    languages: Sequence[str],
    tables: dict[Table, WrittenFile],
    made: Responsibility,
    root: str,
    *,
    layout: int,
    fields: Sequence[Mapping[str, Any]] = (),
) -> bytes:
    """Return the file. ``tables``: the written file of each; their paths begin with the folder ``root``.

    ``fields``: the custom fields, as JSON values.
    """
    settings = description.settings
    # An archive of an earlier layout must be built again with the same bytes.
    where = "an errata log beside it, which has hashes of its own" if layout > 2 else "errata.jsonl of later releases"
    content = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": _CONFORMS,
        "name": description.title,
        "description": f"{' '.join(description.about.split()) or description.title} {description.canary}",
        "license": _licence(description),
        "creator": [_person(author) for author in settings.authors]
        or [{"@type": "sc:Organization", "name": description.project}],
        "datePublished": description.day,
        "version": semantic_version(description.version),
        "citeAs": description.citation,
        "keywords": ["tool use", "function calling", "benchmark"],
        **({"inLanguage": list(languages)} if languages else {}),
        "rai:dataCollection": made.collection,
        "rai:dataAnnotationProtocol": list(made.protocol),
        "rai:dataAnnotationPlatform": ["Assay"],
        "rai:dataAnnotationAnalysis": list(made.analysis),
        "rai:annotationsPerItem": made.per_item,
        **({"rai:annotatorDemographics": [settings.demographics]} if settings.demographics.strip() else {}),
        **({"rai:dataLimitations": [settings.limits]} if settings.limits.strip() else {}),
        "rai:dataUseCases": ["Evaluation of models that use tools. Not for training."],
        "rai:dataReleaseMaintenancePlan": (
            f"A release never changes. Errors that are found later are listed in {where}."
        ),
        "distribution": [_file(table, file, root) for table, file in tables.items()],
        "recordSet": [_records(table, fields) for table in tables],
    }
    return dump({key: value for key, value in content.items() if value not in ([], "")})


def semantic_version(version: str) -> str:
    """Return the version as MAJOR.MINOR.PATCH, or its beginning; a version of another form becomes the build of
    0.0.0.
    """
    if _SEMANTIC.fullmatch(version):
        return version
    return "0.0.0+" + ".".join(part for part in re.sub(r"[^0-9A-Za-z.-]", "-", version).split(".") if part)


def _licence(description: Description) -> str:
    settings = description.settings
    if settings.licence == OWN_LICENCE:
        return settings.licence_text
    return LICENCES[settings.licence].url if settings.licence in LICENCES else _UNLICENSED


def _person(author: Author) -> dict[str, Any]:
    return {
        "@type": "sc:Person",
        "name": author.full,
        **({"url": ORCID_URL + author.orcid} if author.orcid else {}),
        **({"affiliation": author.affiliation} if author.affiliation else {}),
    }


def _name(table: Table) -> str:
    """Return the name of the records of a table; splits have names of their own."""
    return table.split if table.config == CHALLENGES else table.config


def _file(table: Table, file: WrittenFile, root: str) -> dict[str, Any]:
    path = file.path.removeprefix(f"{root}/")
    return {
        "@type": "cr:FileObject",
        "@id": f"{_name(table)}-file",
        "name": path,
        "contentUrl": path,
        "contentSize": f"{file.bytes} B",
        "encodingFormat": "application/x-parquet",
        "sha256": file.sha256,
    }


def _records(table: Table, fields: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    name = _name(table)
    # Entries have the same id in every language.
    keys = [f"{name}/{column}" for column in (("id", "language") if table.config in _WHAT else ("id",))]
    described = _ENTRY_COLUMNS if table.config in _WHAT else _COLUMNS
    if table.config == LABELS:
        keys = [f"{name}/{column}" for column in ("id", "place", "field")]
        described = _COLUMNS | _LABEL_COLUMNS | {"field": f"The key of the custom field. {_questions(fields)}".strip()}
    what = "The verified dialogues" if name == DEFAULT else f"Their native records in the format {name}"
    what = "The answers to the project’s custom fields, one in a row" if name == LABELS else what
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": f"{_WHAT.get(table.config, what)}, split {table.split}.",
        "key": {"@id": keys[0]} if len(keys) == 1 else [{"@id": key} for key in keys],
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{name}/{column}",
                "name": column,
                "description": described[column],
                "dataType": "sc:Integer" if kind == NUMBER else "sc:Text",
                **({"isArray": True, "arrayShape": "-1"} if kind == TEXTS else {}),
                "source": {"fileObject": {"@id": f"{name}-file"}, "extract": {"column": column}},
            }
            for column, kind in columns_of(table.config).items()
        ],
    }


def _questions(fields: Sequence[Mapping[str, Any]]) -> str:
    """Return the custom fields with their questions and possible answers."""
    return " ".join(f"{one['key']}: {one['title']}{_possible(one)}" for one in fields)


def _possible(field: Mapping[str, Any]) -> str:
    if "low" in field:
        return f" ({field['low']} to {field['high']})"
    options = ", ".join(f"{option['value']}: {option['title']}" for option in field.get("options", ()))
    return f" ({options})" if options else ""


_WHAT = {
    ENTRIES: "Their entries, each a dialogue up to and including one of its tasks",
    CHALLENGES: "Entries with their messages, tools and reference",
}
_COLUMNS = {
    "id": "The dialogue’s id.",
    "language": "The language’s code; blank if it is not known.",
    "variant_group": "The same text for the language variants of one dialogue; blank if there is only one.",
    "kind": "The kind of document.",
    "tasks": "The number of tasks.",
    "calls": "The number of calls.",
    "policies": "The policy of each task; null without a label.",
    "topologies": "The topology of each task’s calls; null without one.",
    "information": "How each task hides what it needs; null without a label.",
    "document": "The document, as JSON.",
    "tools": "The list of tools, as JSON.",
    "record": "The native record, as JSON.",
    "canary": "The marker by which models trained on the data can be found.",
}
_LABEL_COLUMNS = {
    "place": "The part that the answer is about, as an anchor; blank for the whole dialogue.",
    "scope": "What the part is: dialogue, task, call or answer.",
    "text": "The option of a choice, or the text; null for other types.",
    "number": "The number of a scale; null for other types.",
    "values": "The options of a set; null for other types.",
    "spans": "The marked passages as JSON: start, end and text; null for other types.",
}
_ENTRY_COLUMNS = _COLUMNS | {
    "id": "The entry’s id: in the table of entries as in scores, else followed by the name of the set.",
    "dialogue": "The dialogue’s id in scores, which is the same in all languages.",
    "item": "The id of the dialogue’s row in the table of dialogues.",
    "task": "The number of the task in its dialogue, counted from 0.",
    "history_messages": "How many messages of the dialogue in openai.jsonl come before the request.",
    "history_answers": "How many of these are no calls or results.",
    "policy": "The policy of the task; blank without a label.",
    "task_type": "The task’s type in WildToolBench’s words; blank without a label.",
    "topology": "The topology of the task’s calls; blank without one.",
    "information": "How the task hides what it needs; blank without a label.",
    "switches": "How often the policy changes up to this task.",
    "challenges": "The sets of entries with messages that have this entry.",
    "not_scored": "Why scorers cannot use the reference; blank if they can.",
    "toolset_sha256": "The hash of the tools, as in items.jsonl.",
    "request": "What the user asks for.",
    "reference": "The reference, as JSON.",
    "entry": "The id of the entry, as in scores.",
    "challenge": "The set of entries.",
    "history": "What the messages have of earlier tasks: answers, or also calls.",
    "messages": "The messages before the first reply, as JSON; the request is the last one.",
}
