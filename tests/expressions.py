"""Random expressions, as hypothesis draws them."""

from __future__ import annotations

from hypothesis import strategies as st

from hartley.boxes.expression import Expression


def expressions(*, pairs, alone, powers, largest, numbers=None):
    """Draw expressions of x and y by some operations on pairs and on one part, and by powers."""
    numbers = st.fractions(-3, 3, max_denominator=4) if numbers is None else numbers
    leaves = st.one_of(
        st.sampled_from([Expression("var", (name,)) for name in "xy"]),
        numbers.map(lambda number: Expression("const", (number,))),
    )

    def grow(parts):
        return st.one_of(
            st.builds(
                lambda op, a, b: Expression(op, (a, b)), st.sampled_from(pairs), parts, parts
            ),
            st.builds(lambda op, a: Expression(op, (a,)), st.sampled_from(alone), parts),
            st.builds(lambda a, k: Expression("pow", (a, k)), parts, powers),
        )

    return st.recursive(leaves, grow, max_leaves=largest)
