"""The functions behind the built-in validators. Each is self-contained, because an exported validator is its source.

Each takes the response and its parameters and returns (accepted, message). Imports are inside the functions, and no
pattern comes from outside.
"""

from typing import Any


def json_object(response: str, keys: list[str]) -> tuple[bool, str]:
    import json

    try:
        data: Any = json.loads(response)
    except ValueError as error:
        return False, f"The response is not JSON: {error}."
    except RecursionError:
        return False, "The response is nested too deeply to be read as JSON."
    if not isinstance(data, dict):
        return False, "The response is JSON, but not an object."
    missing = [key for key in keys if key not in data]
    if missing:
        return False, f"The JSON object lacks the key {missing[0]}."
    return True, "The response is a JSON object with the required keys."


def starts_with(response: str, texts: list[str]) -> tuple[bool, str]:
    if any(response.lstrip().startswith(text) for text in texts):
        return True, "The response begins as required."
    return False, "The response must begin with " + " or ".join(texts) + "."


def ends_with(response: str, texts: list[str]) -> tuple[bool, str]:
    if any(response.rstrip().endswith(text) for text in texts):
        return True, "The response ends as required."
    return False, "The response must end with " + " or ".join(texts)


def contains(response: str, texts: list[str], ignore_case: bool) -> tuple[bool, str]:
    within = response.lower() if ignore_case else response
    for text in texts:
        if (text.lower() if ignore_case else text) not in within:
            return False, f"The response must contain {text}."
    return True, "The response contains what is required."


def lacks(response: str, texts: list[str], ignore_case: bool) -> tuple[bool, str]:
    within = response.lower() if ignore_case else response
    for text in texts:
        if (text.lower() if ignore_case else text) in within:
            return False, f"The response must not contain {text}."
    return True, "The response contains nothing that is forbidden."


def bullets(response: str, at_least: int, at_most: int | None) -> tuple[bool, str]:
    import re

    # A horizontal rule, such as * * *, is not an item.
    item = r"(?m)^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+(?!(?:[-*_][ \t]*){2,}\r?$)\S"
    found = len(re.findall(item, response))
    if found < at_least or (at_most is not None and found > at_most):
        return False, f"The response has {found} list items."
    return True, "The response has the required list."


def table(response: str, columns: list[str], rows_at_least: int) -> tuple[bool, str]:
    import re

    def cells(line: str) -> list[str]:
        return re.split(r"(?<!\\)\|", line.removeprefix("|").removesuffix("|"))

    lines = [line.strip() for line in response.splitlines()]
    for number, line in enumerate(lines[1:], 1):
        if not re.fullmatch(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?", line) or "|" not in lines[number - 1]:
            continue
        head = [cell.strip(" \t*_`").lower() for cell in cells(lines[number - 1])]
        if len(head) != len(cells(line)):
            continue
        rows = 0
        for row in lines[number + 1 :]:
            if "|" not in row:
                break
            if len(cells(row)) != len(head):
                return False, "A row of the table has a different number of columns from its header."
            rows += 1
        missing = [column for column in columns if column.strip(" \t*_`").lower() not in head]
        if missing:
            return False, f"The table lacks the column {missing[0]}."
        if rows < rows_at_least:
            return False, f"The table has {rows} rows, but at least {rows_at_least} are required."
        return True, "The response has the required table."
    return False, "The response has no Markdown table."


def markdown(response: str, elements: list[str]) -> tuple[bool, str]:
    import re

    signs = {
        "heading": r"(?m)^ {0,3}#{1,6}[ \t]+\S",
        "list": r"(?m)^[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+(?!(?:[-*_][ \t]*){2,}\r?$)\S",
        "bold": r"\*\*[^*\n]+\*\*|__[^_\n]+__",
        "italic": r"(?<!\*)\*[^*\n]+\*(?!\*)|(?<![_\w])_[^_\n]+_(?![_\w])",
        "code": r"`[^`\n]+`|(?m:^```)",
        "table": r"(?m)^\|?[ \t]*:?-+:?[ \t]*\|[ \t:|-]*\r?$",
        "quote": r"(?m)^> ?\S",
    }
    found = [name for name, sign in signs.items() if re.search(sign, response)]
    # A closed one has a group; an open one is read once, however many brackets there are.
    if any(link[1] for link in re.finditer(r"\[[^\]\n]+(?:\]\([^)\n]+(\))?)?", response)):
        found.append("link")
    missing = [name for name in elements if name not in found]
    if missing:
        return False, f"The response lacks the Markdown element {missing[0]}."
    if not found:
        return False, "The response uses no Markdown."
    return True, "The response uses Markdown as required."


def language(response: str, language: str) -> tuple[bool, str]:
    letters = [c for c in response if c.isalpha()]
    if not letters:
        return False, "The response has no letters."
    chinese = sum("一" <= c <= "鿿" for c in letters)
    latin = sum(c.isascii() for c in letters)
    share = (chinese if language == "zh" else latin) / len(letters)
    if share < 0.5:
        return False, f"Only {100 * share:.0f} % of the letters belong to the required language."
    return True, "The response is in the required language."


def words(response: str, at_least: int, at_most: int | None) -> tuple[bool, str]:
    count = len(response.split())
    if count < at_least or (at_most is not None and count > at_most):
        return False, f"The response has {count} words."
    return True, "The response has the required number of words."


def characters(response: str, at_least: int, at_most: int | None) -> tuple[bool, str]:
    count = len(response)
    if count < at_least or (at_most is not None and count > at_most):
        return False, f"The response has {count} characters."
    return True, "The response has the required number of characters."


def date(response: str, form: str) -> tuple[bool, str]:
    import re

    months = "January|February|March|April|May|June|July|August|September|October|November|December"
    # Not \b: Chinese may come before, without a space.
    start, end = r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])"
    forms = {
        "2026-03-31": r"(?<!\d)\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?!\d)",
        "March 31, 2026": rf"{start}(?:{months}) (?:[1-9]|[12]\d|3[01]), \d{{4}}{end}",
        "31 March 2026": rf"{start}(?:[1-9]|[12]\d|3[01]) (?:{months}) \d{{4}}{end}",
        "March 2026": rf"{start}(?:{months}) \d{{4}}{end}",
        "03/31/2026": r"(?<!\d)(?:0?[1-9]|1[0-2])/(?:0?[1-9]|[12]\d|3[01])/\d{4}(?!\d)",
    }
    if re.search(forms[form], response):
        return True, "The response has a date in the required format."
    return False, f"The response has no date like {form}."


def case(response: str, case: str) -> tuple[bool, str]:
    if (response.upper() if case == "upper" else response.lower()) == response:
        return True, f"The response is in {case} case."
    return False, f"The response must be entirely in {case} case."
