"""The owner's page of roles in a real browser, and where everybody lands."""

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


def alone(page) -> int:
    return int(page.text_content("#count .tile dd").replace(",", ""))


def test_people_alone_are_counted_as_roles_change_and_then_released(hospital, visitors, look):
    owner = visitors()
    page = owner.log_in(hospital.owner_token)
    assert page.url.endswith("/console/owner"), "an owner lands on the datasets"
    look(page, "owner-landing")
    page.click("text=Manage people")
    page.click("text=Roles of the columns")
    page.wait_for_selector("#count .tile")
    look(page, "roles")
    before = alone(page)
    with page.expect_response(lambda reply: reply.url.endswith("/roles")):
        page.select_option("select[aria-label='Role of region']", "undecided")
    page.wait_for_selector("#count[aria-busy=false]")
    fewer = alone(page)
    assert fewer < before
    with page.expect_response(lambda reply: reply.url.endswith("/roles")):
        page.select_option("select[aria-label='Role of weight']", "key")
    page.wait_for_selector("#count[aria-busy=false]")
    assert alone(page) > fewer
    page.select_option("select[aria-label='Role of weight']", "undecided")
    page.wait_for_selector("#count[aria-busy=false]")
    page.click("button:text-is('Show the release')")
    assert "Nobody has confirmed these roles" in page.text_content("[role=alert]")
    look(page, "roles-refused")
    page.check("[name=confirmed]")
    page.click("button:text-is('Show the release')")
    page.wait_for_selector(".report")
    look(page, "release", check=False)
    page.fill("#again", "people")
    with page.expect_download() as begun:
        page.click("button:text-is('Take the release as CSV')")
    assert begun.value.suggested_filename == "people-k5.csv"


def test_roles_work_without_script(hospital, visitors):
    owner = visitors(java_script_enabled=False)
    page = owner.log_in(hospital.owner_token)
    owner.go("/owner/datasets/people/roles")
    before = alone(page)
    page.select_option("select[aria-label='Role of region']", "undecided")
    page.click("button:text-is('Count again')")
    assert alone(page) < before


def test_an_analyst_without_an_allowance_reads_whom_to_ask(hospital, visitors, look):
    page = visitors().log_in(hospital.analyst("nora", bits="0"))
    assert page.text_content("h1") == "No allowance yet"
    assert "Ask owner, who can give" in page.text_content("main")
    look(page, "no-allowance")
