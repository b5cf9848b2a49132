"""``{% constant %}``: a part of a page that is the same on every page, for everybody."""

from django import template
from django.template.base import NodeList, Parser, Token
from django.template.context import Context
from django.utils.translation import get_language

register = template.Library()


class ConstantNode(template.Node):
    """Renders its content once for each language."""

    def __init__(self, nodelist: NodeList) -> None:
        self.nodelist = nodelist
        self.html: dict[str | None, str] = {}

    def render(self, context: Context) -> str:
        language = get_language()
        if language not in self.html:
            # With an empty context, so that nothing of this page is kept.
            self.html[language] = self.nodelist.render(context.new({}))
        return self.html[language]


@register.tag
def constant(parser: Parser, token: Token) -> ConstantNode:
    """Parse the tag. Its content (addresses of static files, icons, fixed text) can't use the page's variables."""
    nodelist = parser.parse(("endconstant",))
    parser.delete_first_token()
    return ConstantNode(nodelist)
