//! What a page has but does not show, which is where instructions to models are put.
//!
//! Looked at are elements and attributes, not style sheets: what a class hides is not known to be hidden.

use super::entity::decoded;
use super::token::attributes;

/// Elements that show nothing of their content, or something else instead.
const NEVER: &[&str] = &[
    "audio", "canvas", "datalist", "iframe", "noembed", "noframes", "noscript", "object", "script", "style",
    "template", "video", "xmp",
];

/// Whether nobody sees what is in an element.
pub(super) fn is_hidden(name: &str, written: &str) -> bool {
    if NEVER.contains(&name) {
        return true;
    }
    let mut open = name != "dialog";
    let mut hidden = false;
    for (attribute, value) in attributes(written) {
        match attribute.to_ascii_lowercase().as_str() {
            "hidden" => hidden = true,
            "open" => open = true,
            "aria-hidden" => hidden |= decoded(value).trim().eq_ignore_ascii_case("true"),
            "style" => hidden |= hides(&decoded(value)),
            _ => {}
        }
    }
    hidden || !open
}

/// Whether a style hides what it is of.
fn hides(style: &str) -> bool {
    let (mut no_size, mut clipped, mut absolute, mut hidden) = (false, false, false, false);
    let style = without_comments(style).to_ascii_lowercase();
    for declaration in style.split(';') {
        let Some((property, value)) = declaration.split_once(':') else { continue };
        let value = value.replace("!important", "");
        let value = value.trim();
        let zero = number(value).is_some_and(|number| number.abs() < 0.02);
        match property.trim() {
            "display" => hidden |= value == "none",
            "visibility" => hidden |= matches!(value, "hidden" | "collapse"),
            "content-visibility" => hidden |= value == "hidden",
            "opacity" => hidden |= zero,
            // Of a pixel nobody reads a letter.
            "font-size" => hidden |= number(value).is_some_and(|size| size < 1.5) && !is_relative(value) || zero,
            "font" => hidden |= value.split(' ').any(|word| word.starts_with('0') && number(word) == Some(0.0)),
            "width" | "height" | "max-width" | "max-height" => {
                no_size |= zero || value == "1px";
            }
            "overflow" | "overflow-x" | "overflow-y" => clipped |= matches!(value, "hidden" | "clip"),
            "position" => absolute |= matches!(value, "absolute" | "fixed"),
            "left" | "top" | "right" | "bottom" | "text-indent" | "margin-left" | "margin-top" => {
                hidden |= number(value).is_some_and(|away| away <= -900.0);
            }
            "clip" => hidden |= value.starts_with("rect(0") || value.starts_with("rect(1px"),
            "clip-path" => {
                hidden |=
                    value.starts_with("inset(50%") || value.starts_with("inset(100%") || value.starts_with("circle(0");
            }
            "transform" => hidden |= value.starts_with("scale(0)") || value.starts_with("scale(0,"),
            "color" => hidden |= value == "transparent",
            _ => {}
        }
    }
    hidden || no_size && (clipped || absolute)
}

/// The number that a value begins with.
fn number(value: &str) -> Option<f64> {
    let end = value
        .find(|character: char| !(character.is_ascii_digit() || matches!(character, '.' | '-' | '+')))
        .unwrap_or(value.len());
    value.get(..end)?.parse().ok()
}

/// Whether a length is in units of the font's size or of what is around.
fn is_relative(value: &str) -> bool {
    value.ends_with("em") || value.ends_with("vw") || value.ends_with("vh") || value.ends_with('%')
}

fn without_comments(style: &str) -> String {
    let mut out = String::with_capacity(style.len());
    let mut rest = style;
    while let Some((before, after)) = rest.split_once("/*") {
        out.push_str(before);
        rest = after.split_once("*/").map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    out
}
