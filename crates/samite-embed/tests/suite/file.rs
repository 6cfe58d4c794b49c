//! Models from files: the built-in one's, copied.

use crate::builtin::cases;
use crate::cosine;
use samite_embed::{Builtin, Embedder, FileModel, FileOptions, Pooling, Side};
use samite_host::files;
use samite_model::Result;
use std::num::NonZeroUsize;
use std::path::Path;
use tempfile::TempDir;

const VOCABULARY: &str = include_str!("../../data/vocab.txt");

fn model() -> Vec<u8> {
    files::read(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/data/model.onnx"))).unwrap()
}

fn directory(model: &[u8], vocabulary: &str, name: &str) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    files::write_new(&directory.path().join("model.onnx"), model, 0o600).unwrap();
    files::write_new(&directory.path().join(name), vocabulary.as_bytes(), 0o600).unwrap();
    directory
}

fn options() -> FileOptions {
    FileOptions {
        model: "copied".to_owned(),
        pooling: Pooling::Mean,
        query_prefix: String::new(),
        passage_prefix: String::new(),
        tokens: 256,
        threads: NonZeroUsize::MIN,
    }
}

fn open(directory: &Path, options: FileOptions) -> Result<FileModel> {
    FileModel::open(directory, options, &|path| files::read_if_exists(path))
}

fn code(directory: &Path, options: FileOptions) -> &'static str {
    open(directory, options).unwrap_err().code()
}

#[test]
fn a_model_from_files_makes_the_same_vectors_in_a_space_of_its_own() {
    let builtin = Builtin::new(NonZeroUsize::MIN).unwrap();
    let copied = directory(&model(), VOCABULARY, "vocab.txt");
    let file = open(copied.path(), options()).unwrap();
    let cases = cases();
    let texts: Vec<&str> = cases.iter().take(8).map(|case| case.text.as_str()).collect();
    let right = builtin.embed(&texts, Side::Query).unwrap();
    for (vector, right) in file.embed(&texts, Side::Query).unwrap().iter().zip(&right) {
        assert!(cosine(vector, right) > 0.99999);
    }
    let (file, builtin) = (file.space(), builtin.space());
    assert_eq!((file.parts().revision.as_str(), file.dimensions()), (builtin.parts().revision.as_str(), 384));
    let error = builtin.same(file).unwrap_err();
    assert_eq!(error.code(), "space_mismatch");
    assert!(error.message().contains("file/copied@8199be6f699a"), "{error}");
}

#[test]
fn a_tokenizer_json_comes_before_a_vocabulary_and_is_part_of_the_revision() {
    let vocab: serde_json::Map<_, _> =
        VOCABULARY.lines().zip(0..).map(|(token, id)| (token.to_owned(), id.into())).collect();
    let json = serde_json::json!({
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null,
            "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": vocab}
    });
    let copied = directory(&model(), &json.to_string(), "tokenizer.json");
    files::write_new(&copied.path().join("vocab.txt"), b"nothing", 0o600).unwrap();
    let file = open(copied.path(), options()).unwrap();
    let builtin = Builtin::new(NonZeroUsize::MIN).unwrap();
    let texts = ["Grüße aus 東京"];
    let (vectors, right) = (file.embed(&texts, Side::Query).unwrap(), builtin.embed(&texts, Side::Query).unwrap());
    assert!(cosine(&vectors[0], &right[0]) > 0.99999);
    assert_ne!(file.space().parts().revision, builtin.space().parts().revision);
}

#[test]
fn prefixes_and_pooling_change_vectors_and_space() {
    let copied = directory(&model(), VOCABULARY, "vocab.txt");
    let plain = open(copied.path(), options()).unwrap();
    let prefixed = open(copied.path(), FileOptions { query_prefix: "query: ".to_owned(), ..options() }).unwrap();
    let first = open(copied.path(), FileOptions { pooling: Pooling::Cls, ..options() }).unwrap();
    let one = |model: &FileModel, text, side| model.embed(&[text], side).unwrap().remove(0);
    let as_query = one(&prefixed, "cats", Side::Query);
    assert!(cosine(&as_query, &one(&plain, "query: cats", Side::Passage)) > 0.99999);
    assert!(cosine(&as_query, &one(&prefixed, "cats", Side::Passage)) < 0.99);
    assert!(cosine(&one(&first, "cats", Side::Query), &one(&plain, "cats", Side::Query)) < 0.99);
    let ids = [plain.space().id(), prefixed.space().id(), first.space().id()];
    assert!(ids[0] != ids[1] && ids[0] != ids[2] && ids[1] != ids[2]);
}

#[test]
fn texts_are_cut_where_the_options_say() {
    let copied = directory(&model(), VOCABULARY, "vocab.txt");
    let file = open(copied.path(), FileOptions { tokens: 4, ..options() }).unwrap();
    let vectors = file.embed(&["two words", "two words and more of them"], Side::Query).unwrap();
    assert!(cosine(&vectors[0], &vectors[1]) > 0.99999);
    // The model has 512 positions.
    let file = open(copied.path(), FileOptions { tokens: 1_000, ..options() }).unwrap();
    assert_eq!(file.embed(&["word ".repeat(600).as_str()], Side::Query).unwrap_err().code(), "bad_model");
    assert_eq!(file.embed(&["word"], Side::Query).unwrap().len(), 1);
}

#[test]
fn what_is_no_model_is_refused() {
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(code(empty.path(), options()), "no_model");
    let without = directory(&model(), "", "README.md");
    assert_eq!(code(without.path(), options()), "no_model");
    let other = directory(&model(), "no\nvocabulary\n", "vocab.txt");
    assert_eq!(code(other.path(), options()), "bad_tokenizer");
    let good = directory(&model(), VOCABULARY, "vocab.txt");
    assert_eq!(code(good.path(), FileOptions { model: String::new(), ..options() }), "bad_space");
    assert_eq!(code(good.path(), FileOptions { pooling: Pooling::Provider, ..options() }), "bad_space");
    let model = model();
    for bytes in [b"".as_slice(), b"no model at all", &[0; 64], &model[..1_000], &model[..model.len() / 2]] {
        let cut = directory(bytes, VOCABULARY, "vocab.txt");
        assert_eq!(code(cut.path(), options()), "bad_model", "{} bytes", bytes.len());
    }
}

#[test]
fn a_file_that_cannot_be_read_says_why() {
    let read = |_: &Path| Err(samite_model::Error::denied("test_denied", "not for you"));
    assert_eq!(FileModel::open(Path::new("/models"), options(), &read).unwrap_err().code(), "test_denied");
}
