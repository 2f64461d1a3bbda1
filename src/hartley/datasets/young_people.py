"""Answers of young people in Slovakia to a survey of 150 questions (Kaggle, M. Sabo, 2013)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.datasets.dataset import Dataset
from hartley.datasets.drawing import SEED, choice, random_numbers, shares, synthetic_source, whole
from hartley.datasets.reading import read_csv, typed
from hartley.datasets.source import Source, locate

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

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


def load_young_people(
    path: str | os.PathLike[str] | None = None,
    *,
    download: bool = False,
    cache: str | os.PathLike[str] | None = None,
) -> Dataset:
    """Read the 1,010 answers of the survey.

    Args:
        path: the file ``responses.csv``, or a folder that holds it.
        download: not supported, since Kaggle needs an account; put a copy into the cache.
        cache: the folder for downloads.
    """
    file = locate(YOUNG_PEOPLE, path, download=download, cache=cache)
    table = typed(read_csv(file, YOUNG_PEOPLE.title), _types(), file, YOUNG_PEOPLE.title)
    origin = f"{YOUNG_PEOPLE.title} ({YOUNG_PEOPLE.licence}), from {YOUNG_PEOPLE.page}."
    return Dataset("young_people", table, synthetic=False, source=origin, units=UNITS)


def _types() -> dict[str, Any]:
    import pyarrow as pa

    return {name: pa.string() if name in TEXTS else pa.int64() for name in COLUMNS}


def make_young_people(rows: int = 1010, *, seed: int = SEED) -> Dataset:
    """Draw synthetic answers of young people.

    Age, height and weight depend on each other and on the gender as in the survey. Answers from
    1 to 5 share a few hidden tastes; the answers to single questions do not follow the survey.

    Example:
        >>> survey = make_young_people()
        >>> survey.rows, len(survey.columns), survey.units["Weight"]
        (1010, 150, 'kg')
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
    origin = synthetic_source(YOUNG_PEOPLE.title, "nobody gave these answers")
    return Dataset("young_people", pa.table(columns), synthetic=True, source=origin, units=UNITS)


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
