"""Stop words by language: words so common that a query is better without them.

They are always indexed; a query drops them when other terms remain. Words that say no, not or
without are never among them. The lists are our own; they also tell languages apart.
"""

from __future__ import annotations

from pincite.text._folding import casefold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final

__all__ = ["STOPWORDS", "stop_words", "stop_words_of", "stopped_languages"]

_LISTS: Final = {
    "en": """
    i me my myself we us our ours ourselves you your yours yourself yourselves he him his himself
    she her hers herself it its itself they them their theirs themselves what which who whom whose
    this that these those am is are was were be been being have has had having do does did doing
    would should could ought i'm you're we're they're i've you've we've they've i'd you'd he'd
    she'd we'd they'd i'll you'll he'll she'll we'll they'll a an the and but if or because as
    until while of at by for with about against between into through during before after above
    below to from up down in out on off over under again further then once here there when where
    why how all any both each few more most other some such only own same so than too very
    e.g i.e
    """,
    "de": """
    der die das den dem des ein eine einer eines einem einen und oder aber sondern denn weil dass
    daß ob wenn als wie wo wer was wann warum wohin woher welche welcher welches welchem welchen
    ich du er sie es wir ihr mich dich sich uns euch mir dir ihm ihn ihnen mein meine meiner meinem
    meinen dein deine sein seine seiner seines seinem seinen ihre ihrer ihres ihrem ihren unser
    unsere unserer unseren euer eure dieser diese dieses diesem diesen jener jene jenes jenem
    jenen jeder jede jedes jedem jeden alle allem allen aller alles man selbst auch nur noch schon
    sehr so doch hier dort da dann damit davon dazu dabei daran darauf daraus dadurch darum
    in im ins an am ans auf aus bei beim bis durch für gegen mit nach seit über um unter von
    vom vor während wegen zu zum zur zwischen hinter neben bin bist ist sind seid war warst waren
    wart gewesen wird werden wurde wurden worden werde habe hast hat haben hatte hatten gehabt
    kann können konnte konnten muss müssen musste mussten soll sollen sollte sollten will wollen
    wollte wollten darf dürfen mag mögen würde würden etwas mehr viel viele wieder zwar
    """,
    "fr": """
    le la les l un une des du de d et ou mais donc or car que qu qui quoi dont où quand comment
    pourquoi quel quelle quels quelles lequel laquelle lesquels lesquelles je j tu il elle on nous
    vous ils elles me m te t se s lui leur leurs y en moi toi soi eux ce c cet cette ces cela ça
    ceci celui celle ceux celles mon ma mes ton ta tes son sa ses notre nos votre vos au aux à dans
    par pour sur sous avec chez entre vers contre depuis pendant avant après selon comme si
    aussi plus moins très bien tout toute tous toutes même mêmes autre autres chaque quelque
    quelques plusieurs être suis es est sommes êtes sont étais était étions étaient fut furent
    sera seront serait seraient soit soient été étant avoir ai as a avons avez ont avais avait
    avions avaient eut aura auront aurait auraient ait aient eu ayant fait faire peut peuvent
    doit ainsi alors encore déjà lors
    """,
    "es": """
    el la los las lo un una unos unas y e o u pero sino que qué quien quién quienes cual cuál
    cuales cuáles cuando cuándo cuanto cuánto cuantos cuántos cuántas como cómo donde dónde porque
    por para con sobre entre hasta desde hacia según durante ante bajo tras contra de del a al
    en yo tú él ella ello nosotros vosotros ellos ellas usted ustedes me te se nos os le les mi
    mis tu tus su sus nuestro nuestra nuestros nuestras suyo suya este esta esto estos estas ese
    esa eso esos esas aquel aquella aquellos aquellas si sí también muy más menos ya todo toda
    todos todas otro otra otros otras mismo misma mismos mismas cada algo alguno alguna algunos
    algunas mucho mucha muchos muchas poco tan tanto así aunque mientras ser soy eres es somos son
    era eras eran fue fueron sea sean será serán sería siendo sido estar está están estaba estaban
    haber he has ha hemos han había habían hay hubo tiene tienen tenía puede pueden cuyo cuya
    """,
    "it": """
    il lo la i gli le l un uno una e ed o od ma se che chi cui quale quali quando come dove perché
    quanto quanta quanti quante di del dello della dei degli delle dell a al allo alla ai agli alle
    all da dal dallo dalla dai dagli dalle dall in nel nello nella nei negli nelle nell con su sul
    sullo sulla sui sugli sulle sull per tra fra io tu lui lei noi voi loro mi ti si ci vi lo ne mio
    mia miei mie tuo tua suo sua suoi sue nostro nostra nostri nostre vostro questo questa questi
    queste quello quella quelli quelle quel quei anche ancora più meno molto molti molta tutto
    tutta tutti tutte altro altra altri altre stesso stessa ogni così poi già solo essere sono sei
    è siamo siete era erano fu furono sarà saranno sarebbe sia siano stato stata stati state
    avere ho hai ha abbiamo avete hanno aveva avevano avrebbe abbia essendo può possono fatto
    dopo prima durante contro sotto sopra
    """,
    "pt": """
    o a os as um uma uns umas e ou mas que quê quem qual quais quando quanto quanta quantos quantas
    como onde porque de do da dos das em no na nos nas por pelo pela pelos pelas para com sobre
    entre até desde contra durante após sob ao à aos às num numa eu tu ele ela nós vós eles elas
    você vocês me te se lhe lhes meu minha meus minhas teu tua seu sua seus suas nosso nossa nossos
    nossas este esta isto estes estas esse essa isso esses essas aquele aquela aquilo aqueles
    aquelas também muito muita muitos muitas mais menos já todo toda todos todas outro outra outros
    outras mesmo mesma cada algum alguma alguns algumas tão só ainda assim então ser sou és é somos
    são era eram foi foram seja sejam será serão seria sendo sido estar está estão estava estavam
    ter tem têm tinha tinham teve há haver pode podem cujo cuja
    """,
    "nl": """
    de het een en of maar want dus omdat dat die dit deze als dan toen wie wat waar wanneer waarom
    hoe welk welke ik jij je u hij zij ze wij we jullie mij me jou hem haar ons hen hun zich mijn
    jouw uw zijn onze er hier daar in op aan van voor met bij door over onder tussen naar uit om te
    ten ter tot tegen tijdens na sinds sedert af toe ook nog al wel zo zeer meer meest veel
    alle alles elk elke ander andere zelf eens ben bent is was waren geweest word wordt worden werd
    werden geworden heb hebt heeft hebben had hadden gehad kan kunnen kon konden moet moeten moest
    zal zullen zou zouden wil willen mag mogen doen doet deed iets iemand men reeds
    """,
    "sv": """
    en ett den det de dem och eller men att som om när var vart vad vem vilken vilket vilka hur
    varför jag du han hon vi ni mig dig honom henne oss er sig min mitt mina din ditt dina sitt
    sina hans hennes vår vårt våra deras denna detta dessa där här då så också även mycket mer mest
    alla allt varje annan annat andra samma själv i på av för med till från vid under över efter
    mellan genom mot hos ur före innan sedan än bara redan är vara var varit blir bli blev
    blivit har hade ha haft kan kunde ska skall skulle vill ville måste får fick någon något några
    """,
    "da": """
    en et den det de dem og eller men at som der om når hvor hvad hvem hvilken hvilket hvilke
    hvordan hvorfor jeg du han hun vi i mig dig ham hende os jer sig min mit mine din dit dine
    sit sine hans hendes vores deres denne dette disse her da så også meget mere mest alle alt hver
    anden andet andre samme selv på af for med til fra ved under over efter mellem gennem mod
    hos før siden end kun allerede er være var været bliver blive blev blevet har havde have haft
    kan kunne skal skulle vil ville må måtte får fik nogen noget nogle ind ud op ned
    """,
    "no": """
    en ei et den det de dem og eller men at som om når hvor hva hvem hvilken hvilket hvilke hvordan
    hvorfor jeg du han hun vi dere meg deg ham henne oss seg min mitt mi mine din ditt dine
    sitt si sine hans hennes vår vårt våre deres denne dette disse der her da så også mye mer mest
    alle alt hver annen annet andre samme selv i på av for med til fra ved under over etter mellom
    gjennom mot hos før siden enn bare allerede er være var vært blir bli ble blitt har hadde
    ha hatt kan kunne skal skulle vil ville må måtte får fikk noen noe inn ut opp ned
    eg ein eit dei kva kven korleis kvifor vere vore blei
    """,
    "fi": """
    ja tai sekä mutta vaan että jos kun kuin koska vaikka joka jotka jota jonka joiden jossa josta
    johon joita mikä mitä mitkä minkä missä mistä mihin milloin miksi miten kuka ketkä kenen minä
    sinä hän me te he minun sinun hänen meidän teidän heidän minut sinut hänet se ne sen niiden
    sitä niitä siinä siitä siihen niissä niistä tämä nämä tämän näiden tätä näitä tässä tästä tähän
    tuo nuo tuon joku jokin jotakin kaikki kaikkien muu muut muita itse oma sama myös vielä jo
    niin näin hyvin vain enemmän eniten on ole olen olet olemme olette ovat oli olivat ollut olla
    olisi voi voivat voidaan voisi saa täytyy pitää kanssa mukaan ennen jälkeen aikana välillä
    kautta yli alle sekä noin
    """,
    "ru": """
    и а но или что чтобы как так если когда где куда откуда почему зачем кто какой какая какое
    какие чей который которая которое которые которого которой которых которым я ты он она оно мы
    вы они меня мне мной тебя тебе его ему им её ее ей нас нам нами вас вам вами их ими мой моя моё
    мои твой свой своя своё свои своего своей своих наш наша ваш этот эта это эти этого этой этих
    этому этим тот та то те того той тех тому тем весь вся всё все всего всей всех себя себе сам
    самый сама другой другие в во на с со к ко у о об от до из за по под над при про для через
    между перед после около был была было были быть есть будет будут бы же ли уже ещё еще также
    тоже только очень более менее можно может могут должен там тут здесь потом теперь
    """,
    "uk": """
    і й та а але або що щоб як так якщо коли де куди звідки чому навіщо хто який яка яке які чий
    котрий якого якої яких яким я ти він вона воно ми ви вони мене мені тебе тобі його йому її їй
    нас нам вас вам їх їм мій моя твій свій своя своє свої свого своєї своїх наш ваш цей ця це ці
    цього цієї цих той та те ті того тієї тих весь вся все всі всього всіх себе собі сам інший інші
    в у на з із зі до від о об за по під над при про для через між перед після біля був була
    було були бути є буде будуть би б же ж чи вже ще також теж тільки лише дуже більш можна може
    можуть там тут потім
    """,
    "pl": """
    i a o oraz lub albo ale lecz że żeby aby jak jako jeśli jeżeli gdy kiedy gdzie skąd dokąd
    dlaczego kto co jaki jaka jakie który która które którego której których którym którzy którą ja
    ty on ona ono my wy oni one mnie mi ciebie ci cię jego jemu go mu jej ją nim nią nas nam was
    wam ich im nimi mój moja moje twój swój swoja swoje swoich nasz wasz ten ta to ci te tego tej
    tych temu tym tę tą tamten tam tu sam sama samo wszystko wszystkie wszystkich inny inne innych
    się siebie sobie w we na z ze do od u po za pod nad przy przez dla między przed podczas
    był była było były być jest są będzie będą by też także tylko już jeszcze bardzo bardziej
    można może mogą więc również
    """,
    "cs": """
    a i o nebo ale že aby jak jako jestliže pokud když kdy kde odkud kam proč kdo co jaký jaká jaké
    který která které kterého kteří kterých kterým kterou já ty on ona ono my vy oni mě mne mi mně
    tebe ti tě jeho jemu ho mu jí ji jej jich jim nás nám vás vám můj moje tvůj svůj svou své svých
    náš váš ten ta to ti ty toho té těch tomu tím tento tato toto tyto této těchto sám všechno
    všechny všech jiný jiné se si sebe sobě v ve na z ze do od u po za pod nad při přes pro
    mezi před během k ke s byl byla bylo byli byly být je jsou jsem jsme bude budou by také též
    jen pouze již už ještě velmi více lze může mohou tedy však podle kolem
    """,
    "sk": """
    a aj i o alebo ale že aby ako ak keď kedy kde odkiaľ kam prečo kto čo aký aká aké ktorý ktorá
    ktoré ktorého ktorí ktorých ktorým ktorú ja ty on ona ono my vy oni mňa mne mi teba ti ťa jeho
    jemu ho mu jej ju ich im nás nám vás vám môj moje tvoj svoj svoju svoje svojich náš váš ten tá
    to tí tie toho tej tých tomu tým tento táto toto títo tieto tejto týchto sám všetko všetky
    všetkých iný iné sa si seba sebe v vo na z zo do od u po za pod nad pri cez pre medzi pred
    počas k ku s so bol bola bolo boli byť je sú som sme bude budú by tiež len iba už ešte veľmi
    viac možno môže môžu teda však podľa
    """,
    "ro": """
    un o unei unui unor niște și sau ori dar însă ci că să ca dacă când cum unde de ce cine care
    cărui cărei căror pe pentru cu la în din dintre între prin spre sub peste după înainte
    contra eu tu el ea noi voi ei ele mă te îl îi o ne vă le mi ți i lui lor meu mea mei mele tău ta
    său sa săi sale nostru noastră acest această acești aceste acestui acestei acestor acel acea
    acei acele acelui acela toate toți tot toată alt altă alți alte același aceeași fiecare se își
    sine al a ai ale foarte mai mult mulți multe prea și-a este e sunt era erau fi fost fie fiind va
    vor ar am are au avea avut poate pot trebuie așa astfel deja încă doar numai acum aici acolo
    """,
    "hu": """
    a az egy és vagy de hogy ha mint mert amikor mikor ahol hol hová honnan miért hogyan ki kik mi
    mit mik melyik milyen aki akik amely amelyek amelyet ami amit én te ő mi ti ők engem téged őt
    minket titeket őket nekem neked neki nekünk nekik ez ezt ezek ezeket ennek ebben erre ezzel azt
    azok azokat annak abban arra azzal azon ezen itt ott így úgy olyan ilyen is még már csak
    nagyon több legtöbb minden mindenki valami valaki más mások maga saját volt voltak van vannak
    lesz lenne lett legyen lehet kell szerint után előtt alatt között mellett felé által miatt
    során ellen pedig majd most akkor illetve valamint
    """,
    "tr": """
    ve veya ya da de ile ama fakat ancak çünkü ki eğer gibi kadar için göre sonra önce beri doğru
    karşı rağmen dolayı üzere her hep bir bu şu o bunlar şunlar onlar bunu şunu onu bunun şunun
    onun buna şuna ona bunda onda bundan ondan ben sen biz siz beni seni bizi sizi bana sana bize
    size benim senin bizim sizin kendi kendisi ne neden niçin nasıl nerede nereye nereden kim kimi
    kimin hangi kaç daha en çok az biraz bazı bütün tüm diğer başka aynı böyle şöyle öyle hem ise
    mi mı mu mü olan olarak olduğu oldu olur olmak olmuştur idi ise vardı var etmek etti
    eden edilen
    """,
    "el": """
    ο η το οι τα του της των τον την τους τις ένας μια μία ένα ενός μιας και κι ή αλλά όμως ότι πως
    που να θα ας αν όταν όπου πού πότε γιατί πώς ποιος ποια ποιο ποιοι ποιες τι όπως ενώ επειδή εγώ
    εσύ αυτός αυτή αυτό αυτοί αυτές αυτά αυτού αυτής αυτών αυτόν αυτήν εμείς εσείς με σε μου σου
    μας σας τους από για προς παρά κατά μετά πριν μέχρι ως στο στη στην στον στους στις στα
    εκεί εδώ τώρα τότε πολύ πιο όλα όλοι όλες όλων άλλο άλλη άλλοι άλλες άλλα ίδιος ίδια ίδιο
    είναι ήταν είμαι είσαι είμαστε έχει έχουν είχε είχαν έχω μπορεί μπορούν πρέπει επίσης ακόμα
    ήδη μόνο καθώς
    """,
    "ca": """
    el la els les lo un una uns unes i o però sinó que què qui quin quina quins quines quan quant
    quants com on perquè per amb sobre entre fins des segons durant contra de del dels d
    a al als en l s n jo tu ell ella nosaltres vosaltres ells elles em et es ens us li hi ho meu
    meva teu seu seva seus seves nostre nostra aquest aquesta aquests aquestes aquell aquella
    aquells aquelles això allò també molt molta molts moltes més menys ja tot tota tots totes altre
    altra altres mateix mateixa cada algun alguna alguns algunes així encara ser és són era eren va
    van fou foren sigui serà seria sent estat està estan estava haver ha han havia havien hi té
    tenen tenia pot poden dins després abans
    """,
    "id": """
    yang dan di ke dari pada untuk dengan dalam oleh sebagai adalah ini itu tersebut atau tetapi
    namun karena jika bila ketika saat apa siapa mana kapan mengapa bagaimana berapa saya aku kamu
    anda dia ia beliau kami kita mereka akan telah sudah sedang masih juga lebih paling sangat
    dapat bisa harus ada para sebuah suatu seorang setiap semua beberapa banyak lain antara hingga
    sampai sejak selama setelah sebelum secara terhadap tentang bahwa agar seperti serta maupun
    hanya saja lagi pun
    """,
    "ar": """
    في من على إلى الى عن مع بعد قبل عند بين حتى منذ خلال حول ضد تحت فوق و أو او ثم لكن بل أن ان إن
    أنه إنه أنها إنها انه انها كان كانت يكون تكون كانوا هو هي هم هن هما أنا نحن أنت انت هذا هذه ذلك
    تلك هؤلاء الذي التي الذين اللذان اللتان اللاتي ما ماذا متى أين اين كيف كم أي اي هل كل بعض جميع
    قد لقد سوف إذا اذا كما مثل حيث به بها له لها فيه فيها منه منها عليه عليها إليه إليها لهم
    وهو وهي وقد وكان وكانت ومن وفي التى لدى أيضا ايضا ولكن أكثر لأن بأن
    """,
    "fa": """
    و در به از که این آن را با است برای یک تا بر هم نیز اما یا اگر چون چه کی کجا چرا چگونه چند کدام
    من تو او ما شما آنها ایشان خود همه هر دیگر بین پس پیش زیر روی بود بودند شد شده شود شدند
    می‌شود می‌کند کرد کرده کند کردند دارد داشت دارند داشته باشد باشند هست هستند بوده خواهد
    باید همین همان چنین ولی بسیار بیشتر
    """,
    "hi": """
    का के की को में से पर ने और या एवं तथा लेकिन कि जो जब तब जहाँ जहां वहाँ वहां यहाँ यहां यह ये वह वे
    इस इन उस उन इसके इसकी इसका उसके उसकी उसका उनके उनकी उनका इसे उसे उन्हें इन्हें जिस जिसे जिसके जिन
    मैं हम तुम आप मेरा मेरे हमारे अपने अपना अपनी क्या कौन कब कहाँ कहां क्यों कैसे कितना कितने किस है हैं था
    थे थी हो होता होते होती हुआ हुए हुई कर करते करता करने किया गया गए गई जा रहा रहे रही भी ही तो तक लिए
    साथ बाद पहले एक कुछ सभी बहुत अधिक द्वारा
    """,
}

_REMEMBERED: Final = 64
_UNIONS: Final[dict[tuple[str, ...], frozenset[str]]] = {}

STOPWORDS: Final[frozenset[str]] = frozenset(_LISTS["en"].split())


def stopped_languages() -> tuple[str, ...]:
    """The codes of the languages that have a list."""
    return tuple(_LISTS)


def stop_words(language: str) -> frozenset[str]:
    """The casefolded stop words of a code, "" as English; empty when there is no list."""
    return stop_words_of((language,))


def stop_words_of(languages: Iterable[str]) -> frozenset[str]:
    """Words that are stop words in one of the languages."""
    codes = tuple(languages)
    found = _UNIONS.get(codes)
    if found is None:
        if len(_UNIONS) >= _REMEMBERED:
            _UNIONS.clear()
        lists = " ".join(_LISTS.get(code or "en", "") for code in codes)
        found = _UNIONS[codes] = frozenset(casefold(lists).split())
    return found
