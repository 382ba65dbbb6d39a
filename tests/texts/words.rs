//! Words of every language, of a function, in lists of tokens, and phrases.

use topicbook::{Fit, Result, Synthetic, TextCounts, Texts, TopicModel, Vectorizer};

/// The terms of one text, which are in alphabetical order.
fn terms(vectorizer: &Vectorizer, text: &str) -> String {
    let counted = vectorizer.fit_transform([text]).unwrap();
    counted.terms().as_slice().join(" ")
}

fn sorted(words: &str) -> String {
    let mut words: Vec<&str> = words.split(' ').collect();
    words.sort_unstable();
    words.dedup();
    words.join(" ")
}

/// A language, a text, and its words, which are those of ICU 78 for C (PyICU's `BreakIterator`), but for words of one letter in
/// scripts with spaces. `*`: with a dictionary.
const WORDS: &str = "\
korean | 대한민국의 수도는 서울이다. 나는 학교에서 공부합니다. | 대한민국의 수도는 서울이다 나는 학교에서 공부합니다
hindi | मैं हर दिन स्कूल जाता हूँ। हिन्दी भारत की राजभाषा है। | मैं हर दिन स्कूल जाता हूँ हिन्दी भारत की राजभाषा है
tamil | தமிழ் மொழி | தமிழ் மொழி
Bengali | বাংলা ভাষা | বাংলা ভাষা
arabic | ذهبتُ إلى المدرسة اليوم. العربيّة لغة جميلة | ذهبتُ إلى المدرسة اليوم العربيّة لغة جميلة
persian | می\u{200c}روم به خانه | می\u{200c}روم به خانه
russian | Я каждый день хожу в школу. Москва — столица России. | каждый день хожу школу москва столица россии
french | cafe\u{301}s, x_1 et 42 | cafe\u{301}s x_1 et 42
*chinese | 我来到北京清华大学,他来到了网易杭研大厦。 | 我 来到 北京 清华大学 他 来到 了 网 易 杭 研 大厦
*chinese | 小明硕士毕业于中国科学院计算所,后在日本京都大学深造 | 小明 硕士 毕业 于 中国 科 学院 计算 所 后 在 日本 京都 大学 深造
*chinese | 今天天气很好,我们去公园散步吧。 | 今天 天气 很好 我们 去 公园 散步 吧
*chinese | 机器学习是人工智能的一个重要分支。 | 机器 学习 是 人工 智能 的 一个 重要 分支
*chinese | Rust语言2024年ภาษาไทย | rust 语言 2024 年 ภาษา ไทย
*japanese | 東京大学で機械学習を研究している学生です | 東京 大学 で 機械 学習 を 研究 し て いる 学生 です
*japanese | 私は毎日学校へ行きます。 | 私 は 毎日 学校 へ 行き ます
*japanese | コンピューターのプログラムを書く | コンピューター の プログラム を 書く
*thai | ฉันไปโรงเรียนทุกวัน ประเทศไทยมีอากาศร้อนมาก | ฉัน ไป โรงเรียน ทุก วัน ประเทศไทย มี อากาศ ร้อน มาก
*lao | ຂ້ອຍໄປໂຮງຮຽນທຸກມື້ | ຂ້ອຍ ໄປ ໂຮງຮຽນ ທຸກມື້
*khmer | ប្រទេសកម្ពុជា ជាប្រទេសមួយ | ប្រទេស កម្ពុជា ជា ប្រទេស មួយ
*burmese | မြန်မာနိုင်ငံသည် | မြန်မာနိုင်ငံ သည်";

#[test]
fn words_of_languages_are_those_of_icu() {
    for line in WORDS.lines() {
        let [language, text, words] = columns(line);
        let needs_dictionary = language.starts_with('*');
        let vectorizer = Vectorizer::new().language(language.trim_start_matches('*'));
        if needs_dictionary && !cfg!(feature = "languages") {
            testkit::refused! { vectorizer.fit_transform([text]), "not in this build"; }
        } else {
            assert_eq!(terms(&vectorizer, text), sorted(words), "{language}");
        }
    }
}

fn columns(line: &str) -> [&str; 3] {
    let columns: Vec<&str> = line.split('|').map(str::trim).collect();
    columns.try_into().unwrap()
}

/// A part of the note on a text, and the language that it names.
const NOTES: &str = "\
Chinese | chinese | 今天天气很好,我们去公园散步吧。
Japanese | japanese | 東京大学で機械学習を研究している学生です
Thai | thai | ฉันไปโรงเรียนทุกวัน ประเทศไทยมีอากาศร้อนมาก
Lao | lao | ຂ້ອຍໄປໂຮງຮຽນທຸກມື້
Khmer | khmer | ប្រទេសកម្ពុជា ជាប្រទេសមួយ
Burmese | burmese | မြန်မာနိုင်ငံသည်
Devanagari | hindi | मैं हर दिन स्कूल जाता हूँ, daily
Tamil | tamil | தமிழ் மொழி மிகவும் பழமையானது
Bengali | bengali | বাংলা ভাষা আমাদের গর্ব
28 letters on average | | agctagctagctagctagctagctagct agctagctagctagctagctagctagct agctagctagctagctagctagctagct agctagctagctagctagctagctagct agctagctagctagctagctagctagct agctagctagctagctagctagctagct agctagctagctagctagctagctagct agctagctagctagctagctagctagct
| | plain English and a word of हिन्दी in a long enough sentence, with more words
| | Москва — столица России
| | 대한민국의 수도는 서울이다
| | ذهبت إلى المدرسة اليوم
| | internationalization";

/// The first result says what the default pattern does to a script, and the line that it names helps.
#[test]
fn damaged_scripts_are_named_with_the_line_that_helps() {
    for line in NOTES.lines() {
        let [name, language, text] = columns(line);
        let found = Vectorizer::new().fit_transform([text]);
        // A text can lose all its words: the error says why.
        let note = found.map_or_else(|error| error.to_string(), |found| found.notes().join(" "));
        let is_right = note.contains(name) && name.is_empty() == note.is_empty();
        assert!(is_right, "{text}: {note}");
        // Where the build lacks the dictionaries of the script, a function helps.
        let line = match Vectorizer::new().language(language).fit_transform([text]) {
            Ok(helped) => {
                assert!(helped.notes().is_empty(), "{:?}", helped.notes());
                format!(".language({language:?})")
            }
            Err(error) => {
                let lacks = !language.is_empty() && !cfg!(feature = "languages");
                assert!(language.is_empty() || lacks, "{error}");
                ".tokenizer(..)".into()
            }
        };
        assert!(language.is_empty() || note.contains(&line), "{note}");
    }
    // With words that another program has found, or by a pattern or a function of one's own, the user has chosen.
    let text = "今天天气很好";
    let by_characters = |text: &str| text.chars().map(String::from).collect();
    for counted in [
        Vectorizer::new()
            .fit_transform([vec!["今天", "天气"]])
            .unwrap(),
        Vectorizer::new()
            .token_pattern(r"\w")
            .fit_transform([text])
            .unwrap(),
        Vectorizer::new()
            .tokenizer(by_characters)
            .fit_transform([text])
            .unwrap(),
    ] {
        assert!(counted.notes().is_empty(), "{:?}", counted.notes());
    }
}

fn by_hyphen(text: &str) -> Vec<String> {
    text.split('-').map(str::to_string).collect()
}

#[test]
fn a_function_finds_the_words() {
    let vectorizer = Vectorizer::new().tokenizer(by_hyphen).stop_words(["The"]);
    let counted = vectorizer
        .fit_transform(["The-New York-café", "new york--x"])
        .unwrap();
    assert_eq!(counted.terms().as_slice(), ["café", "new york", "x"]);
    let again = counted.vectorizer().transform(["a-X-new york"]).unwrap();
    assert_eq!(again.counts().summary().unwrap().total(), 2.0);
    let pairs = vectorizer.strip_accents(true).ngram_range(2, 2);
    assert_eq!(terms(&pairs, "the-New York-café"), "new york cafe");
    // No file can hold a function.
    let (folder, path) = testkit::temp_path("words.json");
    let error = counted.vectorizer().save(&path).unwrap_err();
    assert!(error.to_string().contains("cannot be saved"), "{error}");
    assert!(error.remedy().is_some() && !path.exists());
    let counts = Synthetic::new(2, 3, 2).seed(1).generate().unwrap().counts();
    let fit = TopicModel::new(2).epochs(1).quiet().fit(&counts).unwrap();
    let fit = fit.with_texts(&counted).unwrap();
    assert!(fit.vectorizer().unwrap().transform(["x"]).is_ok());
    fit.save(folder.path().join("fit.safetensors")).unwrap();
    let loaded = Fit::load(folder.path().join("fit.safetensors")).unwrap();
    let error = loaded.vectorizer().unwrap_err().to_string();
    testkit::assert_has(&error, ["a function of tokenizer(..) is in no file"]);
}

#[test]
fn settings_of_words_that_contradict_each_other_are_refused() {
    let new = Vectorizer::new;
    for (vectorizer, expected) in [
        (new().language("klingon"), "no language with known words"),
        (new().language("hindy"), "the nearest is `hindi`"),
        (new().language("hindi").token_pattern("x"), "two settings"),
        (new().language("hindi").tokenizer(by_hyphen), "two settings"),
        (new().phrases(0, 0.5), "phrases that occur 0 times"),
        (new().phrases(1, 1.5), "NPMI above 1.5"),
        (new().phrases(1, f64::NAN), "NPMI above NaN"),
    ] {
        testkit::refused! { vectorizer.fit_transform(["ab cd"]), expected; }
    }
}

#[test]
fn lists_of_tokens_are_texts() {
    let lists = vec![
        vec!["New York".to_string(), "is".into()],
        vec!["IS".into(), " ".into(), "x".into()],
    ];
    let check = |counted: Result<TextCounts>| {
        let counted = counted.unwrap();
        assert_eq!(counted.terms().as_slice(), ["is", "new york", "x"]);
        assert_eq!(counted.counts().summary().unwrap().total(), 4.0);
    };
    let new = Vectorizer::new;
    check(new().fit_transform(&lists));
    check(new().fit_transform(lists.as_slice()));
    check(new().fit_transform(Texts::new(lists.iter().map(Vec::as_slice)).unwrap()));
    let texts = Texts::new(&lists).unwrap();
    assert_eq!(texts.to_string(), "2 lists of tokens in memory");
    assert_eq!(texts.beginnings(6).unwrap(), ["New Yo", "IS   x"]);
    check(new().fit_transform(lists));
    let plain = new()
        .lowercase(false)
        .fit_transform([["A", "a"], ["B", "a"]])
        .unwrap();
    assert_eq!(plain.terms().as_slice(), ["A", "B", "a"]);
    assert!(new().fit_transform(Vec::<Vec<String>>::new()).is_err());
}

#[cfg(feature = "polars")]
#[test]
fn a_column_of_lists_has_texts() {
    use topicbook::polars::prelude::{IntoColumn, ListChunked, NamedFrom, Series};
    let folder = tempfile::tempdir().unwrap();
    let series = |tokens: &[Option<&str>]| Series::new("".into(), tokens);
    let lists = |second: Option<&str>| {
        let rows = [
            Some(series(&[Some("New York"), Some("is")])),
            Some(series(&[second, Some("x")])),
        ];
        let lists: ListChunked = rows.into_iter().collect();
        lists.with_name("text".into()).into_column()
    };
    let table = topicbook::Table::from_columns(vec![lists(Some("IS"))]);
    let path = folder.path().join("tokens.parquet");
    table.write_parquet(&path).unwrap();
    for counted in [
        Vectorizer::new().fit_transform(&path),
        Vectorizer::new().fit_transform(lists(Some("IS"))),
    ] {
        assert_eq!(counted.unwrap().terms().as_slice(), ["is", "new york", "x"]);
    }
    let error = Vectorizer::new().fit_transform(lists(None)).unwrap_err();
    assert_eq!(error.place(), Some("row 1 (counted from 0)"), "{error}");
}

/// gensim 4.4: `Phrases(tokens, min_count=.., threshold=.., scoring="npmi")`, and the phrases of each text.
#[test]
fn phrases_are_those_of_gensim() {
    let texts = [
        "new york is new",
        "he left new york",
        "a new house",
        "york has a house",
        "machine learning in new york",
        "machine learning is new",
        "the machine is learning",
        "learning machine learning",
    ];
    let tokens = texts.map(|text| text.split(' ').map(str::to_string).collect::<Vec<_>>());
    let cases = [
        (
            2,
            0.3,
            "new_york is_new he left new_york a new house york has a house machine_learning in new_york machine_learning is_new the machine is learning learning machine_learning",
        ),
        (
            1,
            0.5,
            "new_york is new he_left new_york a new house york_has a_house machine_learning in new_york machine_learning is new the_machine is learning learning machine_learning",
        ),
        (
            3,
            0.2,
            "new_york is new he left new_york a new house york has a house machine_learning in new_york machine_learning is new the machine is learning learning machine_learning",
        ),
        (
            1,
            -0.5,
            "new_york is_new he_left new_york a_new house york_has a_house machine_learning in_new york machine_learning is_new the_machine is_learning learning_machine learning",
        ),
        // Between the scores of machine_learning and new_york, 0.6580815821863822 and 0.5800120801295063.
        (2, 0.58001, "new_york"),
        (2, 0.58002, "machine_learning"),
    ];
    for (min_count, threshold, expected) in cases {
        let vectorizer = Vectorizer::new().phrases(min_count, threshold);
        let counted = vectorizer.fit_transform(&tokens[..]).unwrap();
        let found = counted.terms();
        match expected.split_once(' ') {
            None => {
                assert!(found.iter().any(|term| term == expected), "{threshold}");
                let is_new_york = found.iter().any(|term| term == "new_york");
                assert_eq!(is_new_york, expected == "new_york");
            }
            Some(_) => {
                assert_eq!(found.as_slice().join(" "), sorted(expected), "{threshold}");
                let words = expected.split(' ').count() as f64;
                assert_eq!(counted.counts().summary().unwrap().total(), words);
            }
        }
        // The phrases stay with the vectorizer, also in a file.
        let (_folder, path) = testkit::temp_path("words.json");
        counted.vectorizer().save(&path).unwrap();
        let again = Vectorizer::open(&path)
            .unwrap()
            .transform(&tokens[..])
            .unwrap();
        assert_eq!(again.terms(), found);
        let totals = [&counted, &again].map(|c| c.counts().summary().unwrap().total());
        assert_eq!(totals[0], totals[1]);
    }
}

/// A file of the first version, without a language and phrases.
#[test]
fn vectorizers_of_before_are_opened() {
    let (_folder, path) = testkit::temp_path("words.json");
    let old = r#"{"topicbook_vectorizer":1,"words":{"lowercase":true,"strip_accents":false,"stop_words":["the"],"stem":"english","ngram_range":[1,1],"token_pattern":null},"terms":["run"]}"#;
    std::fs::write(&path, old).unwrap();
    let total = |vectorizer: &Vectorizer, text: &str| {
        let counted = vectorizer.transform([text]).unwrap();
        counted.counts().summary().unwrap().total()
    };
    let opened = Vectorizer::open(&path).unwrap();
    assert_eq!(total(&opened, "the running"), 1.0);
    opened.save(&path).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap().trim(), old);
    let hindi = Vectorizer::new()
        .language("Hindi")
        .fit_transform(["हिन्दी भाषा"])
        .unwrap();
    hindi.vectorizer().save(&path).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    testkit::assert_has(&text, ["\"topicbook_vectorizer\":2", "\"hindi\""]);
    assert_eq!(total(&Vectorizer::open(&path).unwrap(), "भाषा"), 1.0);
}
