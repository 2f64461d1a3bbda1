"""The bodies of requests and errors, with examples for the OpenAPI description."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr

from hartley.agent.quotes import Wish
from hartley.service.envelope import ServiceError

Number = Annotated[
    StrictInt | StrictFloat | Annotated[StrictStr, Field(max_length=100)],
    Field(description="A number, or a text such as '0.5' or '1/3' for an exact one."),
]
QuestionText = Annotated[
    StrictStr,
    Field(
        min_length=1,
        max_length=20_000,
        description="SQL: one SELECT over the table of the schema.",
        examples=["SELECT AVG(age) FROM people"],
    ),
]


class Body(BaseModel):
    """A body in which no unknown field is accepted."""

    model_config = ConfigDict(extra="forbid")


class AskedQuestion(Body):
    """A question with a wish of its own."""

    question: QuestionText
    bits: Number | None = Field(default=None, description="The price, in bits.")
    error: Number | None = Field(default=None, description="The largest error, instead of bits.")
    min_rows: Number | None = Field(
        default=None,
        description="The least number of rows from which averages and spreads keep the error.",
    )


class QuestionBody(Body):
    """One question, or several as a batch that is priced together."""

    question: QuestionText | None = None
    questions: list[QuestionText | AskedQuestion] | None = Field(
        default=None, description="A batch, instead of question."
    )
    bits: Number | None = Field(
        default=None, description="The price of each question without a wish of its own, in bits."
    )
    error: Number | None = Field(default=None, description="The largest error, instead of bits.")
    min_rows: Number | None = Field(
        default=None,
        description="The least number of rows from which averages and spreads keep the error.",
    )
    vacuous: bool = Field(
        default=False, description="Also accept answers that say no more than the schema."
    )

    @property
    def batch(self) -> bool:
        """Whether the reply is a list."""
        return self.questions is not None

    @property
    def wishes(self) -> list[Wish]:
        """The questions, each with its wish."""
        if (self.question is None) == (self.questions is None):
            raise ServiceError(
                422,
                "invalid",
                "The body does not have exactly one of the fields question and questions",
                hint='send {"question": "SELECT ..."}',
            )
        listed = [self.question] if self.questions is None else self.questions
        wishes = []
        for asked in listed:
            assert asked is not None
            if isinstance(asked, str):
                wishes.append(Wish(asked, self.error, self.bits, self.min_rows))
            elif asked.bits is None and asked.error is None:
                least = self.min_rows if asked.min_rows is None else asked.min_rows
                wishes.append(Wish(asked.question, self.error, self.bits, least))
            else:
                wishes.append(Wish(asked.question, asked.error, asked.bits, asked.min_rows))
        return wishes


class PriceBody(QuestionBody):
    """What to price."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"question": "SELECT AVG(age) FROM people", "bits": 2, "curve": True}]
        }
    )

    curve: bool = Field(default=False, description="Also return prices and errors by bits.")
    most: Number = Field(default=16, description="Where the curve ends, in bits.")
    explain: bool = Field(default=False, description="Also return what the price rests on.")


class AskBody(QuestionBody):
    """What to ask."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"question": "SELECT AVG(age) FROM people", "bits": 2}]}
    )

    given: list[Annotated[StrictStr, Field(max_length=16)]] | None = Field(
        default=None,
        max_length=10_000,
        description="The field given of a price: rows that the new one may rest on.",
    )
    most_bits: Annotated[float, Field(ge=0, strict=True)] | None = Field(
        default=None,
        description="The field bits of a price: if more is due by now, nothing is charged.",
    )


class PlanBody(QuestionBody):
    """A workload to plan."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "questions": ["SELECT AVG(age) FROM people", "SELECT MAX(age) FROM people"],
                    "budget": 4,
                }
            ]
        }
    )

    budget: Number | None = Field(default=None, description="The bits that the batch may cost.")
    weights: list[Number] | None = Field(
        default=None, max_length=10_000, description="How much the error of each question matters."
    )
    absolute: bool = Field(
        default=False, description="Compare errors as numbers, not as shares of ranges."
    )


class AccountBody(Body):
    """An account to add."""

    name: Annotated[StrictStr, Field(max_length=64, examples=["ana"])]
    role: Annotated[StrictStr, Field(max_length=20, examples=["analyst"])] = "analyst"


class TokenBody(Body):
    """A token to issue."""

    account: Annotated[StrictStr, Field(max_length=64, examples=["ana"])]
    scope: Annotated[StrictStr, Field(max_length=20, examples=["ask"])]
    days: Annotated[float | None, Field(description="Valid for so many days; default: no end.")] = (
        None
    )
    label: Annotated[StrictStr | None, Field(max_length=100)] = None


class CapBody(Body):
    """A daily cap."""

    bits: Number | None = Field(
        description="The most that may be spent in a UTC day; null: no cap."
    )


class AllowanceBody(Body):
    """An allowance."""

    dataset: Annotated[StrictStr, Field(max_length=100, examples=["people"])]
    account: Annotated[StrictStr, Field(max_length=64, examples=["ana"])]
    bits: Number


class BudgetBody(Body):
    """A budget."""

    bits: Number


class VersionBody(Body):
    """A new version of a table."""

    data: Annotated[
        StrictStr | None,
        Field(max_length=255, description="A file next to the configured one; default: that one."),
    ] = None
    schema_file: Annotated[
        StrictStr | None,
        Field(alias="schema", max_length=255, description="A changed schema next to the old one."),
    ] = None
    erasure: bool = Field(default=False, description="Whether a person was removed.")


class ErrorContent(BaseModel):
    """What went wrong."""

    code: str = Field(examples=["budget"])
    message: str = Field(examples=["The question costs 4 bits and the allowance has 3 bits left"])
    hint: str
    place: tuple[int, int] | None = Field(description="From where to where in the question.")
    requested_bits: float | None
    remaining_bits: float | None = Field(description="Of the account's own allowance.")
    request_id: str


class ErrorEnvelope(BaseModel):
    """The reply to everything that goes wrong."""

    error: ErrorContent
