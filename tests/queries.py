"""Random queries of two or three variables."""

from hypothesis import strategies as st

from hartley.boxes.expression import Expression


def queries(operations, numbers, *, names="xy", power=3, leaves=7):
    """Draw queries of these operations, of natural powers, and of such numbers and variables."""
    pairs, functions = operations

    def grow(parts):
        return st.one_of(
            st.builds(
                lambda op, a, b: Expression(op, (a, b)), st.sampled_from(pairs), parts, parts
            ),
            st.builds(lambda op, a: Expression(op, (a,)), st.sampled_from(functions), parts),
            st.builds(lambda a, k: a**k, parts, st.integers(0, power)),
        )

    variables = st.sampled_from([Expression("var", (name,)) for name in names])
    constants = numbers.map(lambda number: Expression("const", (number,)))
    return st.recursive(st.one_of(variables, constants), grow, max_leaves=leaves)
