"""What is said instead of an answer: that there is none, what was searched, and what to try."""

from __future__ import annotations

from assay.answer.reply import Searched

_PLACES = 3
NOTHING_SAYS = "Nothing that was found answers this."


def refusal(searched: Searched, why: str = NOTHING_SAYS) -> str:
    """The text of a refusal, for people."""
    lines = [f"{why} Searched: {searched.corpus}."]
    if searched.unseen:
        lines.append(f"No text here has {_listed(searched.unseen)}.")
    if searched.places:
        lines.append(f"Nearest: {'; '.join(searched.places[:_PLACES])}.")
        lines.append(
            "Try other words for it, or read those places; assay search shows more of them, and --threshold 0 answers all the same."
        )
    else:
        lines.append("Try other words for it; if there are filters, fewer of them.")
    return "\n".join(lines)


def _listed(words: tuple[str, ...]) -> str:
    """`a`, `b` or `c`, in quotes."""
    quoted = [f"“{word}”" for word in words]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"
