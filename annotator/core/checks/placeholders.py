"""Recognise placeholders left over from a template."""

import re

_WHOLE_VALUE = re.compile(
    r"""\s*(?:
        <[\w\s.\-]{1,60}>                                   # <city>
        | \{\{[^{}]{1,60}\}\} | \{[A-Za-z_][\w\s.\-]{0,60}\} | \$\{[^{}]{1,60}\}
        | \$\w{1,40}(?:\.\w{1,40}){0,5}\$                   # $var1.field$: a reference nobody has filled in
        | [\[【](?:your|insert|enter|placeholder|fill|请?填写|请?输入)[^\[\]【】]{0,60}[\]】]
        | your[_\-]\w{1,40}
        | x{3,20} | tbd | todo | to\ be\ (?:determined|filled|added)(?:\ in)? | placeholder | insert\ here
        | undefined | lorem\ ipsum.{0,200} | 占位符 | 待定 | 待填写? | 此处填写.{0,20}
    )\s*""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_FIRST_CHARACTERS = frozenset("<{$[【yYxXtTpPiIuUlL占待此")

#: The expression is only run on a text that contains one of these.
_INSIDE_TEXT = (
    ("{{", re.compile(r"\{\{[^{}]{1,60}\}\}")),
    ("[", re.compile(r"\[(?:your|insert|enter|placeholder)\b[^\[\]]{0,60}\](?!\()", re.IGNORECASE)),
    ("<", re.compile(r"<(?:your|insert|enter|placeholder)\b[^<>]{0,60}>", re.IGNORECASE)),
    ("【", re.compile(r"【请?(?:填写|输入|插入)[^【】]{0,30}】")),
    ("orem ipsum", re.compile(r"[Ll]orem ipsum")),
    ("TODO:", re.compile(r"\bTODO:")),
    ("此处填写", re.compile(r"此处填写")),
)


def is_placeholder(value: str) -> bool:
    """Return whether a whole value is a placeholder: <city>, {{date}}, your_api_key, TODO, xxx."""
    text = value.strip()
    return text[:1] in _FIRST_CHARACTERS and len(text) < 260 and _WHOLE_VALUE.fullmatch(text) is not None


def placeholder_in(text: str) -> str | None:
    """Return the first placeholder inside running text, else None."""
    for sign, expression in _INSIDE_TEXT:
        if sign in text and (match := expression.search(text)):
            return match[0]
    return None
