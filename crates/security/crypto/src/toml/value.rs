//! Values as they stand in a file.

use toml::de::DeValue;

/// Text and numbers as they stand in the file.
#[must_use]
pub fn scalar<'a>(value: &'a DeValue<'_>) -> Option<&'a str> {
    match value {
        DeValue::String(text) => Some(text),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str()),
        DeValue::Float(number) => Some(number.as_str()),
        _ => None,
    }
}

/// A value in short, for a mistake.
#[must_use]
pub fn shown(value: &DeValue<'_>) -> String {
    match (scalar(value), value.as_bool()) {
        (Some(text), _) => text.to_owned(),
        (_, Some(flag)) => flag.to_string(),
        _ => value.type_str().to_owned(),
    }
}
