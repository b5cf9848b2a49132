"""What writing a dialogue would not give back of the record it was read from.

A reader writes what it has just read, in plain form, and compares: fields that were absent, or that were spelled in a
way the plain form does not have, are kept beside a fingerprint of the plain form. A writer puts them back where the
plain form still has that fingerprint, that is, where nobody has edited what they stand for. So an untouched record
comes back equal, and an edit is never lost behind a stale original.

All of it lives under one key of ``extra``, next to the native fields that Assay does not know.
"""

from typing import Any

from annotator.core.schema import value_hash
from annotator.core.schema.exact_json import loads, same, with_kept_decimals
from annotator.core.schema.layout import lay_out

#: The key of ``extra`` that is Assay's own. A native field of this name is refused.
NATIVE = "@native"

_MISSING = object()


def compare(raw: dict[str, Any], plain: dict[str, Any]) -> dict[str, Any]:
    """The residue: ``absent`` {key: fingerprint} and ``kept`` {key: [original, fingerprint or null]}.

    A null fingerprint means that the plain form has no such key. Keys of ``raw`` that the format does not know must
    be in ``plain`` already.
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
    """Put the originals back into ``plain`` wherever what they stand for is unchanged.

    ``residue`` may have come in with a document of unknown origin: what is not of its form is passed over.
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
    """The original as it may be read again: a text of JSON that was imported before decimals that no float is were
    refused says the floats that were stored of it.
    """
    return with_kept_decimals(value) if type(value) is str and value.lstrip()[:1] in ("{", "[") else value


def laid_out(written: Any, original: Any) -> Any:
    """JSON in a text that was edited, laid out as the original text is; anything else as it is."""
    if type(written) is not str or type(original) is not str or written[:1] not in ("{", "["):
        return written
    try:
        return lay_out(loads(written), original)
    except (ValueError, RecursionError):
        return written


def native(part: dict[str, Any]) -> dict[str, Any]:
    """Assay's own notes in the ``extra`` of a document, task or step; empty when there are none."""
    notes = part["extra"].get(NATIVE)
    return notes if isinstance(notes, dict) else {}


def note(part: dict[str, Any], **notes: Any) -> None:
    """Add to Assay's own notes in the ``extra`` of a document, task or step."""
    part["extra"].setdefault(NATIVE, {}).update(notes)


def unknown(part: dict[str, Any]) -> dict[str, Any]:
    """The native fields kept in ``extra``."""
    return {key: value for key, value in part["extra"].items() if key != NATIVE}
