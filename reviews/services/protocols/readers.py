"""The texts of a protocol in the language of their reader."""

from functools import cache

from django.utils.translation import gettext

from annotator.models import Project
from reviews.core.protocols import PRESETS, load_preset
from reviews.services.protocols.versions import stage_titles


def in_reader_language(text: str) -> str:
    """Return a title, question or error type of a protocol; translated if it is still that of a preset.

    What people typed is never translated. Only pages use this: files, events and the API keep the text of the protocol.
    """
    return gettext(text) if text in _preset_texts() else text


def shown_stage_titles(project: Project) -> dict[str, str]:
    """Return ``stage_titles`` for a page."""
    return {key: in_reader_language(title) for key, title in stage_titles(project).items()}


@cache
def _preset_texts() -> frozenset[str]:
    texts: set[str] = set()
    for name in PRESETS:
        preset = load_preset(name)
        texts |= {stage.title for stage in preset.stages}
        texts |= {item.text for stage in preset.stages for item in stage.checklist.items}
        texts |= {text for kind in preset.taxonomy for text in (kind.label, kind.description)}
    return frozenset(texts - {""})
