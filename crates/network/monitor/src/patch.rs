//! What differs between two documents: a merge patch (RFC 7386).
//!
//! A document holds no null: null in a patch takes a field away.

use serde_json::{Map, Value};

/// What makes `new` of `old`; `None` when they are alike.
#[must_use]
pub fn patch(old: &Value, new: &Value) -> Option<Value> {
    let (Value::Object(before), Value::Object(after)) = (old, new) else {
        return (old != new).then(|| new.clone());
    };
    let mut changes = Map::new();
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        changes.insert(name.clone(), Value::Null);
    }
    for (name, value) in after {
        let change = match before.get(name) {
            None => Some(value.clone()),
            Some(was) => patch(was, value),
        };
        changes.extend(change.map(|change| (name.clone(), change)));
    }
    (!changes.is_empty()).then_some(Value::Object(changes))
}

/// Makes the new document of the old one.
pub fn apply(document: &mut Value, patch: Value) {
    let Value::Object(changes) = patch else {
        *document = patch;
        return;
    };
    if !document.is_object() {
        *document = Value::Object(Map::new());
    }
    let Some(fields) = document.as_object_mut() else { return };
    for (name, change) in changes {
        match change {
            Value::Null => drop(fields.remove(&name)),
            change => apply(fields.entry(name).or_insert(Value::Null), change),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn document() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            any::<u32>().prop_map(Value::from),
            "[a-c]{0,2}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-d]", inner, 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_patch_makes_the_new_document_of_the_old_one(old in document(), new in document()) {
            let mut shown = old.clone();
            if let Some(change) = patch(&old, &new) {
                apply(&mut shown, change);
            }
            prop_assert_eq!(shown, new);
        }
    }

    #[test]
    fn only_what_differs_is_in_a_patch() {
        let old = json!({"a": {"x": 1, "y": 2}, "b": 3, "c": [1, 2]});
        let new = json!({"a": {"x": 1, "y": 5}, "c": [1, 2], "d": 4});
        assert_eq!(patch(&old, &new), Some(json!({"a": {"y": 5}, "b": null, "d": 4})));
        assert_eq!(patch(&new, &new), None);
    }
}
