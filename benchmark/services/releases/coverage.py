"""What a release covers: counted when it is frozen, shown by its card."""

from collections import Counter
from typing import Any, Protocol

from django.db.models import Count

from annotator.core.coverage import DIFFICULTY, DIMENSIONS, LEVELS, fold, sequence_of, spreads_of, tally_of
from benchmark.models import Release, ReleaseItem


class _Labelled(Protocol):
    """The labels of a dialogue; None or blank where a task has none."""

    @property
    def policies(self) -> tuple[str, ...]: ...
    @property
    def topologies(self) -> tuple[str, ...]: ...
    @property
    def information(self) -> tuple[str, ...]: ...
    @property
    def language(self) -> str: ...
    @property
    def task_count(self) -> int: ...
    @property
    def call_count(self) -> int: ...


class ReleasedCoverage:
    """Counts the dialogues of a release by all dimensions."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[str]] = {dimension: Counter() for dimension in DIMENSIONS}

    def add(self, labels: _Labelled) -> None:
        """Count a dialogue that enters the release. A toolset, which has no tasks, is none."""
        if not labels.task_count:
            return
        columns = {
            "cell": sequence_of(labels.policies),
            "information": tally_of(labels.information),
            "topology": tally_of(labels.topologies),
            "calls": labels.call_count,
            "tasks": labels.task_count,
            "language": labels.language,
        }
        for dimension, column in columns.items():
            self._counts[dimension].update(Counter(DIMENSIONS[dimension](column)))

    def facts(self, release: Release) -> dict[str, dict[str, int]]:
        """Return {dimension: {value: count}}, in a fixed order; the items of the release are written."""
        items = ReleaseItem.objects.filter(release=release).exclude(dialogue__kind="toolset").order_by()
        # Dialogues have not changed since they were frozen with these revisions.
        columns = {
            "category": "revision__toolset_revision__toolset__category__name",
            DIFFICULTY: "dialogue__difficulty_tally",
        }
        for dimension, column in columns.items():
            found = items.values_list(column).annotate(number=Count("*"))
            counts = fold(dimension, ((value or "", "verified", number) for value, number in found))
            self._counts[dimension] = counts["verified"]
        return {dimension: dict(sorted(counts.items())) for dimension, counts in self._counts.items()}


def summarise_coverage(frozen: dict[str, Any]) -> dict[str, Any]:
    """Return what the manifest says: entries by cell, and the coverage by level; nothing for earlier releases."""
    if "coverage" not in frozen:
        return {}
    cells = frozen["coverage"]["cell"]
    spreads = {
        str(one.level or "all"): {
            "cells": one.cells, "covered": one.covered, "entries": one.entries, "uniformity": one.uniformity,
        }
        for one in spreads_of(cells)
    }  # fmt: skip
    return {"coverage": {"sequences": cells, "levels": spreads}}


def coverage_section(frozen: dict[str, Any]) -> list[str]:
    """Return the section of the card as paragraphs of Markdown, if any entry has policies."""
    cells = frozen.get("coverage", {}).get("cell")
    if not cells:
        return []
    spreads = spreads_of(cells)
    names = [*(f"{level} task{'s' if level > 1 else ''}" for level in LEVELS), "all"]
    rows = [
        f"| {name} | {one.cells} | {one.covered} | {one.entries:,} | {one.uniformity:.3f} |"
        for name, one in zip(names, spreads, strict=True)
    ]
    return [
        "### Coverage of policy sequences",
        f"{spreads[-1].covered} of {spreads[-1].cells} sequences of one to four policies have an entry. Uniformity is "
        "the entropy of the entries over the sequences, divided by that of an even spread: 0 if all entries have the "
        "same sequence, 1 if every sequence has as many.",
        "\n".join(["| sequences of | sequences | covered | entries | uniformity |", "|---|---|---|---|---|", *rows]),
    ]
