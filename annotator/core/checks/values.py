"""Mask the values in a text, so that two fillings of one template have the same words.

Values are numbers, dates, ids, addresses, text in quotation marks, and names: words with a capital letter inside a
sentence. Chinese names have no mark and stay. Every pass over the text takes time in proportion to its length.
"""

import re

#: Several values in a row count as one: a date or a name may have any number of words.
VALUE = "\x00"

_HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"[{_HAN}]|[^\W_{_HAN}]+")
#: A Chinese character, a line end, or what stands between blanks.
_RUN = re.compile(rf"[{_HAN}]|\n|[^\s{_HAN}]+")
#: Text in quotation marks, and Chinese days and dates.
_SPANS = re.compile(
    r"“[^“”\n]{1,80}”|\"[^\"\n]{1,80}\"|(?<!\w)'[^'\n]{1,80}'(?!\w)|「[^「」\n]{1,80}」|『[^『』\n]{1,80}』"
    r"|《[^《》\n]{1,80}》|[昨今明后][天日晚早]|(?:周|星期|礼拜)[一二三四五六日天末]"
    r"|[0-9零〇一二两三四五六七八九十]{1,4}[年月日号点时分]"
)
_HAN_NUMBERS = frozenset("零〇一二两三四五六七八九十百千万亿")
#: Words that count as values.
_NUMBERS = "two three four five six seven eight nine ten eleven twelve twenty thirty fifty hundred"
_DAYS = "today tonight tomorrow yesterday monday tuesday wednesday thursday friday saturday sunday"
_VALUE_WORDS = frozenset(f"{_NUMBERS} {_DAYS}".split())
_ENDS = (".", "!", "?", "…", ":", ";", "。", "\n")
_CLOSING = "\"')]}”’»*_"


def plain_tokens(text: str) -> list[str]:
    """Return the words of a text in normal form, in small letters; each Chinese character is one."""
    return _TOKEN.findall(text.casefold())


def masked_tokens(text: str) -> list[str]:
    """Return the same with VALUE in place of values.

    If most words inside sentences have a capital letter, as in a title, they are no names.
    """
    tokens, names = _tokens(_SPANS.sub(f" {VALUE} ", text))
    inside = sum(1 for token, _ in tokens if token != VALUE)
    masks_names = 2 * names <= inside
    out: list[str] = []
    for token, is_name in tokens:
        masked = VALUE if is_name and masks_names else token
        if masked != VALUE or out[-1:] != [VALUE]:
            out.append(masked)
    return out


def _tokens(text: str) -> tuple[list[tuple[str, bool]], int]:
    """Return the tokens, each with whether it looks like a name, and the number of these."""
    out: list[tuple[str, bool]] = []
    names, starts = 0, True
    for run in _RUN.findall(text):
        if run == VALUE or run in _HAN_NUMBERS or "@" in run or "://" in run or run.startswith("www."):
            out.append((VALUE, False))
            starts = False
            continue
        for word in _TOKEN.findall(run):
            small = word.casefold()
            is_half_of_day = small in ("am", "pm") and out and out[-1][0] == VALUE
            if any(map(str.isdigit, word)) or small in _VALUE_WORDS or is_half_of_day:
                out.append((VALUE, False))
            else:
                is_name = word[0].isupper() and word != "I" and (not starts or (len(word) > 1 and word.isupper()))
                names += is_name
                out.append((small, is_name))
            starts = False
        starts = starts or run.rstrip(_CLOSING).endswith(_ENDS)
    return out, names
