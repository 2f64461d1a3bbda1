"""What a draft of roles releases: nothing that a careful owner would keep, on real tables too."""

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from hartley import Roles, scan
from hartley.studies.look.scan import _coded_columns
from hartley.studies.look.scanned_column import name_hint, scan_column
from hartley.tables.opening import open_table

DATA = Path(__file__).parents[4] / "shared" / "data"
LEFT = ("identifier", "unit", "undecided", "weight", "household")
ALLOWED = {role: {*LEFT} for role in LEFT} | {
    "key": {*LEFT, "key"},
    "confidential": {*LEFT, "confidential"},
    "either": {*LEFT, "key", "confidential"},
    "kept": {*LEFT, "kept"},
}
"""The roles that release no more than a label allows, and that measure every secret."""

HEART = ["age", "sex", "cp", "trestbps", "chol", "fbs", "restecg", "thalach", "exang"]
HEART += ["oldpeak", "slope", "ca", "thal", "num"]
TRIPS = ["pickup_longitude", "pickup_latitude", "dropoff_longitude", "dropoff_latitude"]
HOMES = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex", "age", "hhcivil"]
ANSWERS = ["Age", "Height", "Number of siblings", "Gender", "Left - right handed", "Education"]
ANSWERS += ["Only child", "Village - town", "House - block of flats"]
LABELS = {
    "heart/processed.hungarian.data": {"age": "key", "sex": "key"},
    "sdc/testdata.csv": dict.fromkeys(HOMES, "key")
    | {"ori_hid": "household", "sampling_weight": "weight", "household_weights": "weight"},
    "nyc_taxi/trips.csv.gz": dict.fromkeys(["pickup_datetime", *TRIPS], "key"),
    "smart_meter/sgsc_10_homes.csv.gz": {"customer_id": "identifier", "reading_datetime": "key"},
    "smart_meter/ausgrid_mean_profiles_2012_2013.csv": {"Customer": "unit", "Postcode": "key"},
    "sdc/CASCrefmicrodata.csv": {"AFNLWGT": "weight"},
    "sdc/Tarragona.csv": {},
    "young_people/responses.csv": dict.fromkeys(ANSWERS, "key") | {"Weight": "either"},
    "adult/age_hours_income.csv": {"age": "key", "hours": "key"},
}
"""All other columns are confidential."""
RIGHT = {  # at least
    "sdc/testdata.csv": 8,
    "nyc_taxi/trips.csv.gz": 5,
    "smart_meter/sgsc_10_homes.csv.gz": 3,
    "smart_meter/ausgrid_mean_profiles_2012_2013.csv": 50,
    "sdc/CASCrefmicrodata.csv": 13,
    "sdc/Tarragona.csv": 13,
}


def drafted(path, names=None):
    """Return the role of every column as its own values and its name suggest."""
    opened = open_table(path, names=names)
    coded, _ = _coded_columns(opened, lambda _what, _share: None)
    return {name: column.scanned.role for name, column in coded.items()}


@pytest.mark.parametrize("file", LABELS)
def test_no_real_table_is_drafted_dangerously(file, tmp_path):
    path = DATA / file
    if not path.exists():
        pytest.skip(f"needs ../shared/data/{file}")
    if path.suffix == ".data":
        path = shutil.copy(path, tmp_path / "heart.csv")
    roles = drafted(path, HEART if file.startswith("heart") else None)
    wanted = dict.fromkeys(roles, "confidential") | LABELS[file]
    assert {*wanted} == {*roles}
    dangerous = {n: role for n, role in roles.items() if role not in ALLOWED[wanted[n]]}
    assert dangerous == {}
    right = sum(role == wanted[name] for name, role in roles.items())
    assert right >= RIGHT.get(file, 0), {n: r for n, r in roles.items() if r != wanted[n]}


ADULT = {
    "age": ("key", range(17, 90)),
    "workclass": ("key", ["Private", "State-gov", "Self-emp"]),
    "fnlwgt": ("weight", range(10_000, 900_000, 777)),
    "education": ("key", ["HS-grad", "Bachelors", "Masters", "Doctorate", "11th", "Some-college"]),
    "education_num": ("key", [9, 13, 14, 16, 7, 10]),
    "marital_status": ("key", ["Married", "Never-married", "Divorced"]),
    "occupation": ("key", ["Sales", "Craft-repair", "Adm-clerical"]),
    "relationship": ("key", ["Husband", "Wife", "Own-child"]),
    "race": ("key", ["White", "Black", "Other"]),
    "sex": ("key", ["Male", "Female"]),
    "capital_gain": ("confidential", [0, 0, 0, 2174, 14084, 99999]),
    "capital_loss": ("confidential", [0, 0, 0, 1902, 2415]),
    "hours_per_week": ("key", range(1, 99)),
    "native_country": ("key", ["United-States", "Mexico", "Canada"]),
    "income": ("confidential", ["<=50K", ">50K"]),
}


def drawn(columns, rows, seed=0):
    rng = np.random.default_rng(seed)
    return {
        name: [list(values)[i] for i in rng.integers(0, len(values), rows)]
        for name, (_, values) in columns.items()
    }


def test_a_table_like_the_census_is_drafted_right():
    table = drawn(ADULT, 2000)
    places = [ADULT["education"][1].index(value) for value in table["education"]]
    table["education_num"] = [ADULT["education_num"][1][place] for place in places]
    report = scan(table, largest=2)
    wanted = {name: role for name, (role, _) in ADULT.items()}
    # The twin of a key would undo its coarsening: it stays in the house.
    assert {c.name: c.role for c in report.columns} == wanted | {"education_num": "undecided"}
    assert "education and education_num say the same in other words." in report.sentences
    assert report.unit is None


HOSPITAL = {
    "PatNr": ("unit", [f"{i:06d}" for i in range(300)]),
    "Nachname": ("identifier", ["Huber", "Gruber", "Bauer", "Wagner"] * 9),
    "Geburtsdatum": ("key", [f"19{y}-0{m}-11" for y in range(40, 99) for m in range(1, 10)]),
    "Geschlecht": ("key", ["w", "m"]),
    "PLZ": ("key", [f"{i}" for i in (1010, 8010, 6020, 5020, 4020, 9020)]),
    "Hauptdiagnose": ("confidential", ["I21.0", "E11.9", "C50.1", "F32.1", "J44.8", "K35.8"]),
    "Kode": ("confidential", ["I21.0", "E11.9", "C50.1", "F32.1", "J44.8", "K35.8", "A41"]),
    "Wirkstoff": ("confidential", ["A10BA02", "C09AA05", "N02BE01", "B01AC06", "J01CA04"]),
    "Einkommensklasse": ("confidential", [1, 2, 3, 4, 5]),
    "Bemerkung": ("identifier", [f"Angabe {i}" for i in range(40)]),
    "Kontakt": ("identifier", [f"0664 {i:07d}" for i in range(250)]),
    "Anschrift": ("identifier", [f"Hauptstrasse {i}" for i in range(90)]),
    "Station": ("undecided", ["A", "B", "C"]),
    "Haus": ("kept", ["LKH"]),
}


def test_a_german_hospital_is_drafted_right():
    report = scan(drawn(HOSPITAL, 800), largest=2)
    assert {c.name: c.role for c in report.columns} == {n: r for n, (r, _) in HOSPITAL.items()}
    assert report.unit == "PatNr"
    roles = report.roles.columns
    assert (roles["PLZ"].mask, roles["Geschlecht"].mask, roles["PLZ"].levels) == (2, None, ())


@pytest.mark.parametrize(
    ("values", "name", "role"),
    [
        ([f"{i:03d}-{i % 90 + 10}-{i:04d}" for i in range(100, 140)], "x", "identifier"),
        ([f"756.{i}.{i + 7}.{i % 90 + 10}" for i in range(1000, 1040)], "x", "identifier"),
        ([f"{i} Main Street" for i in range(40)] * 9, "place", "identifier"),
        ([f"12 rue Pasteur {i}" for i in range(40)] * 9, "x", "identifier"),
        (["Huber", "Bauer"] * 30, "surname", "identifier"),
        # What the values are counts more than what the column is called.
        (["Anna", "Ben", "Carla", "Dirk", "Eva"] * 40, "treatment", "identifier"),
        (["Weber, Anna", "Koch, Jan", "Wolf, Eva", "Ray, Lea", "Lisa"] * 9, "job", "identifier"),
        (["Anna", "Ben", "low", "high", "none", "other"] * 40, "treatment", "confidential"),
        (["anamnesis", "benefit", "evasion", "leap", "janitor"] * 9, "treatment", "confidential"),
        ([f"works at number {i}" for i in range(200)], "job", "identifier"),
        ([f"{i:05d}" for i in range(1000, 1200)], "PLZ", "key"),
        # Numbers of people that look like diagnoses, and codes of the same letter.
        ([f"P{i:04d}" for i in range(300)], "x", "identifier"),
        ([f"P{i % 90:03d}" for i in range(400)], "patient", "identifier"),
        ([f"P{i % 90:02d}" for i in range(400)], "x", "undecided"),
        ([f"{c}{i:02d}" for c in "ACFI" for i in range(20)] * 6, "x", "confidential"),
        ([f"{c}{i:02d}" for c in "ACFI" for i in range(20)], "x", "identifier"),  # all differ
        ([f"EH{i} {i}AB" for i in range(1, 9)] * 30, "x", "key"),
        ([f"{i} AB" for i in range(1000, 1009)] * 30, "x", "key"),
        ([150 + i % 50 for i in range(400)], "height", "key"),
        ([1.5 * i for i in range(30)] * 9, "x", "confidential"),
        ([1.5 * i for i in range(15)] * 9, "x", "undecided"),
        ([f"w{i}" for i in range(150)] * 9, "x", "key"),
        ([f"w{i}" for i in range(150)] * 2, "x", "identifier"),
        # Numbers of cards with three rows each: no amounts, whatever they are called.
        ([10_000_000 + 7_001 * (i % 300) for i in range(900)], "karte", "undecided"),
        ([10_000_000 + 7_001 * (i % 300) for i in range(900)], "kartennr", "identifier"),
        ([31 * (i % 300) for i in range(900)], "x", "confidential"),
        ([7] * 30, "x", "kept"),
        ([7] * 29 + [None], "x", "undecided"),
        ([None] * 30, "x", "undecided"),
    ],
)
def test_values_alone(values, name, role):
    column = scan_column(name, pa.array(values), len(values)).scanned
    assert column.role == role, column.why
    if name == "height":  # they are numbers, and no codes to be masked
        assert (column.mask, column.levels) == (None, (5, 10, 20))


NAMES = {
    "identifier": "PatNr patnr Patientennummer employee_id caseNo Telefonnummer eMail IBAN Vorname "
    "CustomerName student_number numero_patient identifiant apellidos cognome achternaam nazwisko "
    "pesel codice_fiscale Kundennummer passport_no username Steuernummer NumeroCliente",
    "key": "Alter Geburtsort geboortejaar edad sexe leeftijd plec wojewodztwo cittadinanza "
    "Staatsangehörigkeit estadoCivil Familienstand zipCode Postleitzahl countryName region_nr "
    "codepostal provincia_id nationalite Beruf occupation zawód wzrost woonplaats Bundesland",
    "confidential": "Hauptdiagnose Einkommensklasse statetax STATETAX ingresos revenu inkomen "
    "dochod rozpoznanie diagnostico Medikament religione schulden BloodPressure hiv_status icd10 "
    "Krankheitsbild salaire_net choroba smoker",
    "household": "hh_id Haushaltsnummer hogar hhid",
    "weight": "fnlwgt sampling_weight PWGTP household_weights",
    None: "mileage garage essex resort Ordnung q17 num record slope thal Alternative Countryside "
    "product_id vaccination real_estate Verwalter allocation",
}


@pytest.mark.parametrize(("role", "names"), NAMES.items())
def test_names_in_seven_languages(role, names):
    assert {name: name_hint(name) for name in names.split()} == dict.fromkeys(names.split(), role)


UNSEEN = {
    "identifier": "patient_number Kundennr versicherten_nr correo telefono_movil nom_patient "
    "prenom_mere huisarts_naam client_id donor_id mother_name nr_pacjenta",
    "key": "Geburtsland age_group woonplaats departement_naissance fecha_nacimiento ciudad_natal "
    "Wohnort eta_paziente provincie sesso rok_urodzenia kraj marital_state job_title ethnic_group",
    "confidential": "annual_income Bruttogehalt Nettoeinkommen Krankheitskosten blood_sugar "
    "cancer_stage revenu_annuel sueldo_bruto spesa_mensile ziektekosten hoogte_schuld "
    "wynagrodzenie_brutto tumor_diagnose alcohol_units",
}


def test_names_that_the_words_were_not_made_for_are_hardly_ever_wrong():
    wanted = {name: role for role, names in UNSEEN.items() for name in names.split()}
    left = ["identifier", "key", "confidential"]
    wrong = {
        name: hint
        for name, role in wanted.items()
        for hint in [name_hint(name)]
        if hint in left and hint not in {role, "identifier"}
    }
    assert len(wrong) <= len(wanted) // 20, wrong


def test_others_turn_undecided_columns_of_a_draft_into_released_ones():
    rng = np.random.default_rng(0)
    report = scan({f"q{i}": rng.integers(1, 6, 200).tolist() for i in range(12)}, largest=2)
    text = report.draft_roles()
    assert text.count('role = "undecided"') == 12
    given = report.roles
    assert given.named("undecided") == tuple(f"q{i}" for i in range(12))
    assert not given.confirmed
    assert given.confirm().confirmed
    assert Roles.read(given.confirm()).named("key") == ()
