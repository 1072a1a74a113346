"""The grammar of `build_sentences.py`: noun phrases, verbs, places and times, in both languages at once.

Everything it chooses comes from one generator of random numbers. The words are in `sentence_words.toml`.
"""

import tomllib
from pathlib import Path
from typing import NamedTuple

import numpy as np

WORDS = tomllib.loads(Path(__file__).with_name("sentence_words.toml").read_text(encoding="utf-8"))
MERGED = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}


class Noun(NamedTuple):
    english: tuple[str, str]  # singular, plural
    french: tuple[str, str]
    gender: int  # 0 masculine, 1 feminine


class Phrase(NamedTuple):
    """Some words in both languages; `subject` is the French pronoun whose verb form it takes."""

    english: str
    french: str
    subject: str = "il"
    gender: int = 0

    def __add__(self, other):
        return self._replace(
            english=f"{self.english} {other.english}", french=f"{self.french} {other.french}"
        )


def _entries(text):
    return [entry.strip() for entry in text.split(",")]


def _noun(entry):
    english, french, gender = entry.split()
    one, _, many = english.partition(":")
    if not many:
        many = (
            one[:-1] + "ies"
            if one[-1] == "y" and one[-2] not in "aeo"
            else one + "es" * one.endswith(("s", "x", "ch", "sh", "o"))
        )
        many = many if many != one else one + "s"
    un, _, des = french.replace("_", " ").partition(":")
    if not des:
        des = (
            un[:-2] + "aux"
            if un.endswith(("al",))
            else un + ("x" if un.endswith(("eau", "eu")) else "s")
        )
    return Noun((one, many), (un, des), int(gender == "f"))


def _adjective(entry):
    """English, whether it stands before its noun, the French forms [plural][gender], the form before a vowel."""
    before = entry.startswith("*")
    english, french = entry.lstrip("*").split()
    french, _, vowel = french.partition("+")
    forms = french.split("/")
    masculine = forms[0]
    feminine = forms[1] if len(forms) > 1 else masculine + "e"
    plural = forms[2] if len(forms) > 2 else masculine + "s"
    return english, before, ((masculine, feminine), (plural, feminine + "s")), vowel or masculine


class Verb(NamedTuple):
    english: tuple[str, ...]  # base, with s, past, participle, ing
    infinitive: str
    present: tuple[str, ...]  # je, tu, il, nous, vous, ils
    participle: str
    to_be: bool  # its compound past takes être
    who: tuple[str, ...]
    what: tuple[str, ...]


def _verb(line):
    english, french, use = line.split(";")
    forms = [word for word in french.split() if word != "être"]
    infinitive = forms[0]
    if len(forms) == 1:
        stem = infinitive[:-2]
        we = stem + {"g": "e", "c": ""}.get(stem[-1], "")
        we = we[:-1] + "ç" if stem[-1] == "c" else we
        forms += [
            stem + "e",
            stem + "es",
            stem + "e",
            we + "ons",
            stem + "ez",
            stem + "ent",
            stem + "é",
        ]
    who, _, what = use.partition("|")
    return Verb(
        tuple(english.split()),
        infinitive,
        tuple(forms[1:7]),
        forms[7],
        "être" in french.split(),
        tuple(who.split()),
        tuple(what.split()),
    )


def vowel_first(word):
    return word[0] in WORDS["VOWELS"] and word not in WORDS["ASPIRATED"]


def elide(text):
    """French words as they are written: *le eau* becomes *l eau*, and *de le* becomes *du*."""
    words, out = text.split(), []
    for word, after in zip(words, [*words[1:], "."]):
        out.append(
            WORDS["ELIDED"][word] if word in WORDS["ELIDED"] and vowel_first(after) else word
        )
    words, out = out, []
    for word in words:
        if out and (out[-1], word) in MERGED:
            out[-1] = MERGED[out[-1], word]
        else:
            out.append(word)
    return out


def article(text):
    """English words as they are written: *a apple* becomes *an apple*."""
    words = text.split()
    return [
        "an" if word == "a" and after[0] in "aeio" else word
        for word, after in zip(words, [*words[1:], "."])
    ]


class Grammar:
    """Makes sentence pairs; everything it chooses comes from one generator of random numbers."""

    def __init__(self, seed: int = 0):
        self.rng = np.random.default_rng(seed)
        self.nouns = {
            kind: [_noun(entry) for entry in _entries(text)]
            for kind, text in WORDS["NOUNS"].items()
        }
        self.by_name = {
            noun.english[0]: (noun, kind) for kind, nouns in self.nouns.items() for noun in nouns
        }
        self.adjectives = {
            kind: [_adjective(entry) for entry in _entries(text)]
            for kind, text in WORDS["ADJECTIVES"].items()
        }
        self.verbs = [_verb(line) for line in WORDS["VERBS"].strip().splitlines()]
        self.countries = [_noun(entry) for entry in _entries(WORDS["COUNTRIES"])]
        pairs = {
            "cities": WORDS["CITIES"],
            "months": WORDS["MONTHS"],
            "days": WORDS["DAYS"],
            "numbers": WORDS["NUMBERS"],
            "seasons": WORDS["SEASONS"],
            "languages": WORDS["LANGUAGES"],
        }
        self.pairs = {
            name: [tuple(entry.split()) for entry in _entries(text)] for name, text in pairs.items()
        }

    def pick(self, options):
        return options[int(self.rng.integers(len(options)))]

    def often(self, share):
        return self.rng.random() < share

    def pair(self, name):
        return Phrase(*self.pick(self.pairs[name]))

    def noun(self, kinds):
        """A noun of one of `kinds`; a kind may also be the English name of one noun."""
        kind = self.pick(kinds)
        if kind in self.nouns:
            return self.pick(self.nouns[kind]), kind
        return self.by_name[kind]

    # --- noun phrases ---------------------------------------------------------------------------------

    def with_adjective(self, noun, kind, plural, share=0.4):
        """English and French noun, perhaps with an adjective, and whether that stands before it in French."""
        english, french = noun.english[plural], noun.french[plural]
        style = WORDS["STYLE"].get(kind)
        if style is None or not self.often(share):
            return english, french, False
        word, before, forms, vowel = self.pick(self.adjectives[style])
        form = forms[plural][noun.gender]
        if before and not plural and not noun.gender and vowel_first(french):
            form = vowel
        french = f"{form} {french}" if before else f"{french} {form}"
        return f"{word} {english}", french, before

    def thing(self, *kinds, share=0.4):
        """A noun phrase of one of `kinds`, with whatever stands before a noun."""
        noun, kind = self.noun(kinds)
        if kind in ("food", "drink"):
            return self.some(noun, kind)
        if kind == "abstract" or kind == "material":
            return Phrase(
                noun.english[0],
                f"{'la' if noun.gender else 'le'} {noun.french[0]}",
                *endings(noun, 0),
            )
        if kind == "family" and self.often(0.8):
            return self.owned(noun, kind, share)
        plural = int(self.often(0.35)) if kind not in ("sky",) else 0
        english, french, before = self.with_adjective(noun, kind, plural, share)
        first = french.split()[0]
        choice = (
            "the"
            if kind == "sky"
            else self.pick(
                ["the"] * 4
                + (
                    ["few", "number", "these", "generic", "many", "own"]
                    if plural
                    else ["a", "a", "a", "this", "every", "own"]
                )
            )
        )
        if choice == "own":
            return self.owned(noun, kind, share)
        if choice == "the":
            words = "the", "les" if plural else ("la" if noun.gender else "le")
        elif choice == "a":
            words = "a", "une" if noun.gender else "un"
        elif choice == "this":
            words = "this", "cette" if noun.gender else ("cet" if vowel_first(first) else "ce")
        elif choice == "every":
            words = "every", "chaque"
        elif choice == "few":
            words = "some", "de" if before else "des"
        elif choice == "these":
            words = "these", "ces"
        elif choice == "number":
            words = self.pick(self.pairs["numbers"])
        elif choice == "many":
            words = "many", "beaucoup de"
        else:  # in general: French has its article, English none
            return Phrase(english, f"les {french}", *endings(noun, 1))
        return Phrase(f"{words[0]} {english}", f"{words[1]} {french}", *endings(noun, plural))

    def some(self, noun, kind):
        """Food and drink: *bread* is *du pain*; with an owner or an article of its own at times."""
        english, french, _ = self.with_adjective(noun, kind, 0, 0.3)
        the = "la" if noun.gender else "le"
        choice = self.rng.random()
        if choice < 0.5:
            return Phrase(english, f"de {the} {french}", *endings(noun, 0))
        if choice < 0.8:
            return Phrase(f"the {english}", f"{the} {french}", *endings(noun, 0))
        vessel, _ = self.noun(["vessel"])
        one = "une" if vessel.gender else "un"
        if kind == "drink":
            return Phrase(
                f"a {vessel.english[0]} of {english}",
                f"{one} {vessel.french[0]} de {french}",
                *endings(vessel, 0),
            )
        return self.owned(noun, kind, 0)

    def owned(self, noun, kind, share=0.4):
        plural = int(self.often(0.3)) if kind not in ("food", "drink") else 0
        english, french, _ = self.with_adjective(noun, kind, plural, share)
        owner = self.pick(list(WORDS["OWNERS"]))
        masculine, feminine, several = WORDS["OWNERS"][owner].split()
        form = (
            several
            if plural
            else feminine
            if noun.gender and not vowel_first(french)
            else masculine
        )
        return Phrase(f"{owner} {english}", f"{form} {french}", *endings(noun, plural))

    def country(self):
        noun = self.pick(self.countries)
        return Phrase(
            noun.english[0], f"{'la' if noun.gender else 'le'} {noun.french[0]}", *endings(noun, 0)
        )

    def institution(self):
        """Names whose adjectives English puts before them and French behind."""
        return self.pick(
            [
                Phrase("the european economic area", "la zone économique européenne", "elle", 1),
                Phrase("the european union", "l union européenne", "elle", 1),
                Phrase("the european parliament", "le parlement européen"),
                Phrase("the european commission", "la commission européenne", "elle", 1),
                Phrase("the environment", "l environnement"),
                Phrase("the economic policy", "la politique économique", "elle", 1),
            ]
        )

    def who(self, verb):
        """A subject for `verb`: a pronoun where it is a person's deed, else a noun phrase."""
        people = {"person", "family"} & set(verb.who)
        if people and self.often(0.4):
            english = self.pick(list(WORDS["PRONOUNS"]))
            return Phrase(
                english,
                WORDS["PRONOUNS"][english],
                WORDS["PRONOUNS"][english],
                int(english == "she"),
            )
        return self.thing(*verb.who, share=0.3)

    # --- verbs ----------------------------------------------------------------------------------------

    def deed(self, verb, subject, force=None):
        """Subject and verb in some tense, in the affirmative or in the negative."""
        base, with_s, past, _, ing = verb.english
        pronoun, plural = subject.subject, subject.subject in ("nous", "vous", "ils")
        third = pronoun in ("il", "elle")
        am = {"je": "am"}.get(pronoun, "is" if third else "are")
        was = "was" if third or pronoun == "je" else "were"
        do = "does" if third else "do"
        now = verb.present[WORDS["PERSON"][pronoun]]
        done = self.compound(verb, subject, plural)
        tenses = (
            ["simple"] * 4
            + ["progressive"] * 2
            + ["past"] * 7
            + ["not", "don", "never", "did", "didn", "modal", "modal", "mustn"]
        )
        tenses += (
            ["will"] * 2
            if verb.infinitive in WORDS["FUTURE"] and pronoun in ("il", "elle", "ils")
            else []
        )
        tenses += (
            ["literary"] * 3
            if verb.infinitive in WORDS["SIMPLE_PAST"] and pronoun in ("il", "elle", "ils")
            else []
        )
        tenses += (
            ["imperfect"] * 2
            if verb.infinitive in WORDS["IMPERFECT"] and pronoun in ("il", "elle", "ils")
            else []
        )
        if base in ("love", "like", "hate", "fear"):
            tenses = [tense for tense in tenses if tense != "progressive"]
        tense = force or self.pick(tenses)
        many = int(pronoun == "ils")
        if tense == "simple":
            return f"{subject.english} {with_s if third else base}", f"{subject.french} {now}"
        if tense == "progressive":
            return f"{subject.english} {am} {ing}", f"{subject.french} {now}"
        if tense == "past":
            return f"{subject.english} {past}", f"{subject.french} {done}"
        if tense == "literary":
            return (
                f"{subject.english} {past}",
                f"{subject.french} {WORDS['SIMPLE_PAST'][verb.infinitive].split()[many]}",
            )
        if tense == "imperfect":
            english = past if base in ("wear",) or self.often(0.3) else f"{was} {ing}"
            return (
                f"{subject.english} {english}",
                f"{subject.french} {WORDS['IMPERFECT'][verb.infinitive].split()[many]}",
            )
        if tense == "will":
            return (
                f"{subject.english} will {base}",
                f"{subject.french} {WORDS['FUTURE'][verb.infinitive].split()[many]}",
            )
        if tense == "not":
            return f"{subject.english} {do} not {base}", f"{subject.french} ne {now} pas"
        if tense == "don":
            return f"{subject.english} {do}n t {base}", f"{subject.french} ne {now} pas"
        if tense == "never":
            return (
                f"{subject.english} never {with_s if third else base}",
                f"{subject.french} ne {now} jamais",
            )
        if tense in ("did", "didn"):
            no = "did not" if tense == "did" else "didn t"
            helper, rest = done.split(" ", 1)
            return f"{subject.english} {no} {base}", f"{subject.french} ne {helper} pas {rest}"
        table, modal = (
            self.pick([(WORDS["MUST"], "must"), (WORDS["CAN"], "can")])
            if tense == "modal"
            else (WORDS["MUST"], "must not")
        )
        form = table["il" if third else pronoun]
        form = f"ne {form} pas" if tense == "mustn" else form
        return f"{subject.english} {modal} {base}", f"{subject.french} {form} {verb.infinitive}"

    def compound(self, verb, subject, plural):
        """*a signé*; with être the participle agrees: *est arrivée*."""
        if not verb.to_be:
            return f"{WORDS['HAVE'][subject.subject]} {verb.participle}"
        return f"{WORDS['BE'][subject.subject]} {agree(verb.participle, subject.gender, plural)}"

    # --- where and when -------------------------------------------------------------------------------

    def when(self):
        month, day, season = self.pair("months"), self.pair("days"), self.pair("seasons")
        year = str(int(self.rng.integers(1985, 2000)))
        hour = self.pair("numbers")
        return self.pick(
            [
                Phrase(f"before {month.english}", f"avant {month.french}"),
                Phrase(f"in {month.english}", f"en {month.french}"),
                Phrase(f"in {month.english} {year}", f"en {month.french} {year}"),
                Phrase(f"in {year}", f"en {year}"),
                Phrase(f"on {day.english}", day.french),
                Phrase(f"on {day.english}s", f"le {day.french}"),
                Phrase(f"at {hour.english} o clock", f"à {hour.french} heures"),
                Phrase(f"after {month.english}", f"après {month.french}"),
                Phrase(f"last {month.english}", f"en {month.french} dernier"),
                Phrase("yesterday", "hier"),
                Phrase("today", "aujourd hui"),
                Phrase("tomorrow", "demain"),
                Phrase("every morning", "chaque matin"),
                Phrase("every evening", "chaque soir"),
                Phrase("every day", "chaque jour"),
                Phrase("this week", "cette semaine"),
                Phrase("this morning", "ce matin"),
                Phrase("this year", "cette année"),
                Phrase(
                    f"this {season.english}",
                    f"{'cet' if vowel_first(season.french) else 'ce'} {season.french}",
                ),
                Phrase(f"in {season.english}", f"en {season.french}"),
                Phrase("last month", "le mois dernier"),
                Phrase("last year", "l année dernière"),
                Phrase("last week", "la semaine dernière"),
                Phrase("next year", "l année prochaine"),
                Phrase("next week", "la semaine prochaine"),
                Phrase("next month", "le mois prochain"),
                Phrase("all day", "toute la journée"),
                Phrase("all week", "toute la semaine"),
                Phrase("in the evening", "le soir"),
                Phrase("before dawn", "avant l aube"),
                Phrase("before dinner", "avant le dîner"),
                Phrase("for dinner", "pour le dîner"),
                Phrase("after the meal", "après le repas"),
                Phrase("late", "en retard"),
                Phrase("too", "aussi"),
            ]
        )

    def where(self):
        place = self.thing("place", share=0.25)
        there = self.thing("place", "nature", share=0.25)
        city, country = self.pair("cities"), self.country()
        feminine = country.subject == "elle"
        person = self.thing("person", "family", "animal", share=0.2)
        thing = self.thing("thing", share=0.3)
        return self.pick(
            [
                Phrase("in", "dans") + place,
                Phrase("in", "dans") + place,
                Phrase("at", "à") + place,
                Phrase("to", "à") + place,
                Phrase(f"in {city.english}", f"à {city.french}"),
                Phrase(f"for {city.english}", f"pour {city.french}"),
                Phrase(
                    f"in {country.english}",
                    f"{'en' if feminine else 'à le'} {country.french.split()[1]}",
                ),
                Phrase("on", "sur") + thing,
                Phrase("under", "sous") + thing,
                Phrase("with", "avec") + person,
                Phrase("without", "sans") + person,
                Phrase("between", "entre")
                + self.thing("place", "nature", share=0.2)
                + Phrase("and", "et")
                + there,
                Phrase("above", "au dessus de") + there,
                Phrase("far from", "loin de") + there,
                Phrase("because of", "à cause de") + self.thing("matter", "abstract"),
                Phrase("for", "pour") + person,
                Phrase("against", "contre") + self.country(),
                Phrase("near", "près de") + there,
                Phrase("from", "de") + place,
                Phrase("into", "dans") + place,
            ]
        )


def endings(noun, plural):
    return ("ils" if plural else "elle" if noun.gender else "il"), noun.gender


def agree(participle, feminine, plural):
    return (
        participle
        + "e" * bool(feminine)
        + "s" * (bool(plural) and not (participle.endswith("s") and not feminine))
    )
