"""``make translations``: collect the marked texts into the files of each translation, and compile these.

``make check`` runs it with ``--check``, which changes nothing and lists what is wrong: texts without a translation,
translations that are unsure (fuzzy), obsolete or have other placeholders or tags, and files that are not current.
"""

import argparse
import io
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import normalize, read_po

from scripts.environment import ROOT, print_line
from scripts.translation_texts import DOMAINS, Text, collect

#: Folders of locale/, with the forms of a plural.
LANGUAGES = {"zh_Hans": "nplurals=1; plural=0;"}
#: Files that need no translation, because only programs read their texts. Every other file needs one for each text.
ENGLISH = ("annotator/api/*", "reviews/api/*", "benchmark/api/*")
_PLACEHOLDER = re.compile(r"%\(\w+\)[a-z]")
_TAG = re.compile(r"</?\w[^<>]*>")
_NO_DATE = datetime(2000, 1, 1, tzinfo=UTC)


def needs_translation(text: Text) -> bool:
    """Return whether one of the places of a text is in a file that is translated."""
    return any(not is_english(place.rpartition(":")[0]) for place in text.places)


def is_english(file: str) -> bool:
    """Return whether a file needs no translation."""
    return any(fnmatchcase(file, pattern) for pattern in ENGLISH)


def updated(known: Catalog, texts: dict[str, Text]) -> Catalog:
    """Return the catalog with these texts alone: known ones with their translation, new ones without."""
    made = Catalog(locale=known.locale)
    for text in sorted(texts.values()):
        old = known.get(text.text)
        if old is None and not needs_translation(text):
            continue
        forms = _forms(old) if old is not None else ("",)
        files = sorted({(place.rpartition(":")[0], 0) for place in text.places})
        fuzzy = ["fuzzy"] if old is not None and old.fuzzy else []
        if text.plural:
            made.add((text.text, text.plural), forms, files, fuzzy)
        else:
            made.add(text.text, forms[0], files, fuzzy)
    return made


def missing(catalog: Catalog) -> Iterator[Message]:
    """Yield the messages without a translation."""
    return (message for message in catalog if message.id and not all(_forms(message)))


def problems_in(catalog: Catalog, texts: dict[str, Text]) -> Iterator[str]:
    """Yield a line for each text or translation that is wrong."""
    current = updated(catalog, texts)
    for message in missing(current):
        yield f"{message.locations[0][0]}: “{_english(message)[0]}” has no translation"
    for message in catalog:
        if not message.id:
            continue
        english = _english(message)
        known = texts.get(english[0])
        if known is None:
            yield f"“{english[0]}” is obsolete: no file has this text"
            continue
        if known.plural != (english[1] if len(english) > 1 else ""):
            yield f"“{english[0]}” has another plural than in the code"
        if message.fuzzy:
            yield f"“{english[0]}” has a translation that is marked as fuzzy: correct it and remove the mark"
        for form in _forms(message):
            if form:
                yield from _differences(english[-1], form)


def _differences(english: str, form: str) -> Iterator[str]:
    for what, pattern in (("placeholders", _PLACEHOLDER), ("tags", _TAG)):
        if Counter(pattern.findall(english)) != Counter(pattern.findall(form)):
            yield f"“{english}” and its translation “{form}” have different {what}"
    if (english[:1] == "\n", english[-1:] == "\n") != (form[:1] == "\n", form[-1:] == "\n"):
        yield f"“{english}” and its translation “{form}” begin or end with different line breaks"


def _english(message: Message) -> tuple[str, ...]:
    return (message.id,) if isinstance(message.id, str) else tuple(message.id)


def _forms(message: Message) -> tuple[str, ...]:
    return (message.string,) if isinstance(message.string, str) else tuple(message.string or ("",))


def written(catalog: Catalog, plurals: str) -> str:
    """Return the .po file: sorted by the English text and without dates, so that changes are small."""
    header = f"Content-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\nPlural-Forms: {plurals}\n"
    parts = [f'msgid ""\nmsgstr {normalize(header, width=116)}\n']
    for message in catalog:
        if not message.id:
            continue
        lines = [f"#: {file}" for file, _line in message.locations]
        lines += ["#, fuzzy"] if message.fuzzy else []
        english, forms = _english(message), _forms(message)
        lines.append(f"msgid {normalize(english[0], width=116)}")
        if len(english) > 1:
            lines.append(f"msgid_plural {normalize(english[1], width=116)}")
            lines += [f"msgstr[{number}] {normalize(form, width=116)}" for number, form in enumerate(forms)]
        else:
            lines.append(f"msgstr {normalize(forms[0], width=116)}")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def compiled(catalog: Catalog) -> bytes:
    """Return the .mo file, without messages that have no translation."""
    buffer = io.BytesIO()
    # It would be the current time, and the file another one each minute.
    catalog.creation_date = _NO_DATE
    write_mo(buffer, catalog)
    return buffer.getvalue()


def read(file: Path, language: str) -> Catalog:
    """Return the catalog of a .po file; an empty one if there is no file."""
    if not file.is_file():
        return Catalog(locale=language)
    with file.open("rb") as source:
        return read_po(source, locale=language)


def main(arguments: Sequence[str]) -> int:
    """Update the translations, or check them. Return 0 if every text is translated."""
    parser = argparse.ArgumentParser(prog="make translations", description="Update the files of the translations.")
    parser.add_argument("--check", action="store_true", help="change nothing; list what is wrong")
    only_check = parser.parse_args(arguments).check
    wrong: list[str] = []
    for domain in DOMAINS:
        texts = collect(ROOT, domain)
        for language, plurals in LANGUAGES.items():
            file = ROOT / "locale" / language / "LC_MESSAGES" / f"{domain}.po"
            known = read(file, language)
            catalog = updated(known, texts)
            texts_file, binary = written(catalog, plurals), file.with_suffix(".mo")
            found = [f"{language}: {line}" for line in problems_in(known if only_check else catalog, texts)]
            if not only_check:
                file.write_text(texts_file, encoding="utf-8")
                binary.write_bytes(compiled(read(file, language)))
            elif not found and (
                file.read_text(encoding="utf-8") != texts_file or binary.read_bytes() != compiled(known)
            ):
                found.append(f"{file.relative_to(ROOT)}: it or its .mo file is not current")
            wrong += found
    print_line("\n".join(wrong) if wrong else "All texts are translated.")
    if wrong and only_check:
        print_line(
            "Run `make translations`, then translate the texts in locale/ that are still empty and run it again."
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
