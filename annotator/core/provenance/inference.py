"""Values that follow from words in a text: a code for a language or currency.

Only inferences that everybody would make in the same way. People mark all others as inferable, with the reason.
"""

import re

from annotator.core.provenance.numbers_in_text import Span

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
