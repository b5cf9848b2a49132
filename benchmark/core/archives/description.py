"""What a release says about itself: licence, authors, citation, limits. Pure."""

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from annotator.core.wording import has_unseen


class Licence(NamedTuple):
    """A licence: its title, its id on the Hugging Face Hub, and its text's address."""

    title: str
    hub: str
    url: str


#: SPDX id → licence.
LICENCES = {
    "CC-BY-4.0": Licence("Attribution 4.0", "cc-by-4.0", "https://creativecommons.org/licenses/by/4.0/"),
    "CC-BY-SA-4.0": Licence(
        "Attribution, ShareAlike 4.0", "cc-by-sa-4.0", "https://creativecommons.org/licenses/by-sa/4.0/"
    ),
    "CC-BY-NC-4.0": Licence(
        "Attribution, NonCommercial 4.0", "cc-by-nc-4.0", "https://creativecommons.org/licenses/by-nc/4.0/"
    ),
    "CC-BY-NC-SA-4.0": Licence(
        "Attribution, NonCommercial, ShareAlike 4.0",
        "cc-by-nc-sa-4.0",
        "https://creativecommons.org/licenses/by-nc-sa/4.0/",
    ),
    "CC0-1.0": Licence("Public domain", "cc0-1.0", "https://creativecommons.org/publicdomain/zero/1.0/"),
    "CDLA-Permissive-1.0": Licence(
        "Community Data License Agreement, Permissive",
        "cdla-permissive-1.0",
        "https://spdx.org/licenses/CDLA-Permissive-1.0.html",
    ),
    "CDLA-Sharing-1.0": Licence(
        "Community Data License Agreement, Sharing",
        "cdla-sharing-1.0",
        "https://spdx.org/licenses/CDLA-Sharing-1.0.html",
    ),
    "ODC-By-1.0": Licence("Open Data Commons Attribution", "odc-by", "https://opendatacommons.org/licenses/by/1-0/"),
    "ODbL-1.0": Licence("Open Database License", "odbl", "https://opendatacommons.org/licenses/odbl/1-0/"),
    "PDDL-1.0": Licence("Open Data Commons Public Domain", "pddl", "https://opendatacommons.org/licenses/pddl/1-0/"),
    "Apache-2.0": Licence("Apache License 2.0", "apache-2.0", "https://www.apache.org/licenses/LICENSE-2.0"),
    "MIT": Licence("MIT License", "mit", "https://spdx.org/licenses/MIT.html"),
}
#: In place of an SPDX id: a licence in the project's own words.
OWN_LICENCE = "own"
#: Limits on the authors, and on the characters of their names and affiliations.
MAX_AUTHORS = 200
MAX_NAME = 200
ORCID_URL = "https://orcid.org/"
_ORCID = re.compile(r"\d{4}-\d{4}-\d{4}-\d{3}[\dX]")


@dataclass(frozen=True, slots=True)
class Author:
    """An author. ``name`` may be ``Family, Given``; ``orcid`` has no address before it. Both others may be blank."""

    name: str
    orcid: str = ""
    affiliation: str = ""

    @property
    def family(self) -> str:
        """Return the family name; the whole name if it is not divided."""
        return self.name.partition(",")[0].strip()

    @property
    def given(self) -> str:
        """Return the given name; blank if the name is not divided."""
        return self.name.partition(",")[2].strip()

    @property
    def full(self) -> str:
        """Return the name as it is spoken."""
        return f"{self.given} {self.family}".strip()


@dataclass(frozen=True, slots=True)
class Settings:
    """What a project says about its releases. ``licence``: an SPDX id, OWN_LICENCE with ``licence_text``, or blank."""

    licence: str = ""
    licence_text: str = ""
    authors: tuple[Author, ...] = ()
    citation: str = ""
    limits: str = ""
    demographics: str = ""

    @classmethod
    def read(cls, stored: dict[str, Any]) -> "Settings":
        """Return settings from what ``stored`` returned."""
        return cls(**stored | {"authors": tuple(Author(**author) for author in stored["authors"])})

    def stored(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        return asdict(self) | {"authors": [asdict(author) for author in self.authors]}


@dataclass(frozen=True, slots=True)
class Description:
    """A release described: the project's name, address and description, the version, the day, the settings."""

    project: str
    slug: str
    about: str
    version: str
    day: str
    canary: str
    settings: Settings

    @property
    def title(self) -> str:
        return f"{self.project}, release {self.version}"

    @property
    def citation(self) -> str:
        """Return the project's own citation; without one, BibTeX from what is known."""
        if self.settings.citation.strip():
            return self.settings.citation.strip()
        names = " and ".join(_bibtex_name(author) for author in self.settings.authors)
        lines = [
            f"@misc{{{self.slug}-{self.version},",
            f"  title = {{{{{_bibtex(self.title)}}}}},",
            f"  author = {{{names or f'{{{_bibtex(self.project)}}}'}}},",
            f"  year = {{{self.day[:4]}}},",
            "}",
        ]
        return "\n".join(lines)


def read_authors(text: str) -> tuple[Author, ...]:
    """Return the authors of a text, one a line: the name, then an ORCID iD and an affiliation if there are any, with
    semicolons between them.

    Raises ValueError with a sentence for the first invalid line.
    """
    lines = [line.strip() for line in text.splitlines()]
    authors = tuple(_read_author(number, line) for number, line in enumerate(lines, 1) if line)
    if len(authors) > MAX_AUTHORS:
        raise ValueError(f"There are {len(authors):,} authors. The limit is {MAX_AUTHORS}.")
    return authors


def author_lines(authors: Iterable[Author]) -> str:
    """Return authors as ``read_authors`` reads them."""
    return "\n".join(
        "; ".join(part for part in (author.name, author.orcid, author.affiliation) if part) for author in authors
    )


def _read_author(number: int, line: str) -> Author:
    name, *rest = [" ".join(part.split()) for part in line.split(";")]
    orcid = ""
    if rest and _ORCID.fullmatch(rest[0].removeprefix(ORCID_URL).upper()):
        orcid = rest.pop(0).removeprefix(ORCID_URL).upper()
        if not _is_orcid(orcid):
            raise ValueError(f"Line {number}: {orcid} is no ORCID iD, because its last digit is wrong. Copy it again.")
    affiliation = "; ".join(part for part in rest if part)
    if not name.strip(" ,"):
        raise ValueError(f"Line {number} begins without a name. Write the author’s name before the first semicolon.")
    if max(len(name), len(affiliation)) > MAX_NAME:
        raise ValueError(f"Line {number} is too long. A name or affiliation may have {MAX_NAME} characters.")
    if has_unseen(line):
        raise ValueError(f"Line {number} contains invisible characters. Type it again.")
    return Author(name, orcid, affiliation)


def _is_orcid(orcid: str) -> bool:
    """Return whether the last character is the checksum of the others (ISO 7064, MOD 11-2)."""
    total = 0
    digits = orcid.replace("-", "")
    for digit in digits[:-1]:
        total = (total + int(digit)) * 2
    return "0123456789X"[(12 - total % 11) % 11] == digits[-1]


def _bibtex_name(author: Author) -> str:
    if author.given:
        return f"{_bibtex(author.family)}, {_bibtex(author.given)}"
    name = _bibtex(author.full)
    # BibTeX separates authors by this word.
    return f"{{{name}}}" if re.search(r"\band\b", name, re.I) else name


def _bibtex(text: str) -> str:
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return "".join(special.get(c, f"\\{c}" if c in "{}&%$#_" else c) for c in " ".join(text.split()))
