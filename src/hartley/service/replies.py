"""The envelope of replies and errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hartley.errors import EngineError, HartleyError, InputError, Pending, Refused, Stale
from hartley.trusted.ledger.store import AnotherLedger

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hartley.results.answer import Answer
    from hartley.results.plan import Plan, PriceCurve
    from hartley.results.quote import Quote


# --- envelope -------------------------------------------------------------------------------------
# What a service replies to a mistake: one JSON envelope for every error.

RETRY_SECONDS = 1
"""After how many seconds a client may try again, if nothing better is known."""


class ServiceError(HartleyError):
    """An error as a reply: a status, a code for programs, and a sentence with a hint for people."""

    def __init__(  # noqa: PLR0913 - the fields of the envelope, each by name
        self,
        status: int,
        code: str,
        problem: str,
        *,
        hint: str,
        place: tuple[int, int] | None = None,
        requested: float | None = None,
        remaining: float | None = None,
        retry_after: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(problem, hint=hint)
        self.status, self.code, self.place = status, code, place
        self.requested, self.remaining = requested, remaining
        self.retry_after = retry_after
        self._headers = dict(headers or {})

    def body(self, request_id: str) -> dict[str, Any]:
        """Return the envelope."""
        return {
            "error": {
                "code": self.code,
                "message": self.problem,
                "hint": self.hint,
                "place": None if self.place is None else list(self.place),
                "requested_bits": self.requested,
                "remaining_bits": self.remaining,
                "request_id": request_id,
            }
        }

    @property
    def headers(self) -> dict[str, str]:
        """The headers that belong to the reply."""
        retry = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        return self._headers | retry


def as_service_error(  # noqa: PLR0911 - one for each kind of error
    error: BaseException,
) -> ServiceError:
    """Return what to reply to an error; one that nobody expected says nothing about itself.

    Example:
        >>> reply = as_service_error(ValueError("a private value"))
        >>> reply.status, reply.code, reply.problem
        (500, 'internal', 'The service failed to handle the request')
    """
    if isinstance(error, ServiceError):
        return error
    if isinstance(error, Pending):
        return pending(error.problem)
    if isinstance(error, Stale):
        return ServiceError(409, "stale", error.problem, hint=error.hint)
    if isinstance(error, Refused):
        if error.requested is not None:
            return ServiceError(
                409,
                "budget",
                error.problem,
                hint=error.hint,
                place=error.place,
                requested=error.requested,
                remaining=error.remaining,
            )
        return ServiceError(422, "question", error.problem, hint=error.hint, place=error.place)
    if isinstance(error, InputError):
        return ServiceError(422, "invalid", error.problem, hint=error.hint)
    if isinstance(error, AnotherLedger):
        return went_back()
    if isinstance(error, EngineError):
        # What an engine or a store says stays in the log: it can name files and servers.
        reason = getattr(error, "reason", "")
        return ServiceError(
            503,
            "unavailable",
            f"A part that the service needs does not answer{reason and f': {reason}'}",
            hint="ask again later; what was charged stays paid",
            retry_after=RETRY_SECONDS,
        )
    return ServiceError(
        500,
        "internal",
        "The service failed to handle the request",
        hint="try again, and give the operator the request id if it fails again",
    )


def went_back() -> ServiceError:
    """Return the reply while the ledger is another one, or lacks rows that were seen here."""
    return ServiceError(
        503,
        "unavailable",
        "The ledger is older than the one this service has used, or was replaced, so recent "
        "charges and answers are missing from it",
        hint="nothing is charged or shown until the operator has put the newest ledger back",
        retry_after=RETRY_SECONDS,
    )


def not_found(what: str = "dataset") -> ServiceError:
    """Return the reply for what is absent, or not for this account: the two look the same."""
    return ServiceError(
        404, "not_found", f"There is no such {what}", hint="check the name, or ask the owner"
    )


def unauthorized() -> ServiceError:
    """Return the reply for a token that is missing, wrong, expired or revoked, all the same."""
    return ServiceError(
        401,
        "token",
        "The token is missing or not valid",
        hint="send Authorization: Bearer TOKEN; the owner issues tokens",
        headers={"WWW-Authenticate": 'Bearer realm="hartley"'},
    )


def forbidden(what: str, hint: str) -> ServiceError:
    """Return the reply for something that the role or the scope of a token does not allow."""
    return ServiceError(403, "scope", what, hint=hint)


def busy(problem: str, hint: str, seconds: int = RETRY_SECONDS) -> ServiceError:
    """Return the reply of a service that has too much to do."""
    return ServiceError(503, "busy", problem, hint=hint, retry_after=seconds)


def pending(
    problem: str, hint: str = "ask the same again: what is paid for is free"
) -> ServiceError:
    """Return the reply for a question that is paid for and not answered yet."""
    return ServiceError(503, "pending", problem, hint=hint, retry_after=RETRY_SECONDS)


def too_many(what: str, seconds: int) -> ServiceError:
    """Return the reply for an account that asks too often."""
    return ServiceError(
        429,
        "rate",
        f"The account has sent too many {what} in a minute",
        hint=f"wait {seconds} s; repeats of paid questions are not limited",
        retry_after=seconds,
    )


def too_large() -> ServiceError:
    """Return the reply for a body beyond the limit."""
    return ServiceError(
        413,
        "body",
        "The body is too large",
        hint="send fewer questions at once",
        headers={"Connection": "close"},
    )


# --- results --------------------------------------------------------------------------------------


def shown_answer(answer: Answer) -> dict[str, Any]:
    """Return an answer for JSON: doubles in ``rows``, exact intervals and words in ``table``."""
    return answer.to_dict() | {"table": answer.reading.to_dict()}


def shown_text(result: Quote | PriceCurve | Plan) -> dict[str, Any]:
    """Return a price, a curve or a plan for JSON, with the text that earlier clients show."""
    return result.to_dict() | {"text": str(result)}
