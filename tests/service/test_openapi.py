"""Requests made from the OpenAPI description: whatever is sent, no reply is an unexpected error."""

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings

from hartley.service.app import CONTENT_POLICY

DANGEROUS = {"/v1/accounts/{account}", "/v1/tokens/{token_id}"}
"""Revoking is tested elsewhere: here it would lock the tests out."""


@pytest.mark.slow
@pytest.mark.parametrize("who", ["owner", "ana"])
def test_no_request_makes_the_service_fail(live, who):
    schema = schemathesis.openapi.from_url(f"{live.url}/openapi.json")
    headers = {"Authorization": f"Bearer {live.place.tokens[who]}"}
    seen = []
    for result in schema.get_all_operations():
        operation = result.ok()
        if operation.method == "delete" and operation.path in DANGEROUS:
            continue
        seen.append(operation.path)
        _try(operation, headers)
    assert len(seen) > 25


def _try(operation, headers):
    @settings(
        max_examples=8,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @schemathesis_given(operation)
    def attempt(case):
        reply = case.call(headers=headers, timeout=60)
        assert reply.status_code not in {500, 501, 502}, (operation.label, reply.text)
        assert reply.headers["content-security-policy"][0] == CONTENT_POLICY
        if reply.status_code >= 400:
            assert reply.json()["error"]["code"], operation.label

    attempt()


def schemathesis_given(operation):
    from hypothesis import given

    return given(case=operation.as_strategy())
