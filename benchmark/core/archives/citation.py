"""CITATION.cff of a release, in the Citation File Format 1.2.0."""

from collections.abc import Iterator

from benchmark.core.archives.description import LICENCES, ORCID_URL, Description
from benchmark.core.archives.quoting import yaml_text

CITATION = "CITATION.cff"


def write_citation(description: Description) -> str:
    """Return the file. Without authors, the project is the author."""
    settings = description.settings
    lines = [
        "cff-version: 1.2.0",
        "type: dataset",
        'message: "If you use this dataset, please cite it as below."',
        f"title: {yaml_text(description.title)}",
        f"version: {yaml_text(description.version)}",
        f"date-released: {yaml_text(description.day)}",
        *([f"license: {settings.licence}"] if settings.licence in LICENCES else []),
        *([f"abstract: {yaml_text(description.about)}"] if description.about.strip() else []),
        "authors:",
        *_authors(description),
    ]
    return "\n".join(lines) + "\n"


def _authors(description: Description) -> Iterator[str]:
    if not description.settings.authors:
        yield f"  - name: {yaml_text(description.project)}"
    for author in description.settings.authors:
        yield f"  - family-names: {yaml_text(author.family or author.full)}"
        if author.given and author.family:
            yield f"    given-names: {yaml_text(author.given)}"
        if author.orcid:
            yield f"    orcid: {yaml_text(ORCID_URL + author.orcid)}"
        if author.affiliation:
            yield f"    affiliation: {yaml_text(author.affiliation)}"
