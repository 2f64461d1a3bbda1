"""What the name of a column says about it, in English and German, French and Spanish words."""

from __future__ import annotations

import re
import unicodedata

_WORDS = {
    "identifier": (
        "id ids identifier pid uid uuid guid ssn nhs mrn nino passport licence iban account "
        "acct license email mail phone tel telephone mobile cell fax ip url name surname firstname "
        "lastname fullname forename nom prenom nombre apellido vorname nachname kennung "
        "kennziffer aktenzeichen address street strasse adresse direccion rue caseid "
        "patientid personid recordid rowid ident nif dni siren svnr ahv record"
    ),
    "key": (
        "age alter edad sex gender geschlecht sexe sexo birth birthday birthdate dob born "
        "geburt geburtsdatum naissance nacimiento year month zip zipcode postcode postal plz "
        "city town municipality gemeinde ort county region state province district kreis "
        "canton country land nationality nation citizenship race ethnicity ethnic marital "
        "married civil familienstand education bildung school degree occupation job "
        "profession beruf employment employer workclass industry branche children kids kinder "
        "siblings language sprache birthplace native urban rural area neighbourhood "
        "neighborhood housing relationship village location lat lon latitude longitude hours "
        "height groesse grosse"
    ),
    "confidential": (
        "diagnosis diagnose befund krankheit erkrankung disease illness icd icd10 treatment "
        "therapy therapie drug medication hiv income salary wage wages earnings earn pay "
        "einkommen gehalt lohn debt tax steuer wealth savings credit balance loan religion "
        "politics political party "
        "orientation conviction crime blood chol cholesterol glucose lab symptom cancer "
        "smoking smoker alcohol drinking weight bmi score grade result test vote benefit "
        "welfare disability pregnancy pregnant death died expenses expend outcome num"
    ),
    "household": "household hh hid hhid hhnr haushalt menage hogar householdid",
    "weight": "wgt wght fnlwgt pweight pwgt sampweight samplingweight gewicht ponderation wt",
}
_HINTS = {word: hint for hint, words in _WORDS.items() for word in words.split()}
_PEOPLE = {
    *("customer", "client", "patient", "person", "user", "member", "employee", "subject"),
    *("respondent", "participant", "citizen", "resident", "kunde", "kundin", "kunden"),
    *("patienten", "cliente", "paciente", "persona", "personne"),
}
_NUMBERS = {"id", "ids", "no", "nr", "nummer", "num", "number", "code", "key", "ref", "numero"}
_PLACES = {"country", "region", "city", "county", "state", "product", "company", "school", "drug"}
"""What has a name without being a person."""
_ORDER = ("household", "weight", "identifier", "confidential", "key")


def name_hint(name: str) -> str | None:
    """Return what a name says: identifier, key, confidential, household, weight or nothing.

    Example:
        >>> [name_hint(name) for name in ("patient_id", "BirthDate", "hh_id", "q17", "countryName")]
        ['identifier', 'key', 'household', None, 'key']
    """
    words = _words(name)
    hints = {_HINTS[word] for word in [*words, "".join(words)] if word in _HINTS}
    weighed = {"weight", "weights"} & {*words} and {"sampling", "sample", "household"} & {*words}
    if weighed or any("wgt" in word for word in words):
        hints = {"weight"}
    if "name" in words and _PLACES & {*words}:
        hints.discard("identifier")
    return next((hint for hint in _ORDER if hint in hints), None)


def numbers_people(name: str) -> str | None:
    """Return whether a name is a number of people ("number"), or people alone ("people").

    Such a column identifies people however many rows each of them has.

    Example:
        >>> [numbers_people(name) for name in ("customer_id", "Patientennummer", "Customer")]
        ['number', 'number', 'people']
        >>> numbers_people("customer_age") is None
        True
    """
    # German writes them as one word.
    split = [re.sub(r"(?<=...)(nummer|nr|id)$", r" \1", word) for word in _words(name)]
    parts = {*" ".join(split).split()}
    if not parts & _PEOPLE or parts - _PEOPLE - _NUMBERS:
        return None
    return "number" if parts & _NUMBERS else "people"


def _words(name: str) -> list[str]:
    letters = unicodedata.normalize("NFKD", name.replace("ß", "ss"))
    plain = letters.encode("ascii", "ignore").decode()
    split = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", plain)
    return re.findall(r"[a-z]+\d*|\d+", split.lower())
