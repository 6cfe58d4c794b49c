//! Tables of what is found by what, in many languages and forms.

use samite_memory::text::{ANALYSER, Kind, Language, Languages, NamedDate, Script, tokens};

use crate::find::finds;

fn language(text: &str, script: Script) -> Option<Language> {
    Languages::of(&tokens(text)).of_script(script)
}

fn terms(text: &str) -> Vec<String> {
    let tokens = tokens(text);
    let languages = Languages::of(&tokens);
    tokens.iter().map(|token| token.term(languages).into_owned()).collect()
}

#[track_caller]
fn assert_found(document: &str, queries: &[&str], others: &[&str]) {
    for query in queries {
        assert!(
            finds(document, query),
            "{query:?} does not find {document:?}: {:?} in {:?}",
            tokens(query),
            terms(document)
        );
    }
    for query in others {
        assert!(!finds(document, query), "{query:?} finds {document:?}: {:?} in {:?}", tokens(query), terms(document));
    }
}

#[test]
fn english_is_found_by_other_forms_of_its_words() {
    let document = "Caroline's dogs were running; she couldn’t have stopped them in the cafés.";
    assert_eq!(language(document, Script::Latin), Some(Language::English));
    assert_found(
        document,
        &["dog", "DOGS", "run", "runs", "caroline", "Carolines", "stopping", "cafe", "CAFÉ", "couldn't"],
        &["cat", "s", "t", "carol"],
    );
}

#[test]
fn german() {
    let document = "Die Häuser und die Bücher sind nicht teuer, aber die Straße ist laut.";
    assert_eq!(language(document, Script::Latin), Some(Language::German));
    assert_found(
        document,
        &["Haus", "Häusern", "hauser", "HAEUSER", "Bücher", "bucher", "Büchern", "STRASSE", "strassen", "nicht"],
        &["Auto"],
    );
}

#[test]
fn french() {
    let document = "Les enfants mangeaient des pommes dans le jardin de l’école, et c'est l'été.";
    assert_eq!(language(document, Script::Latin), Some(Language::French));
    assert_found(document, &["enfant", "mange", "pomme", "JARDINS", "ecole", "écoles", "l'école", "ete"], &["poisson"]);
}

#[test]
fn spanish() {
    let document = "Los niños estaban jugando con las canciones de la casa pero no me gusta.";
    assert_eq!(language(document, Script::Latin), Some(Language::Spanish));
    assert_found(document, &["niño", "nino", "NIÑOS", "cancion", "canción", "jugar", "casas"], &["perro"]);
}

#[test]
fn russian() {
    let document = "Мы купили новые книги в магазине, а ёлку не купили. Docker работает.";
    assert_eq!(language(document, Script::Cyrillic), Some(Language::Russian));
    assert_found(document, &["книга", "КНИГ", "магазин", "новая", "елка", "ЁЛКИ", "docker", "работать"], &["дом"]);
}

#[test]
fn ukrainian_and_russian_are_told_apart() {
    assert_eq!(language("Він не знає, що це було, і я також", Script::Cyrillic), Some(Language::Ukrainian));
    assert_eq!(language("Он не знает, что это было, и я тоже", Script::Cyrillic), Some(Language::Russian));
}

#[test]
fn chinese_by_one_character_or_two() {
    assert_found(
        "我昨天在北京大学学习中文，手机是iPhone。",
        &["北京", "大学", "京", "中文", "北京大学", "手机", "iphone"],
        &["上海", "南"],
    );
}

#[test]
fn japanese() {
    assert_found(
        "昨日東京でラーメンを食べました。",
        &["東京", "京", "ラーメン", "ﾗｰﾒﾝ", "食べ", "食べました"],
        &["大阪", "バス"],
    );
    // A voiced kana is another letter.
    assert_found("かき", &["か"], &["が"]);
}

#[test]
fn korean() {
    assert_found("서울에서 친구를 만났다", &["서울", "친구", "서", "만났다", "서울에서"], &["부산"]);
}

#[test]
fn arabic() {
    assert_found(
        "ذهب الأولاد إلى المدرسة الكبيرة",
        &["المدرسة", "مدرسة", "مَدْرَسَة", "الاولاد", "أولاد", "كبيرة", "المـــدرسة"],
        &["كتاب"],
    );
}

#[test]
fn hindi_keeps_its_vowel_signs() {
    assert_found("लड़के ने किताबें पढ़ीं और फ़ोन किया", &["किताब", "किताबें", "लड़का", "लडके", "फोन", "फ़ोन"], &["कताब", "पानी"]);
    assert_found("काम", &["काम"], &["कम"]);
}

#[test]
fn thai_keeps_its_vowel_signs() {
    assert_found("ฉันชอบกินข้าวผัด", &["ข้าว", "กิน", "ข้าวผัด"], &["ปลา"]);
}

#[test]
fn other_languages_by_other_forms() {
    for (document, query, language) in [
        ("I libri della biblioteca non sono per i bambini", "libro", Language::Italian),
        ("Os livros não são para as crianças da escola", "livro", Language::Portuguese),
        ("De boeken zijn niet voor de kinderen van het huis", "boek", Language::Dutch),
        ("Böckerna är inte för barnen och det är inte bra", "böcker", Language::Swedish),
        ("Kirjat eivät ole lasten ja ne ovat talossa", "kirja", Language::Finnish),
        ("Kitaplar çok güzel ve çocuklar için değil", "kitap", Language::Turkish),
        ("Książki nie są dla dzieci, ale to jest dobre", "książka", Language::Polish),
    ] {
        assert_eq!(self::language(document, Script::Latin), Some(language), "{document}");
        assert_found(document, &[query], &["zebra"]);
    }
    assert_found("Τα βιβλία είναι στο σπίτι", &["ΒΙΒΛΙΑ", "βιβλια", "σπιτι", "ΣΠΊΤΙΑ"], &["γάτα"]);
    assert_found("שָׁלוֹם עולם", &["שלום", "עולם"], &["בית"]);
}

#[test]
fn short_texts_are_in_english_unless_they_say_otherwise() {
    for text in
        ["", "Docker", "die hard", "no problema", "La La Land was a film", "I met Juan de la Cruz in Los Angeles", "👍"]
    {
        assert_eq!(language(text, Script::Latin), Some(Language::English), "{text}");
    }
}

#[test]
fn what_is_written_like_code_is_found_whole_and_in_parts() {
    for (document, queries, others) in [
        ("I write C++ and C# daily", &["C++", "c#", "c++"][..], &["f#", "g++"][..]),
        ("plain C is fine", &["c"], &["d"]),
        ("node.js or .NET", &["node.js", "Node.JS", "node", "js", ".net", "net"], &["deno.ts"]),
        ("the user-id column", &["user-id", "user_id", "userId", "userid", "USER ID", "id"], &["uid"]),
        ("set snake_case_name", &["snake_case_name", "snakeCaseName", "snake-case-name", "case"], &["snak"]),
        (
            "call getUserAccount()",
            &["getUserAccount", "getuseraccount", "user account", "get_user_account"],
            &["session"],
        ),
        ("parse HTTPServer2", &["http", "server", "httpserver2"], &["htt"]),
        ("edit src/main.rs:42", &["src/main.rs", "main.rs", "main", "rs", "src"], &["lib.toml"]),
        ("release v1.2.3", &["v1.2.3", "1.2.3", "V1.2.3"], &["v9"]),
        ("mask 0x1F", &["0x1f", "0X1F"], &["1f"]),
        (
            "mail bob.smith@example.org today",
            &["bob.smith@example.org", "example.org", "bob", "smith"],
            &["alice@xample.com"],
        ),
        (
            "see https://example.com/a/b?x=1#top",
            &["https://example.com/a/b?x=1#top", "example.com", "example"],
            &["ample"],
        ),
        ("NEAR(one, two) AND \"three\" OR four*", &["NEAR(", "near", "\"three\"", "three", "and", "four*"], &["five"]),
        ("ask @alice about #42 and #topic", &["@alice", "alice", "#42", "42", "#topic", "topic"], &["@bob"]),
        ("the U.S. and the U.S.A.", &["u.s.", "US"], &["uk"]),
        ("the U.S.A. won", &["USA", "usa", "U.S.A"], &["ussr"]),
        ("it cost 1,000.50 or 2,3", &["1000.50", "1,000.50", "3"], &["77"]),
        ("utf8 and python3, e-mail and rock'n'roll", &["utf 8", "python", "email", "E-Mail", "rocknroll"], &["mai"]),
        ("O'Brien’s well-known café", &["o'brien", "O’Brien", "obrien", "brien", "wellknown", "cafe"], &["bri"]),
        ("gut 👍🏽 ok 🇩🇪 ❤️ 👩‍💻 → €", &["👍", "👍🏿", "🇩🇪", "❤", "❤️", "💻", "→", "€"], &["👎", "🇫🇷", "😀"]),
        ("a\0b user\u{200b}id \u{202e}abc\u{202c} \\ud83d", &["a", "b", "userid", "abc", "ud83d"], &["ab"]),
    ] {
        assert_found(document, queries, others);
    }
}

#[test]
fn a_date_is_the_same_however_it_is_written() {
    for text in [
        "2023-05-07",
        "2023/05/07",
        "2023-05-07T12:30:00Z",
        "7 May 2023",
        "7th of May, 2023",
        "May 7, 2023",
        "1:56 pm on 7 May, 2023",
        "7. Mai 2023",
        "07.05.2023",
        "7 mai 2023",
        "7 de mayo de 2023",
        "7 мая 2023",
        "2023年5月7日",
        "5/27/2023",
    ] {
        let day = if text.contains("27") { "27" } else { "07" };
        let terms = terms(text);
        for term in ["month:05", "date:2023-05"] {
            assert!(terms.iter().any(|found| found == term), "{text}: {terms:?}");
        }
        assert!(terms.contains(&format!("date:2023-05-{day}")), "{text}: {terms:?}");
        assert!(terms.contains(&format!("date:05-{day}")), "{text}: {terms:?}");
    }
    for (text, found) in [
        ("may I", &[][..]),
        ("in May", &["month:05"]),
        ("June", &["month:06"]),
        ("May 2023", &["month:05", "date:2023-05"]),
        ("2023-13-40", &[]),
        ("10.0.0.1", &[]),
        ("1 2 2023", &[]),
        ("march on", &[]),
    ] {
        let dates: Vec<String> =
            tokens(text).into_iter().filter(|token| token.kind == Kind::Date).map(|token| token.text).collect();
        assert_eq!(dates, found, "{text}");
    }
    assert_found("We met on 2023-05-07", &["7 May 2023", "in May", "2023", "May 2023"], &["June", "8"]);
}

#[test]
fn a_question_names_a_date() {
    let date = |year, month, day| NamedDate { year, month, day };
    for (text, named) in [
        ("What did Ann do on 7 May, 2023?", date(Some(2023), Some(5), Some(7))),
        ("what happened in march 2022", date(Some(2022), Some(3), None)),
        ("In 2021, who may go?", date(Some(2021), None, None)),
        ("the 4th of July", date(None, Some(7), Some(4))),
        ("What did Mel paint in July 2023?", date(Some(2023), Some(7), None)),
        ("on 5 July 2023", date(Some(2023), Some(7), Some(5))),
        ("July 5th, 2023", date(Some(2023), Some(7), Some(5))),
        ("May I go?", date(None, None, None)),
        ("What happened in May?", date(None, Some(5), None)),
        ("3 May", date(None, Some(5), Some(3))),
        ("march on", date(None, None, None)),
        ("2023-07-05 notes", date(Some(2023), Some(7), Some(5))),
        ("during 2022", date(Some(2022), None, None)),
        ("sept. 3rd", date(None, Some(9), Some(3))),
        ("She may come on the 4th of March", date(None, Some(3), Some(4))),
        ("2023-07-05", date(Some(2023), Some(7), Some(5))),
        ("who may march", date(None, None, None)),
        ("room 4711", date(None, None, None)),
    ] {
        assert_eq!(NamedDate::of(text), named, "{text}");
    }
}

#[test]
fn terms_have_the_places_of_their_words() {
    let places: Vec<(String, u32)> =
        tokens("The user-id of node.js").into_iter().map(|token| (token.text, token.position)).collect();
    let expected = [
        ("the", 0),
        ("user", 1),
        ("id", 2),
        ("user-id", 1),
        ("userid", 1),
        ("of", 3),
        ("node", 4),
        ("js", 5),
        ("node.js", 4),
    ];
    assert_eq!(places, expected.map(|(text, place)| (text.to_owned(), place)));
}

#[test]
fn texts_without_words_have_no_terms() {
    for text in ["", " ", "\n\t", "\0", "\u{200b}\u{feff}", "???", "\"\"", "...", "- * -", "()", "\u{301}"] {
        assert_eq!(tokens(text), [], "{text:?}");
    }
}

#[test]
fn a_query_of_stop_words_finds_them() {
    assert_found("to be or not to be", &["to be or not to be", "or not", "TO"], &["the"]);
    assert_found("die Katze und der Hund und das Haus", &["und", "der"], &["oder"]);
    assert_found("The Who played", &["the who", "who"], &[]);
    // Beside another word they are not looked for.
    assert_found("to be or not to be", &[], &["to zebra"]);
}

#[test]
fn long_texts_and_long_words_are_cut() {
    let long = "x".repeat(1 << 20);
    let found = tokens(&long);
    assert_eq!((found.len(), found[0].text.len()), (1, 64));
    assert!(finds(&long, &long) && finds(&long, &"X".repeat(70)) && !finds(&long, &"x".repeat(63)));
    let joined = "a-".repeat(1 << 19);
    assert_eq!(tokens(&joined).iter().filter(|token| token.text == "a").count(), 1 << 19);
    let marks = format!("e{}", "\u{301}".repeat(1 << 19));
    assert_eq!(tokens(&marks).len(), 1);
    let characters = "語".repeat(1 << 18);
    assert_eq!(tokens(&characters).len(), (1 << 19) - 1);
    let numbers = "1,".repeat(1 << 19);
    assert_eq!(tokens(&numbers).iter().filter(|token| token.text == "1").count(), 1 << 19);
}

/// If this changes, indexes that are there do not fit any more: count `ANALYSER` up.
#[test]
fn golden_terms_of_the_analyser() {
    assert_eq!(ANALYSER, 1);
    for (text, expected) in [
        (
            "Caroline’s café—don't RE-run user_id=42 v1.2",
            "carolin cafe don re run re-run rerun user id user_id userid 42 user_id=42 v1 2 v1.2 1.2",
        ),
        (
            "I ran 5 races; they're running easily on 7 May 2023",
            "i ran 5 race they run easili on 7 may 2023 month:05 date:2023-05 date:05-07 date:2023-05-07",
        ),
        ("Größe ﬁne ｆｕｌｌ İstanbul naïve Ünïted", "gross fine full istanbul naiv unit"),
        ("東京タワーへ行く", "東 京 東京 タ 京タ ワ タワ ー ワー へ ーへ 行 へ行 く 行く"),
        ("한국어 test", "한 국 한국 어 국어 test"),
        ("Die Häuser und die Bücher sind nicht teuer", "die haus und die buch sind nicht teu"),
        ("Les enfants mangeaient des pommes dans le jardin de l’école", "le enfant mang de pomm dan le jardin de ecol"),
        ("Los niños estaban jugando con las canciones de la casa", "los nin estab jug con las cancion de la cas"),
        ("Мы купили новые книги в магазине", "мы куп нов книг в магазин"),
        ("ذهب الأولاد إلى المدرسة الكبيرة", "ذهب اولاد ال مدرس كبير"),
        ("लड़के ने किताबें पढ़ीं", "लडक न किताब पढ"),
        (
            "กินข้าว 👍🏽 https://example.com/a?b=C++",
            "กิน นข้ ข้า าว 👍 https exampl com example.com a b c c++ https://example.com/a?b=c++",
        ),
    ] {
        assert_eq!(terms(text).join(" "), expected, "{text}");
    }
}
