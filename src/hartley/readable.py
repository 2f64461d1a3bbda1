"""Results that can be read: a short text for print(), and the same as HTML for a notebook."""

from __future__ import annotations

import html
import textwrap

WIDTH = 100


class ReadableResult:
    """A result that says itself what it is, in a headline and sentences.

    Example:
        >>> class Counted(ReadableResult):
        ...     headline = "Everybody shares a class with 4 others."
        ...     sentences = ("The smallest class has 5 records.",)
        >>> print(Counted())
        Everybody shares a class with 4 others.
        • The smallest class has 5 records.
        >>> Counted()._repr_html_()[:50]
        '<p><b>Everybody shares a class with 4 others.</b><'
    """

    def _headline_and_sentences(self) -> tuple[str, list[str]]:
        return str(getattr(self, "headline", "")), [*map(str, getattr(self, "sentences", ()))]

    def __str__(self) -> str:
        headline, sentences = self._headline_and_sentences()
        paragraphs = [(headline, ""), *((f"• {sentence}", "  ") for sentence in sentences)]
        return "\n".join(
            "\n".join(textwrap.wrap(text, WIDTH, subsequent_indent=indent, break_on_hyphens=False))
            for text, indent in paragraphs
        )

    def _repr_html_(self) -> str:
        headline, sentences = self._headline_and_sentences()
        points = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in sentences)
        return f"<p><b>{html.escape(headline)}</b></p>" + (f"<ul>{points}</ul>" if points else "")
