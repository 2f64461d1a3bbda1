"""Health and young people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.datasets.people import (
    SEED,
    by_shares,
    choice,
    factor_normals,
    random_numbers,
    shares,
    whole,
)
from hartley.datasets.source import Dataset, Source, read_csv, typed

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


# --- heart disease patients of the Hungarian and the Cleveland hospital (UCI repository) ----------

_FOLDER = "https://archive.ics.uci.edu/ml/machine-learning-databases/heart-disease/"
_PAGE = "https://archive.ics.uci.edu/dataset/45/heart+disease"

HUNGARIAN = Source(
    name="hungarian",
    title="UCI heart disease data (Hungarian)",
    page=_PAGE,
    licence="CC BY 4.0",
    file="processed.hungarian.data",
    url=_FOLDER + "processed.hungarian.data",
    sha256="d1ad108f785768cd3d7e82dc522e6f5a61eea93cccfb3a46ee8076f73fc3d796",
)
CLEVELAND = Source(
    name="cleveland",
    title="UCI heart disease data (Cleveland)",
    page=_PAGE,
    licence="CC BY 4.0",
    file="processed.cleveland.data",
    url=_FOLDER + "processed.cleveland.data",
)
WHOLE = (
    *("age", "sex", "cp", "trestbps", "chol", "fbs", "restecg", "thalach", "exang"),
    *("slope", "ca", "thal", "num"),
)
HEART_COLUMNS = (*WHOLE[:9], "oldpeak", *WHOLE[9:])
HEART_UNITS = {
    "age": "years",
    "trestbps": "mm Hg",
    "chol": "mg/dl",
    "thalach": "beats per minute",
    "oldpeak": "mm",
}
NOTES = (
    "trestbps: resting blood pressure; chol: serum cholesterol; thalach: highest heart rate.",
    "num: diagnosis, 0 for none.",
)


@dataclass(frozen=True)
class _Hospital:
    """The patients of a hospital in numbers: means, deviations and shares."""

    source: Source
    rows: int
    age: tuple[float, float, int, int]
    pressure: tuple[float, float, int, int]
    cholesterol: tuple[float, float, int, int]
    rate: tuple[float, float, int, int]
    men: float
    pain: tuple[float, ...]
    sugar: float
    electrocardiogram: tuple[float, ...]
    angina: float
    depression: tuple[float, float]
    """The share of patients who have a depression, and its mean among them."""
    step: float
    """The step to which the depression is rounded."""
    slope: tuple[float, ...]
    vessels: tuple[float, ...]
    thal: tuple[float, ...]
    disease: tuple[float, ...]
    missing: dict[str, float]


_HUNGARIAN = _Hospital(
    source=HUNGARIAN,
    rows=294,
    age=(47.8, 7.8, 28, 66),
    pressure=(132.6, 17.6, 92, 200),
    cholesterol=(250.8, 67.7, 85, 603),
    rate=(139.1, 23.6, 82, 190),
    men=0.724,
    pain=(0.037, 0.361, 0.184, 0.418),
    sugar=0.070,
    electrocardiogram=(0.801, 0.179, 0.020),
    angina=0.304,
    depression=(0.357, 1.64),
    step=0.5,
    slope=(0.12, 0.87, 0.01),
    vessels=(1.0,),
    thal=(0.25, 0.36, 0.39),
    disease=(0.639, 0.361),
    missing=shares(
        "trestbps 0.003, chol 0.078, fbs 0.027, restecg 0.003, thalach 0.003, exang 0.003, "
        "ca 0.99, thal 0.905"
    ),
)
_CLEVELAND = _Hospital(
    source=CLEVELAND,
    rows=303,
    age=(54.4, 9.0, 29, 77),
    pressure=(131.7, 17.6, 94, 200),
    cholesterol=(246.7, 51.8, 126, 564),
    rate=(149.6, 22.9, 71, 202),
    men=0.680,
    pain=(0.076, 0.165, 0.284, 0.475),
    sugar=0.149,
    electrocardiogram=(0.498, 0.013, 0.489),
    angina=0.327,
    depression=(0.673, 1.55),
    step=0.2,
    slope=(0.469, 0.462, 0.069),
    vessels=(0.589, 0.217, 0.127, 0.067),
    thal=(0.551, 0.060, 0.389),
    disease=(0.541, 0.182, 0.119, 0.115, 0.043),
    missing={"ca": 0.013, "thal": 0.007},
)
_LOADINGS = {
    # illness, age
    "age": (0.0, 1.0),
    "sex": (0.40, 0.0),
    "cp": (0.66, 0.10),
    "trestbps": (0.20, 0.24),
    "chol": (0.22, 0.08),
    "fbs": (0.15, 0.22),
    "restecg": (0.0, 0.05),
    "thalach": (-0.42, -0.45),
    "exang": (0.86, 0.20),
    "oldpeak": (0.82, 0.12),
    "slope": (0.45, 0.0),
    "ca": (0.45, 0.25),
    "thal": (0.55, 0.0),
    "num": (0.88, 0.12),
}


def read_hungarian(file: Path) -> Dataset:
    """Read the 294 patients of the Hungarian Institute of Cardiology.

    One row is an exact copy of another; paper C speaks of 293 patients.
    """
    return _read(HUNGARIAN, file)


def read_cleveland(file: Path) -> Dataset:
    """Read the 303 patients of the Cleveland Clinic Foundation."""
    return _read(CLEVELAND, file)


def make_hungarian(rows: int = _HUNGARIAN.rows, *, seed: int = SEED) -> Dataset:
    """Draw synthetic patients like those of the Hungarian hospital.

    Most blood pressures end in 0, and most patients lack the last columns, as in the original.
    """
    return _make(_HUNGARIAN, rows, seed)


def make_cleveland(rows: int = _CLEVELAND.rows, *, seed: int = SEED) -> Dataset:
    """Draw synthetic patients like those of the Cleveland hospital."""
    return _make(_CLEVELAND, rows, seed)


def _read(source: Source, file: Path) -> Dataset:
    import pyarrow as pa

    written = dict.fromkeys(HEART_COLUMNS, pa.float64())  # one file writes 63, the other 63.0
    table = read_csv(file, source.title, names=HEART_COLUMNS, types=written, member="*.data")
    types = {name: pa.int64() if name in WHOLE else pa.float64() for name in HEART_COLUMNS}
    table = typed(table, types, file, source.title)
    return Dataset.of(source, table, units=HEART_UNITS, notes=NOTES)


def _make(hospital: _Hospital, rows: int, seed: int) -> Dataset:
    import pyarrow as pa

    random = random_numbers(seed, rows=rows)
    z = factor_normals(random, rows, _LOADINGS)
    share, mean = hospital.depression
    ill = z["oldpeak"] > np.quantile(z["oldpeak"], 1 - share) if rows > 1 else z["oldpeak"] > 0
    depth = np.clip(np.rint(random.gamma(4.0, mean / 4, rows) / hospital.step), 1, None)
    drawn: dict[str, NDArray[Any]] = {
        "age": _bounded(z["age"], hospital.age),
        "sex": by_shares(z["sex"], (1 - hospital.men, hospital.men)),
        "cp": by_shares(z["cp"], hospital.pain) + 1,
        "trestbps": _read_off(random, _skewed(z["trestbps"], hospital.pressure), 0.84, 0.08),
        "chol": _skewed(z["chol"], hospital.cholesterol),
        "fbs": by_shares(z["fbs"], (1 - hospital.sugar, hospital.sugar)),
        "restecg": by_shares(z["restecg"], hospital.electrocardiogram),
        "thalach": _read_off(random, _bounded(z["thalach"], hospital.rate), 0.38, 0.06),
        "exang": by_shares(z["exang"], (1 - hospital.angina, hospital.angina)),
        "oldpeak": np.round(np.where(ill, depth * hospital.step, 0.0), 1).clip(0, 6.2),
        "slope": by_shares(z["slope"], hospital.slope) + 1,
        "ca": by_shares(z["ca"], hospital.vessels),
        "thal": by_shares(z["thal"], hospital.thal, (3, 6, 7)),
        "num": by_shares(z["num"], hospital.disease),
    }
    gone = {name: random.random(rows) < hospital.missing.get(name, 0.0) for name in HEART_COLUMNS}
    if hospital is _HUNGARIAN:
        gone["slope"] = ~ill  # there is a slope only with a depression
    table = pa.table(
        {
            name: pa.array(drawn[name]) if name == "oldpeak" else whole(drawn[name], gone[name])
            for name in HEART_COLUMNS
        }
    )
    why = "no patient exists"
    return Dataset.of(hospital.source, table, why=why, units=HEART_UNITS, notes=NOTES)


def _bounded(
    normal: NDArray[np.float64], shape: tuple[float, float, int, int]
) -> NDArray[np.float64]:
    mean, deviation, low, high = shape
    values: NDArray[np.float64] = np.rint((mean + deviation * normal).clip(low, high))
    return values


def _skewed(
    normal: NDArray[np.float64], shape: tuple[float, float, int, int]
) -> NDArray[np.float64]:
    """Return a column with a given mean and deviation, and a longer tail upwards."""
    mean, deviation, low, high = shape
    spread = float(np.sqrt(np.log1p((deviation / mean) ** 2)))
    values = mean * np.exp(spread * normal - spread**2 / 2)
    bounded: NDArray[np.float64] = np.rint(values.clip(low, high))
    return bounded


def _read_off(
    random: np.random.Generator, values: NDArray[np.float64], tens: float, fives: float
) -> NDArray[np.float64]:
    """Round as people who read an instrument do: to tens, to fives or to even numbers."""
    choice = random.random(values.size)
    step = np.where(choice < tens, 10.0, np.where(choice < tens + fives, 5.0, 2.0))
    return step * np.rint(values / step)


# --- young people ---------------------------------------------------------------------------------
# Answers of young people in Slovakia to a survey of 150 questions (Kaggle, M. Sabo, 2013).

YOUNG_PEOPLE = Source(
    name="young_people",
    title="Young People Survey",
    page="https://www.kaggle.com/datasets/miroslavsabo/young-people-survey",
    licence="as stated on its page",
    file="responses.csv",
    barrier="needs an account at Kaggle",
)
UNITS = {"Age": "years", "Height": "cm", "Weight": "kg"}
MEASURED = ("Age", "Height", "Weight", "Number of siblings")
"""The columns of numbers; all others that are not text are answers from 1 to 5."""
_NAMES = (
    "Music|Slow songs or fast songs|Dance|Folk|Country|Classical music|Musical|Pop|Rock|"
    "Metal or Hardrock|Punk|Hiphop, Rap|Reggae, Ska|Swing, Jazz|Rock n roll|Alternative|"
    "Latino|Techno, Trance|Opera|Movies|Horror|Thriller|Comedy|Romantic|Sci-fi|War|"
    "Fantasy/Fairy tales|Animated|Documentary|Western|Action|History|Psychology|Politics|"
    "Mathematics|Physics|Internet|PC|Economy Management|Biology|Chemistry|Reading|Geography|"
    "Foreign languages|Medicine|Law|Cars|Art exhibitions|Religion|Countryside, outdoors|"
    "Dancing|Musical instruments|Writing|Passive sport|Active sport|Gardening|Celebrities|"
    "Shopping|Science and technology|Theatre|Fun with friends|Adrenaline sports|Pets|Flying|"
    "Storm|Darkness|Heights|Spiders|Snakes|Rats|Ageing|Dangerous dogs|"
    "Fear of public speaking|Smoking|Alcohol|Healthy eating|Daily events|"
    "Prioritising workload|Writing notes|Workaholism|Thinking ahead|Final judgement|"
    "Reliability|Keeping promises|Loss of interest|Friends versus money|Funniness|Fake|"
    "Criminal damage|Decision making|Elections|Self-criticism|Judgment calls|Hypochondria|"
    "Empathy|Eating to survive|Giving|Compassion to animals|Borrowed stuff|Loneliness|"
    "Cheating in school|Health|Changing the past|God|Dreams|Charity|Number of friends|"
    "Punctuality|Lying|Waiting|New environment|Mood swings|Appearence and gestures|"
    "Socializing|Achievements|Responding to a serious letter|Children|Assertiveness|"
    "Getting angry|Knowing the right people|Public speaking|Unpopularity|Life struggles|"
    "Happiness in life|Energy levels|Small - big dogs|Personality|Finding lost valuables|"
    "Getting up|Interests or hobbies|Parents' advice|Questionnaires or polls|Internet usage|"
    "Finances|Shopping centres|Branded clothing|Entertainment spending|Spending on looks|"
    "Spending on gadgets|Spending on healthy eating|Age|Height|Weight|Number of siblings|"
    "Gender|Left - right handed|Education|Only child|Village - town|House - block of flats"
)
COLUMNS = tuple(_NAMES.split("|"))
TEXTS = {
    "Smoking": shares(
        "tried smoking 0.43, never smoked 0.21, current smoker 0.19, former smoker 0.17"
    ),
    "Alcohol": shares("social drinker 0.66, drink a lot 0.22, never 0.12"),
    "Punctuality": shares(
        "i am always on time 0.4, i am often early 0.32, i am often running late 0.28"
    ),
    "Lying": shares(
        "sometimes 0.54, only to avoid hurting someone 0.27, everytime it suits me 0.14, never 0.05"
    ),
    "Internet usage": shares(
        "few hours a day 0.737, less than an hour a day 0.138, most of the day 0.122, "
        "no time at all 0.003"
    ),
    "Gender": shares("female 0.59, male 0.41"),
    "Left - right handed": shares("right handed 0.9, left handed 0.1"),
    "Education": shares(
        "secondary school 0.615, college/bachelor degree 0.21, masters degree 0.08, "
        "primary school 0.08, currently a primary school pupil 0.01, doctorate degree 0.005"
    ),
    "Only child": shares("no 0.75, yes 0.25"),
    "Village - town": shares("city 0.7, village 0.3"),
    "House - block of flats": shares("block of flats 0.59, house/bungalow 0.41"),
}
"""The questions with answers in words, and the share of each answer."""


def read_young_people(file: Path) -> Dataset:
    """Read the 1,010 answers of the survey."""
    import pyarrow as pa

    types = {name: pa.string() if name in TEXTS else pa.int64() for name in COLUMNS}
    table = typed(read_csv(file, YOUNG_PEOPLE.title), types, file, YOUNG_PEOPLE.title)
    return Dataset.of(YOUNG_PEOPLE, table, units=UNITS)


def make_young_people(rows: int = 1010, *, seed: int = SEED) -> Dataset:
    """Draw synthetic answers of young people.

    Age, height and weight depend on each other and on the gender as in the survey. Answers from
    1 to 5 share a few hidden tastes; the answers to single questions do not follow the survey.
    """
    import pyarrow as pa

    random = random_numbers(seed, rows=rows)
    words = {name: choice(random, answers, rows) for name, answers in TEXTS.items()}
    measured = _bodies(random, words["Gender"] == "male")
    siblings = 1 + random.poisson(0.75, rows)
    measured["Number of siblings"] = np.where(words["Only child"] == "yes", 0, siblings).clip(0, 10)
    asked = [name for name in COLUMNS if name not in TEXTS and name not in MEASURED]
    answers = dict(zip(asked, _answers(random, rows, len(asked)), strict=True))
    columns = {}
    for name in COLUMNS:
        missing = random.random(rows) < (0.02 if name in {"Height", "Weight"} else 0.004)
        if name in words:
            columns[name] = pa.array(words[name], mask=missing)
        else:
            columns[name] = whole(measured[name] if name in MEASURED else answers[name], missing)
    why = "nobody gave these answers"
    return Dataset.of(YOUNG_PEOPLE, pa.table(columns), why=why, units=UNITS)


def _bodies(random: np.random.Generator, male: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
    """Draw ages, heights and weights; weights have a longer tail upwards."""
    rows = male.size
    age = np.clip(np.rint(15 + random.gamma(3.8, 1.4, rows) + 0.4 * male), 15, 30)
    tall = random.standard_normal(rows)
    height = np.where(male, 181.8 + 6.9 * tall, 167.9 + 6.3 * tall)
    own = random.standard_normal(rows) + 0.4 * random.standard_exponential(rows) - 0.4
    heavy = np.where(male, 0.075, 0.055) * tall + 0.12 * own + 0.012 * (age - 20.4)
    weight = np.where(male, 76.0, 57.9) * np.exp(heavy)
    return {
        "Age": age,
        "Height": np.clip(height, 148, 203),
        "Weight": np.clip(weight, 41, 165),
    }


def _answers(random: np.random.Generator, rows: int, questions: int) -> NDArray[np.float64]:
    """Draw answers from 1 to 5, one row per question."""
    level = np.clip(random.normal(3.05, 0.62, (questions, 1)), 1.9, 4.7)
    tastes = random.standard_normal((questions, 4)) * 0.17
    leaning = tastes @ random.standard_normal((4, rows))
    own = random.standard_normal((questions, rows))
    return np.clip(np.rint(level + 1.3 * (leaning + 0.94 * own)), 1, 5)
