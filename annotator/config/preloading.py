"""What the web server loads before it forks its processes.

So the first request of each process is as fast as the others.
"""

from importlib import import_module

from django.conf import settings
from django.template import engines
from django.urls import reverse
from django.utils import translation


def load_pages() -> None:
    """Load all views, templates, addresses and translations. Takes about a second."""
    import_module("annotator.config.urls")
    for template in templates():
        engines["django"].get_template(template)
    components = engines["jinja2"].env  # type: ignore[attr-defined]
    for template in components.list_templates():
        components.get_template(template)
    for language, _name in settings.LANGUAGES:
        with translation.override(language):
            reverse("home")


def templates() -> list[str]:
    """Return the names of Assay's Django templates."""
    folder = settings.BASE_DIR / "templates"
    names = [str(path.relative_to(folder)) for path in folder.rglob("*.html")]
    return [name for name in names if not name.startswith("jinja2/")]
