"""How a release was made, in sentences for the vocabulary of responsible AI: from what was frozen."""

from typing import Any

from benchmark.core.archives.croissant import Responsibility
from benchmark.models import Release


def describe_work(release: Release) -> Responsibility:
    """Return how the dialogues of a release were collected and reviewed."""
    figures = release.frozen["figures"]
    stages = [stage for protocol in release.frozen["protocols"][-1:] for stage in protocol["definition"]["stages"]]
    people = [f"{stage['title']}: {stage.get('reviewers', 1)}" for stage in stages]
    return Responsibility(
        collection="Dialogues from files that the project imported. People checked and corrected them.",
        protocol=[
            f"Protocol “{protocol['name']}”, version {protocol['number']}, SHA-256 {protocol['hash']}: "
            + ", ".join(stage["title"] for stage in protocol["definition"]["stages"])
            + "."
            for protocol in release.frozen["protocols"]
        ],
        analysis=[_said(one, figure) for one in figures["agreement"] for figure in one["figures"] if _known(figure)],
        per_item=f"Reviews of each item, by stage: {', '.join(people)}." if people else "",
    )


def _known(figure: dict[str, Any]) -> bool:
    return figure["value"] is not None


def _said(one: dict[str, Any], figure: dict[str, Any]) -> str:
    name = figure["name"].replace("_", " ")
    return f"{one['label']} in {one['stage']}: {name} {figure['value']:.3f}, {figure['n']} items."
