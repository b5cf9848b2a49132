"""The web server compiles every template before the first request."""

from django.template import engines

from annotator.config.preloading import load_pages, templates


def test_every_template_can_be_compiled() -> None:
    load_pages()
    assert "reviews/workspace/page.html" in templates()
    assert len(engines["jinja2"].env.list_templates()) > 1  # type: ignore[attr-defined]
