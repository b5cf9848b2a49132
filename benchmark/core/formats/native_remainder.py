"""The native remainder: the parts of a record that writing its dialogue would not reproduce.

A reader writes what it has just read, in plain form, and compares. Fields that were absent, or spelled in a way that
the plain form does not have, are kept with a fingerprint of the plain form. A writer restores them if the plain form
still has that fingerprint, that is, if that part was not edited. So an untouched record comes back equal, and an
outdated original never hides an edit.

All of it is under one key of ``extra``, next to the native fields that Assay does not know.
"""

from typing import Any

from annotator.core.schema import value_hash
from annotator.core.schema.exact_json import loads, same, with_kept_decimals
from annotator.core.schema.layout import lay_out
from annotator.core.schema.native_notes import NATIVE
from annotator.core.schema.native_notes import native_notes as native

__all__ = ["NATIVE", "compare", "complete", "keep", "laid_out", "native", "note", "restore", "unknown"]

_MISSING = object()


def compare(raw: dict[str, Any], plain: dict[str, Any]) -> dict[str, Any]:
    """Return the residue: ``absent`` {key: fingerprint} and ``kept`` {key: [original, fingerprint or null]}.

    A null fingerprint means that the plain form has no such key. Keys of ``raw`` that the format does not know must
    already be in ``plain``.
    """
    residue: dict[str, Any] = {}
    absent = {key: value_hash(plain[key]) for key in plain.keys() - raw.keys()}
    if absent:
        residue["absent"] = absent
    kept = {}
    for key, value in raw.items():
        derived = plain.get(key, _MISSING)
        if derived is _MISSING:
            kept[key] = [value, None]
        elif not same(value, derived):
            kept[key] = [value, value_hash(derived)]
    if kept:
        residue["kept"] = kept
    return residue


def restore(plain: dict[str, Any], residue: Any) -> None:
    """Restore the originals in ``plain`` whose parts of the document are unchanged.

    ``residue`` may have come with a document of unknown origin: invalid parts are skipped.
    """
    if not isinstance(residue, dict):
        return
    absent, kept = residue.get("absent"), residue.get("kept")
    for key, fingerprint in absent.items() if isinstance(absent, dict) else ():
        if key in plain and value_hash(plain[key]) == fingerprint:
            del plain[key]
    for key, entry in kept.items() if isinstance(kept, dict) else ():
        if isinstance(entry, list) and len(entry) == 2:
            value, fingerprint = entry
            if (value_hash(plain[key]) if key in plain else None) == fingerprint:
                plain[key] = _as_kept(value)
            elif key in plain:
                plain[key] = laid_out(plain[key], value)


def _as_kept(value: Any) -> Any:
    """Return the original in a readable form: a JSON text imported before inexact decimals were refused has the floats
    that were stored for it.
    """
    return with_kept_decimals(value) if type(value) is str and value.lstrip()[:1] in ("{", "[") else value


def laid_out(written: Any, original: Any) -> Any:
    """Return JSON in a text that was edited, laid out like the original text; anything else unchanged."""
    if type(written) is not str or type(original) is not str or written[:1] not in ("{", "["):
        return written
    try:
        return lay_out(loads(written), original)
    except (ValueError, RecursionError):
        return written


def note(part: dict[str, Any], **notes: Any) -> None:
    """Add to Assay's own notes in the ``extra`` of a document, task or step."""
    part["extra"].setdefault(NATIVE, {}).update(notes)


def unknown(part: dict[str, Any]) -> dict[str, Any]:
    """Return the native fields kept in ``extra``."""
    return {key: value for key, value in part["extra"].items() if key != NATIVE}


def keep(document: dict[str, Any], format_name: str, raw: dict[str, Any], plain: dict[str, Any]) -> None:
    """Note in a document what its plain form does not reproduce of the known fields of its record."""
    if not same(plain, raw):
        note(document, format=format_name, **compare(raw, plain))


def complete(plain: dict[str, Any], document: dict[str, Any], format_name: str) -> None:
    """Add to a plain record the fields that Assay does not know, and restore what ``keep`` noted."""
    for key, value in unknown(document).items():
        plain.setdefault(key, value)
    residue = native(document)
    if residue.get("format") == format_name:
        restore(plain, residue)
