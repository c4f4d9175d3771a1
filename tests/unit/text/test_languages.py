"""Language codes, stemmers, stop lists and the detector."""

from __future__ import annotations

import pytest
import Stemmer

from pincite.errors import InvalidArgument
from pincite.text._folding import casefold
from pincite.text.languages import detect_language
from pincite.text.stemming import STEMMED_LANGUAGES, language_code, stem_function
from pincite.text.stopwords import stop_words, stop_words_of, stopped_languages

NEGATIONS = {
    "en": "no not nor without", "de": "nicht kein keine ohne", "fr": "ne pas non sans ni",
    "es": "no sin ni", "it": "non senza né", "pt": "não sem nem", "nl": "niet geen zonder",
    "sv": "inte utan ej", "da": "ikke uden", "no": "ikke uten ikkje", "fi": "ei ilman",
    "ru": "не нет без ни", "uk": "не немає без ні", "pl": "nie bez ani", "cs": "ne není bez ani",
    "sk": "nie bez ani", "ro": "nu fără nici", "hu": "nem nincs nélkül sem", "tr": "değil yok",
    "el": "δεν μην χωρίς", "ca": "no sense cap", "id": "tidak bukan tanpa",
    "ar": "لا ليس لم لن غير", "fa": "نه نیست هیچ بدون", "hi": "नहीं न बिना",
}  # fmt: skip

PARAGRAPHS = {
    "en": """
    The river rises in the hills above the old town and flows for nearly forty miles
    before it reaches the sea. In spring, when the snow melts, it often floods the
    meadows.
    """,
    "de": """
    Der Fluss entspringt in den Hügeln über der alten Stadt und fließt fast sechzig
    Kilometer weit, bevor er das Meer erreicht. Im Frühling tritt er oft über die Ufer.
    """,
    "fr": """
    La rivière prend sa source dans les collines au-dessus de la vieille ville et
    parcourt près de soixante kilomètres avant d'atteindre la mer. Au printemps, elle
    inonde les prés.
    """,
    "es": """
    El río nace en las colinas sobre la ciudad vieja y recorre casi sesenta kilómetros
    antes de llegar al mar. En primavera, cuando se derrite la nieve, suele inundar los
    prados.
    """,
    "it": """
    Il fiume nasce sulle colline sopra la città vecchia e scorre per quasi sessanta
    chilometri prima di raggiungere il mare. In primavera spesso allaga i prati che sono
    vicini.
    """,
    "pt": """
    O rio nasce nas colinas acima da cidade velha e percorre quase sessenta quilômetros
    antes de chegar ao mar. Na primavera, quando a neve derrete, ele inunda os campos.
    """,
    "nl": """
    De rivier ontspringt in de heuvels boven de oude stad en stroomt bijna zestig
    kilometer voordat zij de zee bereikt. In het voorjaar overstroomt zij vaak de
    weilanden.
    """,
    "sv": """
    Floden rinner upp i kullarna ovanför den gamla staden och flyter nästan sextio
    kilometer innan den når havet. På våren, när snön smälter, svämmar den ofta över
    ängarna.
    """,
    "da": """
    Floden udspringer i bakkerne over den gamle by og løber næsten tres kilometer, før
    den når havet. Om foråret, når sneen smelter, går den ofte over sine bredder, hvad
    ingen gør ved.
    """,
    "no": """
    Elva har sitt utspring i åsene over den gamle byen og renner nesten seksti kilometer
    før den når havet. Om våren, når snøen smelter, går den ofte over breddene, noe
    ingen gjør noe med.
    """,
    "fi": """
    Joki saa alkunsa vanhan kaupungin yläpuolella olevilta kukkuloilta ja virtaa lähes
    kuusikymmentä kilometriä ennen kuin se laskee mereen. Keväällä se tulvii usein
    niityille.
    """,
    "pl": """
    Rzeka wypływa ze wzgórz nad starym miastem i płynie prawie sześćdziesiąt kilometrów,
    zanim dotrze do morza. Wiosną, gdy topnieje śnieg, często zalewa łąki, które są przy
    niej.
    """,
    "cs": """
    Řeka pramení v kopcích nad starým městem a teče téměř šedesát kilometrů, než dorazí
    k moři. Na jaře, když taje sníh, se často vylije na louky, které jsou kolem.
    """,
    "ro": """
    Râul izvorăște din dealurile de deasupra orașului vechi și curge aproape șaizeci de
    kilometri până când ajunge la mare. Primăvara, când se topește zăpada, inundă
    pajiștile.
    """,
    "hu": """
    A folyó az óváros feletti dombokon ered, és közel hatvan kilométert tesz meg,
    mielőtt eléri a tengert. Tavasszal, amikor elolvad a hó, gyakran elönti a réteket
    is.
    """,
    "tr": """
    Nehir, eski kentin üzerindeki tepelerden doğar ve denize ulaşmadan önce yaklaşık
    altmış kilometre akar. İlkbaharda kar eridiği için çayırları çok sık su basar.
    """,
    "ca": """
    El riu neix als turons de sobre la ciutat vella i recorre gairebé seixanta
    quilòmetres abans d'arribar al mar. A la primavera, quan es fon la neu, sovint
    inunda els prats.
    """,
    "id": """
    Sungai itu berasal dari perbukitan di atas kota tua dan mengalir hampir enam puluh
    kilometer sebelum mencapai laut. Pada musim hujan sungai ini tidak jarang meluap.
    """,
    "ru": """
    Река берёт начало в холмах над старым городом и течёт почти шестьдесят километров,
    прежде чем достигнуть моря. Весной, когда тает снег, она часто заливает луга.
    """,
    "uk": """
    Річка бере початок у пагорбах над старим містом і тече майже шістдесят кілометрів,
    перш ніж досягти моря. Навесні, коли тане сніг, вона часто заливає луки.
    """,
    "bg": """
    Реката извира в хълмовете над стария град и тече почти шестдесет километра, преди да
    стигне до морето. През пролетта, когато снегът се топи, тя често залива ливадите.
    """,
    "el": "Ο ποταμός πηγάζει από τους λόφους πάνω από την παλιά πόλη και φτάνει στη θάλασσα.",
    "ar": """
    ينبع النهر من التلال فوق المدينة القديمة ويجري نحو ستين كيلومترا قبل أن يصل إلى
    البحر.
    """,
    "fa": """
    این رود از تپه‌های بالای شهر قدیمی سرچشمه می‌گیرد و پس از شصت کیلومتر به دریا می‌رسد
    که است.
    """,
    "he": "הנהר נובע מן הגבעות שמעל העיר העתיקה וזורם כמעט שישים קילומטרים עד הים.",
    "hi": """
    नदी पुराने शहर के ऊपर की पहाड़ियों से निकलती है और समुद्र तक पहुँचने से पहले साठ
    किलोमीटर बहती है।
    """,
    "th": "แม่น้ำเกิดจากเนินเขาเหนือเมืองเก่าและไหลเป็นระยะทางเกือบหกสิบกิโลเมตรก่อนถึงทะเล",
    "zh": "这条河发源于老城上方的山丘，流经近六十公里后入海。春天积雪融化时，河水常常淹没草地。",
    "ja": "この川は旧市街の上の丘から流れ出て、海に着くまでおよそ六十キロを流れる。",
    "ko": "이 강은 구시가지 위의 언덕에서 시작되어 바다에 이르기까지 거의 육십 킬로미터를 흐른다.",
}


@pytest.mark.parametrize("language", PARAGRAPHS)
def test_a_paragraph_tells_its_language(language: str) -> None:
    assert detect_language(PARAGRAPHS[language]) == language


@pytest.mark.parametrize(
    "text",
    ["", "   ", "Table 7", "1,234.5 67 89", "def f(x): return x", "x" * 100_000, "\ud800" * 50],
)
def test_the_detector_says_when_it_is_unsure(text: str) -> None:
    assert detect_language(text) == ""


def test_capitals_and_decomposed_letters_do_not_matter() -> None:
    import unicodedata

    assert detect_language(PARAGRAPHS["fr"].upper()) == "fr"
    assert detect_language(unicodedata.normalize("NFD", PARAGRAPHS["cs"])) == "cs"


def test_a_preface_in_another_language_does_not_decide() -> None:
    text = PARAGRAPHS["en"] + 100 * PARAGRAPHS["de"]

    assert detect_language(text) == "de"


def test_names_that_repeat_a_foreign_article_do_not_decide() -> None:
    names = "Los Angeles, Los Alamos, Los Gatos, Los Altos. " * 5

    assert detect_language(names + PARAGRAPHS["en"]) == "en"


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("", ""), ("de", "de"), ("DE", "de"), ("de-AT", "de"), ("de_AT.UTF-8", "de"),
        ("german", "de"), ("English", "en"), ("nb", "no"), ("nn-NO", "no"), (" fr ", "fr"),
        ("zh-Hant", "zh"), ("iw", "he"), ("tlh", "tlh"),
    ],
)  # fmt: skip
def test_languages_are_read_from_tags_and_names(given: str, code: str) -> None:
    assert language_code(given) == code


@pytest.mark.parametrize("given", ["x", "1", "klingon", "d3", "../en", "ñ", "fr fr"])
def test_what_is_no_language_is_refused(given: str) -> None:
    with pytest.raises(InvalidArgument, match="give an ISO 639-1 code"):
        language_code(given)


def test_every_snowball_stemmer_of_a_language_is_used() -> None:
    variants = {"porter", "dutch_porter"}  # a second stemmer of a language that has its own

    assert len(STEMMED_LANGUAGES) == len(set(Stemmer.algorithms()) - variants)


def test_a_language_without_stemmer_has_no_function() -> None:
    assert stem_function("zh") is None
    assert stem_function("") is None


def test_stemmers_work_from_many_threads() -> None:
    from concurrent.futures import ThreadPoolExecutor

    stem = stem_function("de")
    assert stem is not None
    words = ["häuser", "laufende", "städtische", "freundlichkeiten"] * 200
    expected = [stem(word) for word in words]

    with ThreadPoolExecutor(4) as pool:
        found = [list(pool.map(stem, words)) for _ in range(2)]

    assert found == [expected, expected]


@pytest.mark.parametrize("language", stopped_languages())
def test_stop_lists_are_clean(language: str) -> None:
    words = stop_words(language)

    assert len(words) > 50
    assert all(word == casefold(word) for word in words)
    assert not words & {casefold(word) for word in NEGATIONS[language].split()}


def test_stop_words_of_several_languages_are_put_together() -> None:
    both = stop_words_of(["en", "de"])

    assert {"the", "der"} <= both
    assert stop_words("") == stop_words("en")
    assert stop_words("zh") == frozenset()
