//! Images and files that stand in an item as base64.

use crate::import::frame::flat::Meaning;
use crate::import::frame::ids::key;
use crate::import::frame::plan::Attachment;
use crate::import::frame::raw::Raw;
use crate::import::frame::report::FindingKind;

/// Adds what an item holds.
pub(super) fn of_item(item: Raw<'_>, meaning: &mut Meaning) {
    let kind = item.text_at(&["type"]).unwrap_or_default();
    if kind == "image_generation_call" {
        if let Some(result) = item.text_at(&["result"]).filter(|result| !result.is_empty()) {
            let format = item.text_at(&["output_format"]).unwrap_or_else(|| "png".to_owned());
            add(&format!("image/{format}"), None, &result, meaning);
        }
        return;
    }
    for holder in ["content", "output", "outputs"] {
        let Some(value) = item.get(holder) else { continue };
        let parts = if value.is_object() { vec![value] } else { value.items() };
        for part in parts {
            of_part(part, meaning);
        }
    }
}

fn of_part(part: Raw<'_>, meaning: &mut Meaning) {
    let text = |name: &str| part.text_at(&[name]).filter(|text| !text.is_empty());
    let name = text("filename");
    let name = name.as_deref();
    match text("type").as_deref() {
        Some("input_image" | "output_image" | "computer_screenshot" | "image") => {
            // A link to elsewhere holds no bytes.
            if let Some(url) = text("image_url").or_else(|| text("url")).filter(|url| url.starts_with("data:")) {
                add_url(&url, name, meaning);
            }
        }
        Some("input_file") => match text("file_data") {
            Some(url) if url.starts_with("data:") => add_url(&url, name, meaning),
            Some(data) => add("", name, &data, meaning),
            None => {}
        },
        Some("input_audio") => {
            let format = part.text_at(&["input_audio", "format"]).unwrap_or_else(|| "wav".to_owned());
            if let Some(data) = part.text_at(&["input_audio", "data"]) {
                add(&format!("audio/{format}"), name, &data, meaning);
            }
        }
        _ => {}
    }
}

fn add_url(url: &str, name: Option<&str>, meaning: &mut Meaning) {
    let split = url.strip_prefix("data:").and_then(|rest| rest.split_once(','));
    match split.and_then(|(head, data)| Some((head.strip_suffix(";base64")?, data))) {
        Some((mime, data)) => add(mime, name, data, meaning),
        None => meaning.findings.push(FindingKind::AttachmentUnreadable),
    }
}

fn add(mime: &str, name: Option<&str>, data: &str, meaning: &mut Meaning) {
    let data: Vec<u8> = data.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let decoded = data_encoding::BASE64.decode(&data).or_else(|_| data_encoding::BASE64_NOPAD.decode(&data));
    let Ok(bytes) = decoded else {
        meaning.findings.push(FindingKind::AttachmentUnreadable);
        return;
    };
    let mime = media_type(mime);
    let name = name.and_then(own_name).unwrap_or_else(|| name_of(mime.as_deref(), &bytes));
    meaning.attachments.push(Attachment { name, mime, bytes });
    meaning.more.insert("attachments".to_owned(), meaning.attachments.len().into());
}

/// A media type without its parameters, where it can be one.
fn media_type(said: &str) -> Option<String> {
    let mime = said.split(';').next().unwrap_or_default();
    let (of, sub) = mime.split_once('/')?;
    let is_type = !of.is_empty() && !sub.is_empty() && mime.len() <= 100;
    (is_type && mime.bytes().all(|byte| byte.is_ascii_graphic())).then(|| mime.to_owned())
}

/// The last part of a name that an item gives.
fn own_name(name: &str) -> Option<String> {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let name: String = last.chars().filter(|one| !one.is_control()).take(120).collect();
    Some(name).filter(|name| !matches!(name.trim(), "" | "." | ".."))
}

/// A name that tells equal bytes: an image that is sent again with every request is one artifact.
fn name_of(mime: Option<&str>, bytes: &[u8]) -> String {
    let hash = data_encoding::HEXLOWER.encode(&key(bytes));
    let short = hash.get(..12).unwrap_or_default();
    let (of, sub) = mime.and_then(|mime| mime.split_once('/')).unwrap_or(("file", ""));
    let of = if matches!(of, "image" | "audio" | "video") { of } else { "file" };
    let ending = sub.split('+').next().unwrap_or_default();
    if ending.is_empty() || !ending.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return format!("{of}-{short}");
    }
    format!("{of}-{short}.{ending}")
}
