"""The language in which a person reads pages and mails, and the texts of scripts in it."""

import hashlib
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.utils.translation import get_language_info, to_locale
from django.utils.translation import gettext as _

from annotator.errors import Invalid
from annotator.models import User


def language_choices() -> list[tuple[str, str]]:
    """Return the code of each language of the site and its own name for itself; blank: the browser's language."""
    return [("", _("Language of my browser")), *((code, own_name(code)) for code, _name in settings.LANGUAGES)]


def own_name(code: str) -> str:
    """Return the name of a language in this language, such as “简体中文”."""
    return str(get_language_info(code)["name_local"])


def choose_language(*, actor: User, language: str) -> None:
    """Store the language of a person's pages and mails; blank: that of their browser. Raises Invalid."""
    if language and language not in dict(settings.LANGUAGES):
        raise Invalid(_("There is no language “%(code)s”.") % {"code": language[:20]}, field="language")
    User.objects.filter(pk=actor.pk).update(chosen_language=language)
    actor.chosen_language = language


def texts_version(language: str) -> str:
    """Return what changes when the texts of the scripts in a language change; blank if there are none."""
    folder = f"{to_locale(language)}/LC_MESSAGES/djangojs.mo"
    return _hash_of(tuple(Path(path) / folder for path in settings.LOCALE_PATHS))


@lru_cache(maxsize=64)
def _hash_of(files: tuple[Path, ...]) -> str:
    texts = b"".join(file.read_bytes() for file in files if file.is_file())
    return hashlib.sha256(texts).hexdigest()[:12] if texts else ""
