"""Answers that an account has paid for, read from the ledger again: nothing can be charged here."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hartley.agent.answers.answer import Answer, certificate_of
from hartley.agent.answers.cells import read_cells
from hartley.agent.ledger.charging import plan, read_batch
from hartley.agent.ledger.rows.entries import NULL, digest
from hartley.agent.pricing.price import price
from hartley.agent.questions.batch import from_plain, to_plain
from hartley.agent.questions.question import parse
from hartley.agent.quotes import questions_of
from hartley.agent.repricing import ANY_STEP
from hartley.errors import Refused
from hartley.service.envelope import not_found
from hartley.service.own_rows import own_balance
from hartley.service.shown import shown_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hartley.agent.ledger.charging import Batch, ChargePlan
    from hartley.agent.ledger.ledger import Ledger
    from hartley.agent.questions.batch import Question
    from hartley.agent.questions.selection import Selection
    from hartley.agent.quotes import Desk
    from hartley.guarantees.certificate import Certificate
    from hartley.ranges.schema.schema import Schema
    from hartley.service.own_rows import OwnCharge


@dataclass(frozen=True)
class PaidQuestions:
    """Questions of an account in the cells that it knows, ready to be looked up."""

    plans: tuple[Selection, ...]
    questions: tuple[Question, ...]
    batch: Batch
    schema: Schema
    _shown: list[tuple[object, list[dict[str, Any]]]] = field(
        default_factory=list, repr=False, compare=False
    )
    """What was shown last, with the recorded answers and the asking account it rests on."""

    @classmethod
    def of(
        cls, desk: Desk, plans: Sequence[Selection], analyst: str, versions: tuple[str, str]
    ) -> PaidQuestions:
        """Return plans ready to be looked up, for a version of the data and of the schema."""
        questions = tuple(questions_of(plans))
        batch = read_batch(
            desk.schema.name,
            analyst,
            [to_plain(question) for question in questions],
            version=versions[0],
            schema=versions[1],
        )
        return cls(tuple(plans), questions, batch, desk.schema)

    @cached_property
    def certificate(self) -> Certificate:
        """What is promised of the answers; priced only where there are some."""
        texts = [selection.text for selection in self.plans]
        return certificate_of(texts, price(self.questions, self.schema).cells, self.schema)

    def look_up(self, ledger: Ledger) -> ChargePlan | None:
        """Return what the ledger records; None if something is not paid for or not answered.

        Raises Stale if the data or the schema were replaced meanwhile.
        """
        planned = ledger.store.read(lambda t: plan(t, self.batch))
        return planned if planned.complete else None

    def contents(self, planned: ChargePlan) -> list[dict[str, Any]]:
        """Return the recorded answers as plain values, computed once while they are the same."""
        # The balance of an allowance is a function of the asking account alone.
        own = planned.place.account
        now = planned.answers, own if own.bits is not None else own_balance(planned.place)
        for known, contents in tuple(self._shown):  # of one thread, whatever others do meanwhile
            if known == now:
                return contents
        contents = [shown_answer(answer) for answer in self.answers(planned)]
        self._shown[:] = [(now, contents)]
        return contents

    def answers(self, planned: ChargePlan) -> tuple[Answer, ...]:
        """Return the recorded answers, which cost nothing any more, with the account's balance."""
        cells = {
            question: None if text == NULL else int(text or 0)
            for question, text in zip(self.questions, planned.answers, strict=True)
        }
        names = dict(zip(self.questions, planned.digests, strict=True))
        own = own_balance(planned.place)
        return tuple(
            Answer(
                text=selection.text,
                reading=read_cells(selection, [cells[asked] for asked in selection.questions]),
                bits=0.0,
                spent=own.spent,
                remaining=own.remaining,
                certificate=self.certificate,
                question_id=digest(*(names[asked] for asked in selection.questions))[:16],
            )
            for selection in self.plans
        )


def reopened(desk: Desk, ledger: Ledger, analyst: str, charge: OwnCharge) -> tuple[Answer, ...]:
    """Return the answers of a row again, in the cells that it paid for; no wish is needed.

    What the row repeated from earlier rows is shown in the finest cells that the account knows.
    Raises an error, as for an absent row, if the account did not pay for all of it.
    """

    def read(text: str) -> Selection:
        return parse(text, desk.schema, desk.rows)

    selections = [read(text) for text in texts_of(charge.note, read)]
    paid = [from_plain(question) for question in charge.questions]
    steps = {replace(question, step=ANY_STEP): question.step for question in paid}
    plans = [
        known.with_steps(
            [steps.get(replace(asked, step=ANY_STEP), asked.step) for asked in known.questions]
        )
        for known in desk.known_plans(selections, ledger, analyst)
    ]
    questions = PaidQuestions.of(desk, plans, analyst, (charge.version, charge.schema))
    planned = questions.look_up(ledger)
    if planned is None:
        raise not_found("answer")
    return questions.answers(planned)


def texts_of(note: str, read: Callable[[str], object]) -> list[str]:
    """Split the note of a row into its questions, which may have several lines each."""
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
