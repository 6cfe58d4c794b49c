//! Words that say little about what a text is about, by language, which also tell what language it is in.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::fold::{fold, normalised};
use super::language::Language;

/// The languages in which a folded word is a stop word, as [`Language::bit`]s.
pub(super) fn languages(word: &str) -> u32 {
    WORDS.get(word).copied().unwrap_or(0)
}

static WORDS: LazyLock<HashMap<String, u32>> = LazyLock::new(|| {
    let mut words = HashMap::new();
    for (language, list) in LISTS {
        for word in list.split_whitespace() {
            *words.entry(fold(&normalised(word))).or_insert(0) |= language.bit();
        }
    }
    words
});

const LISTS: [(Language, &str); 19] = [
    (Language::English, ENGLISH),
    (
        Language::German,
        "aber alle allem allen aller alles als also am an ander andere anderen auch auf aus bei beim bin bis bist da damit dann das
        dass dein deine dem den denn der des dich die dies diese diesem diesen dieser dieses dir doch dort du durch ein eine einem
        einen einer eines er es etwas euch euer für gegen gewesen hab habe haben hat hatte hatten hier hin hinter ich ihm ihn ihnen
        ihr ihre ihrem ihren ihrer im in indem ins ist ja jede jedem jeden jeder jedes jener kann kein keine keinen keiner können
        könnte man manche mein meine meinem meinen meiner mich mir mit muss musste nach nicht nichts noch nun nur ob oder ohne sehr
        sein seine seinem seinen seiner seit sich sie sind so solche soll sollte sondern sonst über um und uns unser unsere unter
        viel vom von vor wann war waren warum was weg weil welche welcher wenn wer werde werden wie wieder will wir wird wirst wo
        wollen wollte wurde wurden während zu zum zur zwar zwischen",
    ),
    (
        Language::French,
        "à ai aie as au aurait aux avais avait avec avez avoir avons c ce cela ces cet cette ceux chez comme d dans de des donc dont du
        elle elles en entre es est et étais était étaient été être eu eux fait il ils j je l la le les leur leurs lui m ma mais me
        même mes moi mon n ne nos notre nous on ont ou où par pas pendant plus pour pourquoi qu quand que quel quelle quelles quels
        qui quoi s sa sans se sera ses si son sont sous sur t ta te tes toi ton très tu un une vos votre vous y",
    ),
    (
        Language::Spanish,
        "a al algo ante antes aquel aquella como con contra cual cuál cuando cuándo de del desde donde dónde dos e el él ella ellas
        ellos en entre era eran eres es esa esas ese eso esos esta está están estaba estar este esto estos estoy fue fueron ha había
        han has hasta hay he la las le les lo los más me mi mí mis muy nada ni no nos nosotros nuestra nuestro o os otra otro para
        pero poco por porque que qué quien quién se sea ser si sí sido sin sobre soy son su sus también te tengo tiene todo todos tu
        tú tus un una uno unos usted vosotros y ya yo",
    ),
    (
        Language::Italian,
        "a ad agli ai al alla alle allo anche avere aveva c che chi ci come con contro cosa cui d da dagli dai dal dalla dalle degli
        dei del della delle dello di dopo dove e è ed era erano fa gli ha hai hanno ho i il in io l la le lei li lo loro lui ma
        mi mia mio ne negli nei nel nella nelle nello noi non nostra nostro o per perché più quale quando quanto quella quello
        questa queste questi questo sarà se sei si sia siamo sono sta su sua sugli sui sul sulla suo te ti tra tu tua tuo un una
        uno vi voi",
    ),
    (
        Language::Portuguese,
        "a à ao aos as às até com como da das de dela dele deles depois do dos e é ela elas ele eles em entre era essa esse esta está
        estão este estou eu foi foram há isso isto já lhe mais mas me mesmo meu meus minha muito na nas não nem no nos nós nossa
        nosso num numa o onde os ou para pela pelas pelo pelos por porque qual quando que quem se sem ser seu seus só somos sou
        são sua suas também te tem tenho ter teu teve tu tua um uma você vocês",
    ),
    (
        Language::Dutch,
        "aan al alles als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een en er ge geen geweest haar had
        heb hebben heeft hem het hier hij hoe hun iemand iets ik in is ja je jij jouw kan kon kunnen maar me meer men met mij mijn
        moet na naar niet niets nog nu of om omdat ons onze ook op over reeds te tegen toch toen tot u uit uw van veel voor waarom
        want waren was wat wel werd wezen wie wij wil worden wordt zal ze zei zelf zich zij zijn zo zonder zou",
    ),
    (
        Language::Swedish,
        "alla allt att av blev bli blir de dem den denna deras dess det detta dig din du där efter ej eller en er ett från för ha hade
        han hans har henne hennes hon honom hur här i icke ingen inte jag ju kan kunde man med mellan men mig min mitt mot mycket
        ni nu när någon något några och om oss på sedan sig sin sitta själv skulle som så till under upp ut utan vad var vara varför
        vem vi vid vilken är över",
    ),
    (
        Language::Danish,
        "af alle anden at blev blive bliver da de dem den denne der deres det dette dig din disse dog du efter eller en end er et for
        fra ham han hans har havde have hende hendes her hos hun hvad hvem hvis hvor hvorfor i ikke ind jeg jer jo kunne man mange
        med meget men mig min mine mit mod ned noget nogle nu når og også om op os over på selv sig sin sine skal skulle som sådan
        thi til ud under var vi vil ville vor være været",
    ),
    (
        Language::Norwegian,
        "alle andre at av bare ble blei bli blir da de deg dem den denne der deres det dette din disse du eller en enn er et ett etter
        for fordi fra før ha hadde han hans har henne hennes her hun hva hvem hver hvor hvordan hvorfor i ikke ingen inn jeg kan kom
        kun kunne man mange med meg men mens mer min mitt mot mye må nei noe noen nå når og også om opp oss over på seg selv sin
        sitt skal skulle slik som så til um under ut uten var ved vi vil ville vår være vært",
    ),
    (
        Language::Finnish,
        "ei eivät emme en et ette että hän häneen hänellä hänen hänet he heidän heitä ja jo joka jonka jos jossa jotka kanssa keitä
        ketä koska kuin kuka kun me meidän meille mikä miksi minä minua minulla minun minut missä mitä mukaan mutta myös ne niiden
        niin niitä noin nuo nyt oli olivat olen olet olemme on ovat ole olla ollut se sekä sen siitä sille sinä sinun sitä tai te
        tämä tämän teidän tuo vaan vai vaikka voi",
    ),
    (
        Language::Polish,
        "a aby ale ani bardzo bez bo by być był była było były będzie będę ci cię co czy dla do gdy gdzie go i ich ile im ja jak jako
        jego jej jemu jest jestem jeszcze jeśli już każdy kiedy kto która które którego której który którzy lub ma mam mamy mi mnie
        może mój my na nad nam nas nie niego niej nim nie o od on ona one oni ono oraz po pod ponieważ przed przez przy również się
        są sobie ta tak także tam te tego tej ten to tu tylko ty tym w we więc wszystko z za ze że żeby",
    ),
    (
        Language::Turkish,
        "acaba ama ancak artık aslında az bana bazı belki ben beni benim bile bir biri birkaç biz bize bizi bizim bu buna bunda bundan
        bunu bunun burada çok çünkü da daha de değil diye en eğer gibi hem hep hepsi her hiç için ile ise işte kadar ki kim kimse
        mı mi mu mü nasıl ne neden nerede niye o olan olarak oldu olduğu ona ondan onlar onu onun orada sana sen seni senin siz size
        sizi sizin sonra şey şimdi şu tüm var ve veya ya yani yok",
    ),
    (
        Language::Russian,
        "а без более был была были было быть в вам вас весь во вот все всего всех вы где да даже для до его ее ей ему если есть еще же за
        здесь и из или им их к как какая какой когда кто ли либо лишь меня мне может мой мы на над надо нас наш не него нее нет ни
        них но ну о об однако он она они оно от очень по под после потому почему при про раз с сам свой себя со так также такой там
        тебя тем то того тоже той только том ты у уже хотя чего чей чем что чтобы чье эта эти это этого этой этом этот я",
    ),
    (
        Language::Ukrainian,
        "а або але без був була були було бути в вам вас весь ви від він вона вони воно все всі вже де для до його її їй їм їх ж за з зі і
        із й йому коли ким кого ли лише мене мені ми мій на над нам нас наш не неї немає ним них ні ну о об от по під після при про
        саме свій себе та так також такий там те тебе ти тільки то того тому у хто це цей ця ці чи чого чому що щоб я як який якщо",
    ),
    (
        Language::Arabic,
        "في من إلى على عن مع هذا هذه ذلك تلك التي الذي الذين ما ماذا متى أين كيف لماذا هل لا لم لن ليس كان كانت يكون هو هي هم هن أنا أنت
        نحن أن إن أو ثم قد كل بعض غير بين بعد قبل عند حتى إذا لكن و يا به له لها فيه منه عليه كما هناك هنا أي",
    ),
    (
        Language::Persian,
        "از با به در که این آن را و یا تا برای بر است بود شد شود هم نیز اما اگر چه چرا کجا کی من تو او ما شما آنها خود هر یک می های ها نه",
    ),
    (
        Language::Greek,
        "ο η το οι τα του της των τον την και κι να θα με σε στο στη στον στην στα στις για από που πως τι ποιος ποια πού πότε γιατί είναι ήταν
        είμαι είσαι δεν μη μην ή αν αλλά όμως όταν ως μου σου μας σας τους εγώ εσύ αυτός αυτή αυτό αυτά ένα ένας μια κατά μετά πριν προς",
    ),
    (
        Language::Hindi,
        "का के की को में से पर और है हैं था थी थे हो हूँ होता होती होते ने कि यह ये वह वे जो तो ही भी नहीं न एक इस उस इन उन मैं तुम आप हम मेरा
        मेरी मेरे मुझे उसे क्या कब कहाँ कौन कैसे क्यों लिए साथ अपना अपनी अपने कर करना किया रहा रही रहे गया गई गए या अगर लेकिन",
    ),
];

/// Also what is left of contractions: `don't` gives `don`.
const ENGLISH: &str = "a an the i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her
    hers herself it its itself they them their theirs themselves this that these those am is are was were be been being do does did
    doing done have has had having can could will would shall should may might must and or but nor if then than so because as while
    of at by for with about against between into through to from up down in out on off over under what which who whom whose when
    where why how there here again further once all any both each few more most other some such no not only own same too very just
    s t d ll m re ve don didn doesn isn aren wasn weren haven hasn hadn couldn wouldn shouldn";
