"""Make `sentence_pairs.txt`: French–English sentence pairs, from which the lab `learning-to-align` learns.

    python data/build_sentences.py             writes the file
    python data/build_sentences.py --check     writes nothing, exits 1 if the file is not what the grammar makes

The words are those of ``lexicon.csv``; the grammar adds what a lexicon does not say: genders, forms, who can do
what to whom (`sentence_words.toml`, `sentence_grammar.py`). It makes what is interesting in translating:
adjectives behind their nouns,
elision (*l accord*, *j ai*), articles that English lacks (*la paix*, *du pain*), negation in two parts
(*ne … pas*), compound tenses (*a été signé* for *was signed*), questions and comparisons. Nothing says which
word corresponds to which: that is left to learn. Neither half of a hand-linked pair of ``alignments.txt``, nor
of the published pair, is ever among them, so that these remain for measuring.
"""

import argparse
import sys
from pathlib import Path

from sentence_grammar import WORDS, Grammar, agree, article, elide, endings
from sentence_grammar import Phrase as P

from attention_labs.alignment import hand_linked
from attention_labs.embeddings import tokenize
from attention_labs.published import ENGLISH, FRENCH
from autograder.core.files import write_file

FILE = Path(__file__).with_name("sentence_pairs.txt")
COUNT, SEED = 6000, 0


class Sentences(Grammar):
    """Whole sentences, made of what the grammar has."""

    def clause(self):
        """Return a clause: a person does something at a place and a time."""
        verb = self.pick(self.verbs)
        english, french = self.deed(verb, self.who(verb))
        sentence = P(english, french)
        if verb.what:
            negative = " ne " in f" {french} " and "doit" not in french
            target = self.thing(*verb.what)
            if negative and target.french.startswith(("de la ", "de le ")):  # ne … pas de pain
                target = target._replace(french="de " + target.french.split(" ", 2)[2])
            sentence += target
        if verb.what == ("language",) and self.often(0.5):
            sentence = P(english, french) + self.pair("languages")
            sentence = sentence._replace(
                french=sentence.french.rsplit(" ", 1)[0]
                + " le "
                + sentence.french.rsplit(" ", 1)[1]
            )
        if self.often(0.1):
            sentence += self.pick(
                [
                    P("very well", "très bien"),
                    P("a lot", "beaucoup"),
                    P("also", "aussi"),
                    P("with", "avec") + self.thing("person", "family"),
                ]
            )
        if self.often(0.5 if verb.what else 0.85):
            sentence += self.where()
        if self.often(0.5):
            when = self.when()
            if self.often(0.35):  # in front, in either language
                comma = " ," if self.often(0.4) else ""
                return P(
                    f"{when.english}{comma} {sentence.english}",
                    f"{when.french}{comma} {sentence.french}",
                )
            if self.often(0.25):  # in front in one language only
                return P(f"{sentence.english} {when.english}", f"{when.french} {sentence.french}")
            sentence += when
        return sentence

    def passive(self):
        """*was signed*, *a été signé*: a compound tense, and a participle that agrees."""
        verbs = [
            verb
            for verb in self.verbs
            if verb.infinitive
            in (
                "signer",
                "adopter",
                "fermer",
                "construire",
                "vendre",
                "trouver",
                "acheter",
                "ouvrir",
            )
        ]
        verb = self.pick(verbs)
        subject = self.thing(*verb.what)
        if verb.what == ("document",) and self.often(0.6):
            link = self.pick([P("on", "sur"), P("on", "sur"), P("of", "de"), P("between", "entre")])
            if link.english == "between":
                first, second = self.country(), self.country()
                what = first + P("and", "et") + second
            else:
                what = self.pick(
                    [
                        self.institution,
                        self.institution,
                        self.country,
                        lambda: self.thing("abstract", "matter"),
                    ]
                )()
            longer = subject + link + what
            subject = longer._replace(subject=subject.subject, gender=subject.gender)
        plural = subject.subject == "ils"
        participle = agree(verb.participle, subject.gender, plural)
        tense = self.pick(["was", "was", "was", "is", "will"])
        if tense == "was":
            helper = ("were", "ont été") if plural else ("was", "a été")
        elif tense == "is":
            helper = ("are", "sont") if plural else ("is", "est")
        else:
            helper = ("will be", "seront" if plural else "sera")
        sentence = subject + P(f"{helper[0]} {verb.english[3]}", f"{helper[1]} {participle}")
        if self.often(0.2):
            sentence += P("by", "par") + self.thing(*verb.who)
        return sentence + self.pick([self.when, self.when, self.where])()

    def being(self):
        """*The horse is faster than the donkey*, *la paix est importante*."""
        kinds = [
            "person",
            "animal",
            "place",
            "document",
            "abstract",
            "thing",
            "nature",
            "family",
            "abstract",
        ]
        kind = self.pick(kinds)
        subject = self.thing(kind, share=0.15)
        plural = subject.subject == "ils"
        am, est = ("are", "sont") if plural else ("is", "est")
        if self.often(0.5):
            english, _, forms, _ = self.pick(self.adjectives["be"])
            form = forms[plural][subject.gender]
            choice = self.rng.random()
            if choice < 0.4:
                better = {
                    "old": "older",
                    "young": "younger",
                    "big": "bigger",
                    "small": "smaller",
                    "rich": "richer",
                    "long": "longer",
                }.get(english, f"more {english}")
                return (
                    subject
                    + P(f"{am} {better} than", f"{est} plus {form} que")
                    + self.thing(kind, share=0.1)
                )
            if choice < 0.55:
                return subject + P(f"{am} not {english}", f"ne {est} pas {form}")
            very = self.pick([P("", ""), P("very", "très"), P("so", "si"), P("too", "trop")])
            return subject + P(f"{am} {very.english} {english}", f"{est} {very.french} {form}")
        choice = self.rng.random()
        if choice < 0.25:
            fast = self.thing("animal", "train", "car", "boat", "plane", "person", share=0.1)
            many = fast.subject == "ils"
            rapide = "rapides" if many else "rapide"
            return (
                fast
                + P(
                    f"{'are' if many else 'is'} faster than",
                    f"{'sont' if many else 'est'} plus {rapide} que",
                )
                + self.thing("animal", "train", "bus", "car")
            )
        if choice < 0.45:
            members = P("are members of", "sont membres de") + self.institution()
            return self.country() + P("and", "et") + self.country() + members
        if choice < 0.6:
            place = self.thing("museum", "library", "shop", "theatre", "door", "window", "school")
            many, feminine = place.subject == "ils", place.gender
            closed = self.pick([("closed", "fermé"), ("open", "ouvert")])
            return (
                place
                + P(
                    f"{'are' if many else 'is'} {closed[0]}",
                    f"{'sont' if many else 'est'} {agree(closed[1], feminine, many)}",
                )
                + self.when()
            )
        person = self.pick(
            [self.thing("person", "family"), P("she", "elle", "elle", 1), P("he", "il")]
        )
        return (
            person
            + P(
                "are" if person.subject == "ils" else "is",
                "sont" if person.subject == "ils" else "est",
            )
            + self.where()
        )

    def question(self):
        place = self.thing(
            "library", "museum", "station", "hospital", "door", "key", "market", "place", "thing"
        )
        many = place.subject == "ils"
        verb = self.pick([v for v in self.verbs if v.what])
        who = P("who", "qui")
        food = self.some(*self.noun(["food", "drink"]))
        you = self.pick(
            [
                ("why are you so", "pourquoi es tu si"),
                ("why are you", "pourquoi êtes vous"),
                ("are you", "es tu"),
            ]
        )
        mood = self.pick(
            [
                ("sad", "triste"),
                ("happy", "heureux"),
                ("tired", "fatigué"),
                ("sick", "malade"),
                ("young", "jeune"),
            ]
        )
        carry = self.pick(
            [
                ("carry", "porter"),
                ("find", "trouver"),
                ("open", "ouvrir"),
                ("sell", "vendre"),
                ("read", "lire"),
                ("close", "fermer"),
            ]
        )
        return self.pick(
            [
                P("where", "où") + P("are" if many else "is", "sont" if many else "est") + place,
                P("do you know where", "savez vous où")
                + P(
                    f"{place.english} {'are' if many else 'is'}",
                    f"{'sont' if many else 'est'} {place.french}",
                ),
                P("do you know", "savez vous")
                + self.pick([P("where", "où"), P("why", "pourquoi")])
                + self.clause(),
                P(*self.deed(verb, who, "past"))
                + self.thing(*verb.what)
                + self.pick([P("", ""), self.where(), self.when()]),
                P(*self.deed(verb, who, "simple")) + self.thing(*verb.what),
                P(
                    "how much do" if many else "how much does",
                    "combien coûtent" if many else "combien coûte",
                )
                + place
                + P("cost", ""),
                P("can you help me", "pouvez vous m aider à")
                + P(*carry)
                + self.thing("thing", "clothes"),
                P(f"{you[0]} {mood[0]}", f"{you[1]} {mood[1]}")
                + self.pick([self.when(), P("today", "aujourd hui"), P("", "")]),
                P("do you have", "avez vous") + self.thing("thing", "family", "animal"),
                P("do you like", "aimez vous") + food,
            ]
        )._replace(subject="?")

    def please(self, share):
        comma = " ," if self.often(0.5) else ""
        return P(f"{comma} please", "s il vous plaît") if self.often(share) else P("", "")

    def frame(self):
        """Turns of phrase in which the languages do not go word by word."""
        who = self.thing("person", "family")
        plural = who.subject == "ils"
        have = P("have" if plural else "has", "ont" if plural else "a")
        material, dress = (
            self.pick(self.nouns["material"]),
            self.pick(self.nouns["clothes"] + self.nouns["thing"][:8]),
        )
        thing, _ = self.noun(["door", "window", "table", "key", "chair", "lamp"])
        room, _ = self.noun(["kitchen", "house", "church", "school", "car", "castle", "hotel"])
        the = "la" if thing.gender else "le"
        of = "la" if room.gender else "le"
        price = self.pick(
            [
                ("oil", "le pétrole"),
                ("bread", "le pain"),
                ("gold", "le or"),
                ("milk", "le lait"),
                ("coffee", "le café"),
                ("wine", "le vin"),
                ("houses", "les maisons"),
            ]
        )
        right = self.pick(
            [
                ("freedom of expression", "la liberté de expression"),
                ("education", "la éducation"),
                ("justice", "la justice"),
                ("freedom", "la liberté"),
            ]
        )
        time = self.pick(
            [
                ("days", "jours", "a week", "une semaine"),
                ("months", "mois", "a year", "une année"),
                ("weeks", "semaines", "a month", "un mois"),
            ]
        )
        weather = self.pick(
            [
                ("it is sunny", "il fait beau"),
                ("it is cold", "il fait froid"),
                ("it is warm", "il fait chaud"),
                ("the weather is cold", "le temps est froid"),
            ]
        )
        gave = self.pick(
            [("gave", "a donné"), ("sold", "a vendu"), ("showed", "a montré"), ("read", "a lu")]
        )
        pupil = self.thing("person", "child")
        one = P(
            "the " + (teller := self.pick(self.nouns["person"])).english[0],
            ("la " if teller.gender else "le ") + teller.french[0],
            *endings(teller, 0),
        )
        verb = self.pick([v for v in self.verbs if v.infinitive in WORDS["FUTURE"]])
        numbered = self.pair("numbers")
        return self.pick(
            [
                P("there is", "il y a")
                + self.pick(
                    [
                        P("a", "un") + P(*self.bare(0)),
                        P("some bread", "du pain"),
                        P("fresh water", "de la eau fraîche"),
                    ]
                )
                + self.where(),
                P(f"there are {numbered.english}", f"il y a {numbered.french}")
                + P(
                    *self.pick(
                        [
                            (n.english[1], n.french[1])
                            for n in self.nouns["thing"]
                            + self.nouns["animal"]
                            + self.nouns["person"]
                        ]
                    )
                )
                + self.where(),
                P(
                    f"there are {numbered.english} {time[0]} in {time[2]}",
                    f"il y a {numbered.french} {time[1]} dans {time[3]}",
                ),
                P("i would like", "je voudrais")
                + self.some(*self.noun(["food", "drink", "drink"]))
                + self.please(0.6),
                P("i would like", "je voudrais")
                + self.thing("dish", "thing", "clothes")
                + self.please(0.6),
                self.weather(),
                P(f"if {weather[0]} tomorrow ,", f"si {weather[1]} demain ,") + self.future(verb),
                P(f"{weather[0]}", f"{weather[1]}") + self.pick([self.when, self.where])(),
                who
                + have
                + self.thing("animal", "thing", "family", "clothes")
                + P("and", "et")
                + self.thing("family", "animal", "thing"),
                self.pick(
                    [
                        P("i have", "je ai"),
                        P("we have", "nous avons"),
                        P("she has", "elle a"),
                        P("he has", "il a"),
                        P("they have", "ils ont"),
                    ]
                )
                + self.thing("family", "animal", "thing", "abstract"),
                self.pick(
                    [
                        P("everyone has the right to", "chacun a droit à"),
                        P("everyone has", "chacun a"),
                        P("everyone needs", "chacun a besoin de"),
                    ]
                )
                + (P(*right) if self.often(0.5) else self.thing("abstract")),
                P(
                    f"the {room.english[0]} {thing.english[0]}",
                    f"{the} {thing.french[0]} de {of} {room.french[0]}",
                )
                + P("is closed", f"est {agree('fermé', thing.gender, 0)}")
                + self.when(),
                P("who broke the", "qui a cassé")
                + P(
                    f"{room.english[0]} {thing.english[0]}",
                    f"{the} {thing.french[0]} de {of} {room.french[0]}",
                ),
                who
                + P("bought", "ont acheté" if plural else "a acheté")
                + P(
                    f"{material.english[0]} {dress.english[1]}",
                    f"des {dress.french[1]} de {material.french[0]}",
                ),
                P(f"the price of {price[0]}", f"le prix de {price[1]}")
                + self.pick(
                    [
                        P("increased", "a augmenté"),
                        P("is increasing", "augmente"),
                        P("is high", "est élevé"),
                    ]
                )
                + self.when(),
                one
                + P(gave[0], gave[1])
                + P(pupil.english, "")
                + (what := self.thing("thing", "book", "gift", "animal"))
                + P("", f"à {pupil.french}"),
                one + P(gave[0], gave[1]) + what + P("to", "à") + pupil,
                one
                + P("asked", self.pick(["a posé", "posa"]))
                + P(
                    f"{pupil.english} {numbered.english} questions",
                    f"{numbered.french} questions à {pupil.french}",
                ),
                P("the computer program", "le programme informatique")
                + P("translates", "traduit")
                + self.thing("sentence", "letter", "book")
                + P("into", "en")
                + self.pair("languages"),
                who
                + P("listened to", "ont écouté" if plural else "a écouté")
                + self.pick(
                    [
                        P("music", "de la musique"),
                        self.thing("person", "bird", "music"),
                        P("beautiful music", "de la belle musique"),
                    ]
                )
                + self.pick([self.where, self.when])(),
                who
                + self.pick(
                    [
                        P("drinks only", "boivent seulement" if plural else "boit seulement"),
                        P("eats only", "mangent seulement" if plural else "mange seulement"),
                    ]
                )
                + self.thing("food", "drink"),
                P("yesterday evening ,", "hier soir ,") + self.clause(),
                P("i am learning", "je apprends")
                + self.french_language()
                + P("with", "avec")
                + self.thing("person", "family"),
                P("in", "dans") + self.thing("place", "nature") + P(",", ",") + self.clause(),
                self.place_far(),
                P("this book about", "ce livre sur")
                + self.thing("abstract", "animal", "matter")
                + P("is interesting", "est intéressant"),
                P("they read an interesting book about", "ils ont lu un livre intéressant sur")
                + self.thing("abstract", "animal", "matter"),
                self.pick([P("i have", "je ai"), P("we have", "nous avons"), P("he has", "il a")])
                + self.one()
                + P("and", "et")
                + self.one(),
                P("the leaves", "les feuilles")
                + self.pick(
                    [
                        P("are yellow and fall", "sont jaunes et tombent"),
                        P("fall", "tombent"),
                        P("turn", "tournent"),
                    ]
                )
                + self.when(),
            ]
        )

    def one(self):
        """*one sister*, *two brothers*: counted, and *one* is *un* or *une*."""
        noun, _ = self.noun(["family", "animal", "thing"])
        if self.often(0.4):
            number = self.pair("numbers")
            return P(f"{number.english} {noun.english[1]}", f"{number.french} {noun.french[1]}")
        return P(f"one {noun.english[0]}", f"{'une' if noun.gender else 'un'} {noun.french[0]}")

    def place_far(self):
        return (
            self.thing("place", "nature", "planet")
            + P("is far from", "est loin de")
            + self.thing("sun", "place", "nature", "moon")
        )

    def french_language(self):
        language = self.pair("languages")
        return language._replace(french=f"le {language.french}")

    def bare(self, plural):
        noun = self.pick(
            [
                noun
                for kind in ("thing", "place", "animal")
                for noun in self.nouns[kind]
                if not noun.gender
            ]
        )
        return noun.english[plural], noun.french[plural]

    def future(self, verb):
        subject = self.pick([P("they", "ils", "ils"), P("he", "il"), self.thing("person")])
        english, french = self.deed(verb, subject, "will")
        sentence = P(english, french)
        return (sentence + self.thing(*verb.what) if verb.what else sentence) + self.where()

    def weather(self):
        rain = self.pick([("rained", "plu"), ("snowed", "neigé")])
        a_lot = self.often(0.6)
        return (
            P(
                f"it {rain[0]}{' a lot' if a_lot else ''}",
                f"il a {'beaucoup ' if a_lot else ''}{rain[1]}",
            )
            + self.pick([self.when, self.where])()
        )

    def sentence(self):
        """One pair, as lists of words, full stop and question mark included."""
        choice = self.rng.random()
        if choice < 0.5:
            made = self.clause()
        elif choice < 0.62:
            made = self.passive()
        elif choice < 0.70:
            made = self.being()
        elif choice < 0.78:
            made = self.question()
        elif choice < 0.94:
            made = self.frame()
        else:
            join = self.pick(
                [
                    P("and", "et"),
                    P(", but", ", mais"),
                    P("because", "parce que"),
                    P("when", "quand"),
                ]
            )
            made = self.short() + join + self.short()
        end = "?" if made.subject == "?" else "."
        return article(f"{made.english} {end}"), elide(f"{made.french} {end}")

    def short(self):
        verb = self.pick(self.verbs)
        made = P(*self.deed(verb, self.who(verb)))
        return made + self.thing(*verb.what, share=0.2) if verb.what else made


def make(count: int = COUNT, seed: int = SEED) -> str:
    """The text of the file: a pair a line, English, a tab, French."""
    grammar = Sentences(seed)
    published = tokenize(ENGLISH), tokenize(FRENCH)
    kept_apart = {" ".join(words) for pair in [*hand_linked(), published] for words in pair[:2]}
    lines = []
    while len(lines) < count:
        english, french = (" ".join(words) for words in grammar.sentence())
        if english.count(" ") < 16 and kept_apart.isdisjoint([english, french]):
            lines.append(f"{english}\t{french}\n")
    return "".join(lines)


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(
        description="Make the sentence pairs of the lab learning-to-align."
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 on any difference"
    )
    options = parser.parse_args(arguments)
    if options.check:
        same = FILE.read_text(encoding="utf-8") == make()
        print(f"{FILE.name} is {'' if same else 'not '}what the grammar makes.")
        return 0 if same else 1
    write_file(FILE, make())
    return 0


if __name__ == "__main__":
    sys.exit(main())
