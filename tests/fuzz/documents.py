"""Valid documents of every kind that Hartley reads, each small enough to be read in no time."""

PRIVATE = "zq17private"
"""Stands in cells of the table; no message may show it."""

TABLE = f"""person,age,sex,region,height,income,seen
1,34,F,north,170.5,2000,2001-05-06
2,51,M,south,181,,1999-12-31
3,29,F,{PRIVATE},162.25,1500,2010-01-01
4,78,M,south,175,3100,1970-01-01
5,34,F,north,168,900,2020-02-29
6,51,M,west,190.125,1200,2011-11-11
"""

SCHEMAS = (
    """[table]
name = "people"
rows = "public"
default_bits = 1

[columns.sex]
kind = "open"
values = ["F", "M"]

[columns.age]
kind = "private"
range = [18, 95]
step = 1
unit = "years"

[columns.height]
kind = "private"
range = [120, 220]
step = 0.5
nullable = true
""",
    """[table]
name = "visits"
unit = "person"
rows_per_unit = 3
rows = "private"
max_rows = 50
population = "town"

[columns.region]
kind = "public"
values = ["north", "south", "west"]
other = true

[columns.seen]
kind = "private"
range = [1970-01-01, 1970-12-31]
step = 7
""",
)
HEIGHT = """
[columns.height]
range = [100, 250]
"""
AGE = """
[columns.age]
range = [18, 95]
"""
DESIGNS = (
    """title = "Weight without obesity"
objective = "hypothesis"
hypothesis = "height >= 2*age + 100"
error = 5
policy = "blur"

[columns.height]
range = [100, 250]

[columns.age]
range = [0, 50]
""",
    """objective = "maximin"
query = "age**2 + 2*height"
error = 2000

[columns.age]
range = [0, 100]
"""
    + HEIGHT,
    """objective = "leakage"
query = "mean(height)"
error = 0.5
people = 6
name = "mean_height"
"""
    + HEIGHT,
    """objective = "bits"
bits = 4
weights = { age = 2 }

[columns.age]
range = [18, 95]
step = 1

[columns.sex]
values = ["F", "M"]

[columns.region]
values = ["north", "south", "west"]
groups = { coast = ["north", "west"], inland = ["south"] }
other = true
""",
    """objective = "maximin"
query = ["mean(height)", "mean(age)"]
name = ["tall", "old"]
error = [10, 2.5]
norm = "sup"
people = 6
"""
    + HEIGHT
    + AGE,
    """objective = "bits"
query = ["age + 2*height", "height - age"]
bits = 4
norm = "euclidean"
weights = { "height - age" = 2 }
"""
    + HEIGHT
    + AGE,
    """objective = "hypothesis"
hypothesis = "height >= 2*age + 100 or height >= 200"
error = 5
move = "height"
known_within = 7.5

[columns.height]
range = [100, 250]
step = 0.5

[columns.age]
range = [0, 50]
step = 1
""",
)
POLICIES = (
    """format = 1
title = "Mean height"

[design]
objective = "maximin"
query = "mean(height)"
people = 6
error = "0.5"
columns = {height = ["100", "250"]}

[[columns]]
name = "height"
kind = "quantizer"
low = "100"
high = "250"
levels = 150
rule = "corrected"
of = "mean(height)"
""",
    """format = 1

[design]
objective = "bits"
bits = "4"
columns = {age = ["18", "95"]}

[[columns]]
name = "age"
kind = "cuts"
edges = ["18", "75/2", "115/2", "155/2", "95"]
values = ["55/2", "95/2", "135/2", "173/2"]
spans = [["18", "37"], ["38", "57"], ["58", "77"], ["78", "95"]]

[[columns]]
name = "sex"
kind = "merging"
labels = ["F", "M"]
groups = [["F"], ["M"]]
""",
    """format = 1

[[columns]]
name = "height"
kind = "blur"
line = "2*age + 100"
reach = "5"
low = "100"
high = "250"

[[columns]]
name = "age"
kind = "keep"
low = "0"
high = "100"
""",
    """format = 1

[[columns]]
name = "height"
kind = "meet"
hypothesis = "height >= 2*age + 100.5 and height > 110"
low = "100"
high = "250"
step = "0.5"
reach = "5"
known_within = "7.5"
round = "nearest"
others = {age = ["0", "100", "1"]}

[[columns]]
name = "age"
kind = "keep"
low = "0"
high = "100"
""",
    """format = 1

[[columns]]
name = "height"
kind = "meet"
hypothesis = "height + 2*age >= 200"
move = ["height", "age"]
low = ["100", "0"]
high = ["250", "100"]
step = "1"
reach = "3"
norm = "l2"
""",
    """format = 1

[[columns]]
name = "score"
kind = "quantizer"
low = "0"
high = "600"
levels = 12
rule = "corrected"
of = "age + 2*height"

[[columns]]
name = "sex"
kind = "pram"
values = ["F", "M"]
matrix = [["3/4", "1/4"], ["0.25", "0.75"]]
""",
)
HIERARCHIES = ("north,coast\nwest,coast\nsouth,inland\n" + PRIVATE + ",inland\n",)
MATRICES = (",F,M\nF,0.75,0.25\nM,1/3,2/3\n",)
COVARIANCES = (
    ",age,height\nage,400,30.5\nheight,30.5,81\n",
    ",height,age\nheight,81,1e1\nage,1e1,4e2\nmean,170,45.5\n",
)
CONDITIONS = (
    "age >= 50 and sex = 'F'",
    "not (age between 10 and 20 or region in ('north', 'south'))",
    "abs(income - 100) / 2 < 4.5 and income is not null",
    "seen >= '2001-01-01'",
)
QUERIES = (
    "age**2 + 2*height",
    "max(age, height) - mean(age, height)/3",
    "sqrt(abs(age - 3.5)) + log(height) + exp(-age)",
    "mean(height)",
    "height >= 30*(age/100)**2",
    "not 5 <= height/(age + 1) < 8 or age != 3",
)
QUESTIONS = (
    "SELECT AVG(age), COUNT(*) FROM people WHERE height >= 150 AND sex = 'F'",
    "SELECT sex, SUM(2*age + height) FROM people GROUP BY sex",
    "SELECT MEDIAN(age) FROM people WHERE NOT (age BETWEEN 20 AND 30 OR height IS NULL)",
    "SELECT BIN(age, 10), COUNT(*) AS n FROM people WHERE sex IN ('F', 'M') GROUP BY BIN(age, 10)",
    "SELECT COUNT(*), STDDEV(age) FROM people WHERE seen < DATE '2001-02-03' AND seen > '1999'",
    "SELECT QUANTILE(height, 0.9) FROM people WHERE age = 40",
)
ASKED = """[table]
name = "people"

[columns.sex]
kind = "open"
values = ["F", "M"]

[columns.age]
kind = "private"
range = [18, 95]
step = 1

[columns.height]
kind = "private"
range = [120, 220]
step = 0.5
nullable = true

[columns.seen]
kind = "private"
range = [1970-01-01, 2030-12-31]
"""
NUMBERS = ("10", "0.5", "1/3", "2.5e2", "1:20", "1:20:2", "5,10,20", "0.25")

WORKLOADS = (
    "-- bits=2\nSELECT AVG(age) FROM people; -- weight=3\nSELECT COUNT(*) FROM people WHERE age>9",
    "SELECT sex, COUNT(*) FROM people GROUP BY sex; /* error=1 */\nSELECT MEDIAN(age) FROM people",
)

# The labels of a published table are public, so its errors may name them.
OUTPUTS = (
    "region,F,M,Total\nnorth,12,x,20\nsouth,15,<5,18\neast,9,9,18\nTotal,36,20,56\n",
    "Patients\nregion;sex;n\nnorth;F;12\nnorth;M;[c]\nsouth;F;15\nsouth;M;3\nnorth;Total;20\n",
    "town,n\nAshby,0\nBury,0\nTotal,3\n",
    '[{"region": "north", "n": 12}, {"region": "south", "n": null}]',
)
DESCRIPTIONS = (
    """[[outputs]]
file = "output.csv"
dims = ["region", "sex"]
where = "age >= 20"
marks = {s = "hidden", low = "1-4"}
absent = "zero"
margins = "all"

[[trees]]
dim = "region"
coast = ["north", "east"]
""",
    """[[outputs]]
file = "output.csv"
statistic = "sum(pay)"
rounding = "nearest 5"
bounds = [-500, 2000]
decimal = ","
total = "Total"
""",
)
MANIFESTS = (
    """{"nodes": {"model.p.wards": {"resource_type": "model", "name": "wards",
"config": {"location": "output.csv", "meta": {"hartley": {"dims": ["region", "sex"],
"margins": "all"}}}}}}""",
)

ROLES = (
    """confirmed = true
[reading]
null = ["?", "NA"]
trim = true
encoding = "utf-8"
decimal = "."
[columns.person]
role = "identifier"
[columns.age]
role = "key"
levels = [5, 10, 20]
[columns.sex]
role = "key"
[columns.seen]
role = "key"
levels = ["month", "quarter", "year"]
[columns.region]
role = "key"
rare = [2, 3]
[columns.income]
role = "confidential"
[columns.height]
role = "kept"
""",
)
