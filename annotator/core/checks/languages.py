"""Detect the language of a text by its script."""

import re

_CHINESE = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_CHINESE_RUN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff][\u3000-\u303f\uff00-\uffef\u3400-\u9fff]*")
_WORD = re.compile(r"[A-Za-z]{2,}")
#: Text in quotation marks, brackets, code or addresses does not count as the speaker's.
_QUOTED = re.compile(
    r"“[^”]{0,400}”|\"[^\"]{0,400}\"|「[^」]{0,400}」|『[^』]{0,400}』|《[^》]{0,400}》|‘[^’]{0,400}’|`[^`]{0,400}`"
    r"|（[^）]{0,400}）|\([^)]{0,400}\)|(?<![A-Za-z])'[^']{1,400}'(?![A-Za-z])|https?://\S+|[^\s@]{1,64}@\S{1,255}"
)

#: Fewer foreign characters (Chinese) or words (English) than this are taken for a name.
_MIN_CHARACTERS, _MIN_WORDS = 6, 6


def foreign_text(text: str, language: str) -> str | None:
    """Return the part of a text that is not in ``language`` ("en" or "zh"), names aside; None if there is none.

    English: a text is foreign if it has, outside quotations, at least 6 Chinese characters, and more of them than
    English words. Chinese: at least 6 English words and no Chinese character.
    """
    if language == "en":
        if text.isascii() or not _CHINESE.search(text):
            return None
        text = _QUOTED.sub(" ", text)
        characters = len(_CHINESE.findall(text))
        if characters >= _MIN_CHARACTERS and characters > len(_WORD.findall(text)):
            return max((str(run[0]) for run in _CHINESE_RUN.finditer(text)), key=len)
        return None
    if _CHINESE.search(text):
        return None
    text = _QUOTED.sub(" ", text)
    return text if len(_WORD.findall(text)) >= _MIN_WORDS else None
