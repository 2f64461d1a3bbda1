"""An answer that was paid for, shown again from the ledger: no wish is needed, and no data read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hartley.agent.answers.answer import Answer, BatchAnswer, certificate_of
from hartley.agent.answers.cells import read_cells
from hartley.agent.ledger.entries import NULL, canonical, digest, question_digest
from hartley.agent.pricing.price import price
from hartley.agent.questions.batch import from_plain, to_plain
from hartley.agent.questions.question import parse
from hartley.agent.quotes import questions_of
from hartley.errors import Refused
from hartley.service.envelope import not_found
from hartley.service.hosted_dataset import desk_of
from hartley.service.own_rows import own_balance, own_place

if TYPE_CHECKING:
    from collections.abc import Callable

    from hartley.agent.agent import Agent
    from hartley.agent.ledger.ledger import Ledger
    from hartley.agent.questions.selection import Selection
    from hartley.service.own_rows import OwnCharge


def reopened(agent: Agent, ledger: Ledger, analyst: str, charge: OwnCharge) -> BatchAnswer:
    """Return the answers of a row again, in the cells that it paid for.

    What the row repeated from earlier rows is shown in the finest cells that the account knows.
    Raises an error, like for an absent row, if the account did not pay for all of it.
    """
    desk, name = desk_of(agent), agent.schema.name

    def read(text: str) -> Selection:
        return parse(text, desk.schema, desk.rows)

    selections = [read(text) for text in texts_of(charge.note, read)]
    paid = [from_plain(question) for question in charge.questions]
    steps = {replace(question, step=1): question.step for question in paid}
    known = desk.known_plans(selections, ledger, analyst)
    plans = [
        plan.with_steps(
            [steps.get(replace(asked, step=1), asked.step) for asked in plan.questions]
        )
        for plan in known
    ]
    questions = questions_of(plans)
    plain = [to_plain(question) for question in questions]
    answers = ledger.answers(name, plain)
    if ledger.unpaid(name, analyst, plain) or None in answers:
        raise not_found("answer")
    cells = {
        question: None if text == NULL else int(text or 0)
        for question, text in zip(questions, answers, strict=True)
    }
    names = {
        question: question_digest(name, charge.version, charge.schema, canonical(content))
        for question, content in zip(questions, plain, strict=True)
    }
    certificate = certificate_of(
        [plan.text for plan in plans], price(questions, desk.schema).cells, desk.schema
    )
    own = own_balance(own_place(ledger, name, analyst))
    return BatchAnswer(
        tuple(
            Answer(
                text=plan.text,
                reading=read_cells(plan, [cells[asked] for asked in plan.questions]),
                bits=0.0,
                spent=own.spent,
                remaining=own.remaining,
                certificate=certificate,
                question_id=digest(*(names[asked] for asked in plan.questions))[:16],
            )
            for plan in plans
        )
    )


def texts_of(note: str, read: Callable[[str], object]) -> list[str]:
    """Split the note of a row into its questions, which may have several lines each.
    """
    lines, texts = note.split("\n"), []
    start = 0
    while start < len(lines):
        # The longest run of lines that is a question: a comment may stand after a whole one.
        for end in range(len(lines), start, -1):
            text = "\n".join(lines[start:end])
            if _is_question(text, read):
                texts.append(text)
                start = end
                break
        else:
            raise not_found("answer")
    return texts


def _is_question(text: str, read: Callable[[str], object]) -> bool:
    try:
        read(text)
    except Refused:
        return False
    return True
