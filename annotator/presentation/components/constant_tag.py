"""``{% constant %}``: a part of a page that is the same on every page, for everybody."""

from django import template
from django.template.base import NodeList, Parser, Token
from django.template.context import Context

register = template.Library()


class ConstantNode(template.Node):
    """Rendered when it is first asked for, and kept as long as the template is."""

    def __init__(self, nodelist: NodeList) -> None:
        self.nodelist = nodelist
        self.html: str | None = None

    def render(self, context: Context) -> str:
        if self.html is None:
            # Nothing of this page is within reach, so nothing of it is kept.
            self.html = self.nodelist.render(context.new({}))
        return self.html


@register.tag
def constant(parser: Parser, token: Token) -> ConstantNode:
    """Addresses of static files, icons and fixed words: what stands between knows no variable of the page."""
    nodelist = parser.parse(("endconstant",))
    parser.delete_first_token()
    return ConstantNode(nodelist)
