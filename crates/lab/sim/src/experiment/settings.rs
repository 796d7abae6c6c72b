//! `[set]`: variables that do not vary.

use crate::scenario::{Values, fields::Fields, variables::plain};

/// `[set]`: variables that do not vary.
pub(super) fn set(fields: &Fields<'_>) -> Values {
    let mut values = Values::new();
    for (name, value) in fields.entries() {
        match plain(value.get_ref()) {
            Some(text) => {
                values.insert(name.to_owned(), text);
            }
            None => fields.wrong(name, value, "is not a value. Write text, a number or true"),
        }
    }
    values
}
