"""Tell by its name whether a column seems to hold what is known of a person, in the languages of Western schemas.

It is a guess, for a note of doctor and a proposal of `init --map`: a name says nothing certain. Words stand between underscores
or digits, so that PANEL or SHIPPING has none of them.
"""

from __future__ import annotations

import re

NUMBER = r"_?(NO|NR|NUM|NUMBER|NUMMER|NUMERO)"
WORDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "an e-mail address",
        (r"E_?MAIL(_?ADDR(ESS)?)?", r"MAIL_?ADDR(ESS)?", "COURRIEL", r"CORREO(_?ELECTRONICO)?"),
    ),
    (
        "a telephone number",
        (
            rf"(TELE|CELL_?|MOBILE_?)?(PHONE|FON)({NUMBER})?", rf"MOBILE?({NUMBER})?", rf"CELL{NUMBER}", "FAX",
            rf"TEL({NUMBER})?", r"NUM_?TEL", "MSISDN", "HANDY", "TELEFOONNUMMER", "TELEFONO", "TELEFONE",
            "CELULAR", "CELLULARE",
        ),
    ),
    (
        "a name",
        (
            r"(FIRST|LAST|FAMILY|MIDDLE|MAIDEN|BIRTH|FULL|SUR|GIVEN|FORE|F|L)_?NAME",
            r"(CUST|CUSTOMER|CLIENT|PERSON|EMP|EMPLOYEE|CONTACT|PATIENT|HOLDER|MEMBER|STUDENT|OWNER)_?NAME",
            "VORNAME", "NACHNAME", "FAMILIENNAME", "PRENOM", r"NOM_?(DE_)?(FAMILLE|NAISSANCE)", "APELLIDOS?", "COGNOME",
            "SOBRENOME", "ACHTERNAAM", "VOORNAAM", "NAZWISKO", "IMIE", "EFTERNAMN", "FORNAMN",
        ),
    ),
    (
        "a date or place of birth",
        (
            r"BIRTH(DAY|_?DATE|_?DT|_?PLACE)?", r"(DATE|DAY|PLACE|YEAR)_?OF_?BIRTH", "DOB", "D_O_B",
            r"GEB(URTS)?_?(DATUM|TAG|ORT|DAT)", r"((DATE|LIEU|DT)_?(DE_)?)?NAISS(ANCE)?", r"FECHA_?(DE_)?NAC(IMIENTO)?",
            r"DATA_?(DI_|DE_)?(NASCITA|NASCIMENTO)", "DATA_URODZENIA", "GEBOORTEDATUM",
        ),
    ),
    (
        "an identity number",
        (
            "SSN", rf"SOCIAL_?SEC(URITY)?({NUMBER})?", rf"NATIONAL_?(ID|INSURANCE)({NUMBER})?", rf"PASSPORT({NUMBER})?", "NINO",
            rf"(TAX|VAT|STEUER)_?(ID|{NUMBER[2:]})", "TIN", rf"NHS{NUMBER}", rf"ID_?CARD({NUMBER})?",
            rf"DRIV(ER|ERS|ING)_?LICEN[CS]E({NUMBER})?", r"LICEN[CS]E_?PLATE", rf"SOZIALVERSICHERUNGS?{NUMBER}", rf"SV{NUMBER}",
            rf"(PERSONAL)?AUSWEIS({NUMBER})?", "REISEPASS", r"(NUM_?|NUMERO_?)?SECU(RITE_?SOCIALE)?", "DNI", "NIF", "CURP",
            r"CODICE_?FISCALE", "CPF", "BSN", "PESEL", "PERSONNUMMER", "FODSELSNUMMER", rf"CPR{NUMBER}",
        ),
    ),
    (
        "a bank account or card",
        (
            "IBAN", "BIC", r"SWIFT(_?CODE)?", r"SORT_?CODE", rf"(CREDIT_?|CC_?)?(CARD|CC){NUMBER}", r"CREDIT_?CARD", "PAN",
            "CVV", rf"(ACCOUNT|ACCT|KONTO){NUMBER}", r"BANK_?(ACCOUNT|VERBINDUNG)", r"CUENTA_?BANCARIA",
        ),
    ),
    (
        "an address",
        (
            "STREET", r"ADDR(ESS)?(_?LINE)?", r"(POST|POSTAL)_?CODE", r"ZIP(_?CODE)?", rf"HOUSE{NUMBER}", "STRASSE",
            r"HAUS_?(NUMMER|NR)", "PLZ", "POSTLEITZAHL", "ANSCHRIFT", "ADRESSE", r"CODE_?POSTAL", "DIRECCION",
            r"CODIGO_?POSTAL", "INDIRIZZO", "ENDERECO", "WOONPLAATS",
        ),
    ),
    ("an address on the net", (r"IP(_?ADDR(ESS)?)?", r"MAC_?ADDR(ESS)?")),
    (
        "a secret",
        (
            "PASSWORD", "PASSWD", "PWD", "SECRET", r"PIN(_?CODE)?", r"API_?KEY", r"(ACCESS|REFRESH|AUTH|API)_?TOKEN",
            "KENNWORT", "PASSWORT", r"MOT_?DE_?PASSE", "CONTRASENA", "SENHA",
        ),
    ),
    (
        "a trait of a person",
        (
            "GENDER", "SEX", "RELIGION", "NATIONALITY", "ETHNICITY", r"MARITAL_?STATUS", r"BLOOD_?(GROUP|TYPE)", "DIAGNOSIS",
            "GESCHLECHT", "SEXE", "SESSO",
        ),
    ),
)  # fmt: skip
# Words that are names of other things too, or parts of many: only a column with this name alone.
ALONE = {
    "a name": ("NOM", "NOMBRE"), "a telephone number": ("PORTABLE",), "an address": ("RUE", "CALLE", "CAP", "CEP"),
    "an identity number": ("NIR", "NIE", "RFC", "RG", "HETU"),
}  # fmt: skip
# What stands after such a word where the column is about it: its number in another table, its kind, or what was done with it.
ABOUT = (
    r"(?!_(ID|TYPE|KIND|FLAG|STATUS|STATE|SENT|VERIFIED|CONFIRMED|VALIDATED|OPT|COUNT|CNT|AT|ON|EXPIR\w*|CHANGED?|FILE|FORMAT|"
    r"LENGTH|REQUIRED|ENABLED)(_|$))"
)
PERSONAL = tuple((what, re.compile(rf"(?:^|[_$#\d])(?:{'|'.join(words)})(?:$|(?=[_$#\d])){ABOUT}")) for what, words in WORDS)
ASKS = re.compile(r"(IS|HAS)_")


def personal(name: str) -> str | None:
    """Return what a column seems to hold of a person."""
    upper = name.upper()
    if ASKS.match(upper):
        return None
    alone = (what for what, words in ALONE.items() if upper in words)
    return next(alone, None) or next((what for what, pattern in PERSONAL if pattern.search(upper)), None)
