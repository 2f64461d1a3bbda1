"""A question in three other places: SQL, Python and curl."""

from __future__ import annotations

import json
import shlex


def copied_texts(
    question: str, wish: str, dataset: str, service: str
) -> tuple[tuple[str, str], ...]:
    """Return a question with its price as texts to paste elsewhere; none contains a token.

    Example:
        >>> texts = dict(copied_texts("SELECT COUNT(*) FROM t", "2", "t", "https://h"))
        >>> texts["SQL"]
        '/* bits=2 */ SELECT COUNT(*) FROM t'
    """
    flat = " ".join(question.split()) if "--" not in question else question
    body = json.dumps({"question": question, "bits": wish}, ensure_ascii=False)
    connected = (
        f"hartley.connect({service!r}, token=os.environ['HARTLEY_TOKEN'], dataset={dataset!r})"
    )
    python = "\n".join(
        (
            "import os",
            "",
            "import hartley",
            "",
            f"agent = {connected}",
            f"print(agent.ask({question!r}, bits={wish!r}))",
        )
    )
    curl = " \\\n  ".join(
        (
            f"curl {shlex.quote(f'{service}/v1/datasets/{dataset}/ask')}",
            '-H "Authorization: Bearer $HARTLEY_TOKEN"',
            "-H 'Content-Type: application/json'",
            f"-d {shlex.quote(body)}",
        )
    )
    return (("SQL", f"/* bits={wish} */ {flat}"), ("Python", python), ("curl", curl))
