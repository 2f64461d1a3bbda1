import pytest

from hartley.policies.distortion.curve import CAVEATS
from hartley.reports import plot
from hartley.reports.render import page as page_of
from hartley.studies.release.curve import curve

TABLE = {"<key>": [1, 1, 2, 2, 3, 3], "secret": [1, 2, 1, 2, 2, 2]}


@pytest.fixture(scope="module")
def report():
    return curve(TABLE, confidential="secret", key="<key>", points=5)


def test_the_picture_draws_the_curve_and_both_bounds(report):
    axes = plot(report).axes[0]
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert len(lines) == 4
    above = next(line for label, line in lines.items() if "at random" in label)
    assert all(y >= report.curve.upper(x) - 1e-9 for x, y in zip(*above.get_data(), strict=True))
    drawn = next(line for label, line in lines.items() if "best rules" in label)
    assert list(drawn.get_ydata()) == [point.risk for point in report.curve.points]
    lower = next(line for label, line in lines.items() if "lower bound" in label)
    for distortion, risk in zip(lower.get_xdata(), lower.get_ydata(), strict=True):
        assert 0 <= risk <= report.curve.upper(distortion) + 1e-12
    assert "secret" in axes.get_ylabel()


def test_without_numbers_on_both_sides_there_is_no_gaussian_line_nor_column(printed):
    table = {"key": [1, 1, 2, 2, 3, 3], "secret": ["a", "b", "a", "b", "b", "b"]}
    report = curve(table, confidential="secret", key="key", points=4)
    assert len(plot(report).axes[0].get_lines()) == 3
    assert "a Gaussian" not in page_of(report)
    assert "Gaussian" not in printed(report.report())


def test_the_page_says_that_the_gaussian_is_a_comparison(report):
    page = page_of(report)
    assert "which is not a bound" in page
    assert f">{report.gaussian[0]:.6f}</td>" in page.replace("\n", "")


@pytest.mark.parametrize("objective", ["t_closeness", "delta_disclosure", "maximal_leakage"])
def test_a_worst_case_is_named_on_the_page_and_the_picture(objective, printed):
    traced = curve(TABLE, confidential="secret", key="<key>", points=4, objective=objective)
    page = page_of(traced)
    assert traced.words.name in page
    assert CAVEATS[traced.curve.objective] in page
    assert "at random" not in page
    axes = plot(traced).axes[0]
    labels = [line.get_label() for line in axes.get_lines()]
    assert not any("at random" in label or "Gaussian" in label for label in labels)
    assert axes.get_ylabel().startswith(traced.words.axis.format(w="secret"))
    drawn = next(line for line in axes.get_lines() if "best rules" in line.get_label())
    for at, risk in zip(*drawn.get_data(), strict=True):
        assert traced.curve.lower(at) - 1e-9 <= risk
    assert f"{traced.words.column} (bits)" in printed(traced.report())
