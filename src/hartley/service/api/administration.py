"""The routes of owners and auditors: accounts, tokens, allowances, versions, ledger, audit log."""

# ruff: noqa: TC001 - the framework reads the types of parameters when it starts

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from hartley.service.api.access import Acts, Caller
from hartley.service.api.models import (
    AccountBody,
    AllowanceBody,
    BudgetBody,
    CapBody,
    TokenBody,
    VersionBody,
)

router = APIRouter(prefix="/v1")
Account = Annotated[str, Path(max_length=64, description="The account.", examples=["ana"])]
Name = Annotated[str, Path(max_length=100, description="The dataset.", examples=["people"])]


@router.get("/accounts", tags=["accounts"])
async def list_accounts(caller: Caller, acts: Acts) -> dict[str, Any]:
    """List the accounts. For owners."""
    return {"accounts": await asyncio.to_thread(acts.accounts, caller)}


@router.post("/accounts", tags=["accounts"], status_code=201)
async def add_account(caller: Caller, acts: Acts, body: AccountBody) -> dict[str, Any]:
    """Add an account, which sees no dataset yet. For owners."""
    return await asyncio.to_thread(acts.add_account, caller, body.name, body.role)


@router.get("/accounts/{account}", tags=["accounts"])
async def show_account(caller: Caller, acts: Acts, account: Account) -> dict[str, Any]:
    """Return an account with its tokens. For owners."""
    return await asyncio.to_thread(acts.account, caller, account)


@router.delete("/accounts/{account}", tags=["accounts"])
async def revoke_account(caller: Caller, acts: Acts, account: Account) -> dict[str, Any]:
    """Revoke an account with its tokens and sessions, for good. For owners."""
    await asyncio.to_thread(acts.revoke_account, caller, account)
    return {"revoked": account}


@router.put("/accounts/{account}/datasets/{name}", tags=["accounts"])
async def grant(caller: Caller, acts: Acts, account: Account, name: Name) -> dict[str, Any]:
    """Let an account see a dataset; its allowance is 0 bits until it is set. For owners."""
    await asyncio.to_thread(acts.grant, caller, account, name)
    return {"account": account, "dataset": name, "granted": True}


@router.delete("/accounts/{account}/datasets/{name}", tags=["accounts"])
async def withdraw(caller: Caller, acts: Acts, account: Account, name: Name) -> dict[str, Any]:
    """Withdraw a dataset from an account. For owners."""
    await asyncio.to_thread(acts.withdraw, caller, account, name)
    return {"account": account, "dataset": name, "granted": False}


@router.put("/accounts/{account}/daily_cap", tags=["accounts"])
async def set_daily_cap(
    caller: Caller, acts: Acts, account: Account, body: CapBody
) -> dict[str, Any]:
    """Set the most that an account may spend in a day, in all datasets. For owners."""
    await asyncio.to_thread(acts.set_daily_cap, caller, account, body.bits)
    return {"account": account, "daily_cap_bits": None if body.bits is None else str(body.bits)}


@router.get("/tokens", tags=["accounts"])
async def list_tokens(
    caller: Caller, acts: Acts, account: Annotated[str, Query(max_length=64)]
) -> dict[str, Any]:
    """List the tokens of an account, without their texts. For owners."""
    content = await asyncio.to_thread(acts.account, caller, account)
    return {"tokens": content["tokens"]}


@router.post("/tokens", tags=["accounts"], status_code=201)
async def issue_token(caller: Caller, acts: Acts, body: TokenBody) -> dict[str, Any]:
    """Issue a token; its text is in this reply and kept nowhere. For owners."""

    def work() -> dict[str, Any]:
        return acts.issue_token(
            caller, body.account, scope=body.scope, days=body.days, label=body.label
        )

    return await asyncio.to_thread(work)


@router.delete("/tokens/{token_id}", tags=["accounts"])
async def revoke_token(
    caller: Caller, acts: Acts, token_id: Annotated[str, Path(max_length=64)]
) -> dict[str, Any]:
    """Revoke a token; every worker refuses it within a second. For owners."""
    await asyncio.to_thread(acts.revoke_token, caller, token_id)
    return {"revoked": token_id}


@router.get("/allowances", tags=["budgets"])
async def show_allowances(
    caller: Caller, acts: Acts, dataset: Annotated[str, Query(max_length=100)]
) -> dict[str, Any]:
    """Return the budget of a dataset, all charges and all allowances. For owners."""
    return await asyncio.to_thread(acts.totals, caller, dataset)


@router.put("/allowances", tags=["budgets"])
async def set_allowance(caller: Caller, acts: Acts, body: AllowanceBody) -> dict[str, Any]:
    """Set the part of a budget that one account may spend. For owners."""
    return await asyncio.to_thread(
        acts.set_allowance, caller, body.dataset, body.account, body.bits
    )


@router.put("/datasets/{name}/budget", tags=["budgets"])
async def set_budget(caller: Caller, acts: Acts, name: Name, body: BudgetBody) -> dict[str, Any]:
    """Change the budget of a dataset, which changes its promise. For owners."""
    return await asyncio.to_thread(acts.set_budget, caller, name, body.bits)


@router.get("/datasets/{name}/versions", tags=["versions"])
async def list_versions(caller: Caller, acts: Acts, name: Name) -> dict[str, Any]:
    """Name the versions of a dataset, the present one last. For owners."""
    return await asyncio.to_thread(acts.versions, caller, name)


@router.post("/datasets/{name}/versions", tags=["versions"], status_code=201)
async def add_version(caller: Caller, acts: Acts, name: Name, body: VersionBody) -> dict[str, Any]:
    """Replace the table by a new version; earlier charges stay. For owners."""

    def work() -> dict[str, Any]:
        return acts.add_version(
            caller, name, data=body.data, schema=body.schema_file, erasure=body.erasure
        )

    return await asyncio.to_thread(work)


@router.get("/audit", tags=["ledger"])
async def audit(
    caller: Caller,
    acts: Acts,
    after: Annotated[int, Query(description="The field next.")] = 0,
    limit: int = 100,
) -> dict[str, Any]:
    """Return the audit log in pages: every act of an owner. For owners and auditors."""

    def work() -> dict[str, Any]:
        return acts.audit(caller, after=after, limit=limit)

    return await asyncio.to_thread(work)


@router.get("/ledger/head", tags=["ledger"])
async def ledger_head(caller: Caller, acts: Acts) -> dict[str, Any]:
    """Return the end of the ledger's chain, to be kept elsewhere. For owners and auditors."""
    return await asyncio.to_thread(acts.head, caller)


@router.post("/ledger/verify", tags=["ledger"], status_code=202)
async def begin_verification(caller: Caller, acts: Acts) -> dict[str, Any]:
    """Begin to replay the whole ledger: hashes, balances, prices. For owners and auditors."""
    return await asyncio.to_thread(acts.begin_verification, caller)


@router.get("/ledger/verify/{job}", tags=["ledger"])
async def show_verification(
    caller: Caller, acts: Acts, job: Annotated[str, Path(max_length=32)]
) -> dict[str, Any]:
    """Return how far a verification is, or what it found. For owners and auditors."""
    return await asyncio.to_thread(acts.verification, caller, job)
