"""Values that follow from words in a text: a relative date, a code for a language or currency.

Only inferences that everybody would make in the same way. People mark all others as inferable, with the reason.
"""

import re
from datetime import date, timedelta

from annotator.core.provenance.numbers_and_dates import Date, Span

#: A word for a time → the days from today that it may mean, (first, last).
_RANGES: tuple[tuple[str, int, int], ...] = (
    ("day after tomorrow|后天", 2, 2),
    ("today|tonight|this morning|this afternoon|this evening|今天|今晚|今日", 0, 0),
    ("tomorrow|明天|明日|明早|明晚", 1, 1),
    ("yesterday|last night|昨天|昨日|昨晚", -1, -1),
    ("day before yesterday|前天", -2, -2),
    ("days?|recently|recent|lately|upcoming|天|最近|近期", -31, 31),
    ("fortnight|weeks?|week's|周|星期|礼拜", -35, 35),
    ("months?|month's|monthly|个月|本月|上月|下月", -366, 366),
    ("quarters?|季度", -366, 366),
    ("years?|year's|annual|今年|明年|去年|年", -1827, 1827),
)
_WEEKDAYS = ("monday|周一|星期一", "tuesday|周二|星期二", "wednesday|周三|星期三", "thursday|周四|星期四",
             "friday|周五|星期五", "saturday|周六|星期六", "sunday|周日|周天|星期日|星期天")  # fmt: skip
_RANGE_PATTERNS = [
    (re.compile("|".join(rf"\b{word}\b" if word[0].isascii() else word for word in words.split("|"))), first, last)
    for words, first, last in _RANGES
]
_WEEKDAY_PATTERNS = [
    re.compile("|".join(rf"\b{word}s?\b" if word[0].isascii() else word for word in words.split("|")))
    for words in _WEEKDAYS
]
_WEEKEND = re.compile(r"\bweekends?\b|周末")

#: Code → the words for it. Languages by ISO 639-1, currencies by ISO 4217, both in their usual spelling.
_CODES: dict[str, str] = {
    "ar": "arabic|阿拉伯语", "de": "german|德语|德文", "en": "english|英语|英文", "es": "spanish|西班牙语",
    "fr": "french|法语|法文", "hi": "hindi|印地语", "it": "italian|意大利语", "ja": "japanese|日语|日文",
    "ko": "korean|韩语|韩文", "nl": "dutch|荷兰语", "pl": "polish|波兰语", "pt": "portuguese|葡萄牙语",
    "ru": "russian|俄语|俄文", "sv": "swedish|瑞典语", "tr": "turkish|土耳其语", "uk": "ukrainian|乌克兰语",
    "vi": "vietnamese|越南语", "zh": "chinese|mandarin|中文|汉语",
    "usd": "us dollars?|dollars?|\\$|美元|美金", "eur": "euros?|€|欧元", "jpy": "japanese yen|yen|日元",
    "gbp": "british pounds?|pounds?|sterling|£|英镑", "cny": "yuan|renminbi|rmb|人民币|元",
    "inr": "indian rupees?|rupees?|卢比", "chf": "swiss francs?|francs?|瑞士法郎", "krw": "won|韩元",
    "btc": "bitcoins?|比特币", "eth": "ethereum|ether|以太坊", "ltc": "litecoin|莱特币", "xrp": "ripple",
}  # fmt: skip
_CODE_PATTERNS = {
    code: re.compile(
        "|".join(rf"\b{word}\b" if word[0].isascii() and word[0].isalpha() else word for word in words.split("|"))
    )
    for code, words in _CODES.items()
}


def named_code(folded_value: str, folded_text: str) -> Span | None:
    """Return the span in a folded text that names what a code such as "pt", "pt-br" or "EUR" means, else None."""
    if len(folded_value) > 5:
        return None
    pattern = _CODE_PATTERNS.get(folded_value.partition("-")[0])
    match = pattern.search(folded_text) if pattern else None
    return match.span() if match else None


def relative_date(wanted: tuple[Date, ...], today: Date, folded_text: str) -> Span | None:
    """Return the span in a folded text that names, seen from ``today``, a time that includes a wanted date, else None.

    Words for longer times (week, month) include every day that far from today in either direction, so a hit means that
    a date may have been inferred, not that it was inferred correctly.
    """
    now = _day(today)
    for one in wanted:
        day = _day(one)
        if now is None or day is None:
            continue
        distance = (day - now) // timedelta(days=1)
        for pattern, first, last in _RANGE_PATTERNS:
            if first <= distance <= last and (match := pattern.search(folded_text)):
                return match.span()
        if abs(distance) <= 15:
            match = _WEEKDAY_PATTERNS[day.weekday()].search(folded_text)
            match = match or (_WEEKEND.search(folded_text) if day.weekday() > 3 else None)
            if match:
                return match.span()
    return None


def _day(one: Date) -> date | None:
    year, month, day = one
    try:
        return date(year, month, day or 1) if year else None
    except ValueError:
        return None
