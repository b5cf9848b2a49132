"""Languages and time zone."""

from django.conf import global_settings
from django.utils.translation import to_locale

from annotator.config.settings.mode import BASE_DIR

TIME_ZONE = "UTC"
USE_TZ = True
LANGUAGE_CODE = "en"
#: Translations: a folder in locale/ for each language other than English. A person chooses one in the settings; until
#: then, the browser's settings choose.
LOCALE_PATHS = [BASE_DIR / "locale"]
LANGUAGES = [
    (code, name)
    for code, name in global_settings.LANGUAGES
    if code == "en" or (BASE_DIR / "locale" / to_locale(code)).is_dir()
]
