"""Policies that several tests certify, and how they find a consequence."""

from fractions import Fraction

from hartley import PolicyDocument, UniformQuantizer
from hartley.policies import KeptColumn, QuantizedColumn

HEIGHT = QuantizedColumn("height", UniformQuantizer(100, 250, 64))
WEIGHT = QuantizedColumn("weight", UniformQuantizer(30, 200, 64))
BMI = {"line": "30*(height/100)**2", "reach": 20, "low": 0, "high": 200}
TALL = KeptColumn("height", Fraction(0), Fraction(250))


def mean_of(people, levels, *, low=0, high=1, function="mean", **design):
    """Return a policy that releases the mean or total of x over people, in equal cells."""
    factor = people if function == "total" else 1
    cells = UniformQuantizer(low * factor, high * factor, levels)
    column = QuantizedColumn("answer", cells, of=f"{function}(x)")
    ranges = {"columns": {"x": [str(low), str(high)]}}
    return PolicyDocument((column,), design={"people": people} | ranges | design)


def consequence(certificate, name):
    (found,) = (one for one in certificate.consequences if one.name == name)
    return found


def ellipse(levels=12, **design):
    cells = UniformQuantizer(0, 12, levels)
    ranges = {"columns": {"x1": ["-2", "2"], "x2": ["-2", "2"]}}
    column = QuantizedColumn("radius", cells, of="x1**2 + 2*x2**2")
    return PolicyDocument((column,), design=ranges | design)
