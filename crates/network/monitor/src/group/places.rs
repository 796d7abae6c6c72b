//! Where nodes stand: as said on the command line, for the map of the page.

use std::{collections::BTreeMap, fmt, str::FromStr};

use serde_json::{Value, json};

/// A node and where it stands: `pc1=47.3769,8.5417`.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    /// Its name or its id.
    pub node: String,
    /// Degrees, north and south: -90 to 90.
    pub latitude: f64,
    /// Degrees, east and west: -180 to 180.
    pub longitude: f64,
}

/// Why a text is no [`Placed`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misplaced {
    /// It has another form.
    Form,
    /// There is no such latitude.
    Latitude,
    /// There is no such longitude.
    Longitude,
}

impl fmt::Display for Misplaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Form => "not a node and two numbers in degrees. Use pc1=47.3769,8.5417",
            Self::Latitude => "the latitude is not from -90 to 90. It comes first: pc1=47.4,8.5",
            Self::Longitude => "the longitude is not from -180 to 180. It comes last: pc1=47.4,8.5",
        })
    }
}

impl std::error::Error for Misplaced {}

impl FromStr for Placed {
    type Err = Misplaced;

    fn from_str(text: &str) -> Result<Self, Misplaced> {
        // A node's name may have an equals sign in it.
        let (node, at) = text.rsplit_once('=').ok_or(Misplaced::Form)?;
        let (latitude, longitude) = at.split_once(',').ok_or(Misplaced::Form)?;
        let degrees = |text: &str| text.trim().parse::<f64>().map_err(|_| Misplaced::Form);
        let (latitude, longitude) = (degrees(latitude)?, degrees(longitude)?);
        if node.is_empty() {
            return Err(Misplaced::Form);
        }
        if !(-90.0..=90.0).contains(&latitude) {
            return Err(Misplaced::Latitude);
        }
        if !(-180.0..=180.0).contains(&longitude) {
            return Err(Misplaced::Longitude);
        }
        Ok(Self { node: node.to_owned(), latitude, longitude })
    }
}

/// Puts the places of those nodes that are known into the document of a group. Where a node is named
/// twice the last one counts.
pub(super) fn add(places: &[Placed], document: &mut Value) {
    let Some(nodes) = document["nodes"].as_object() else { return };
    let mut known = BTreeMap::new();
    for placed in places {
        let id = nodes.iter().find(|(id, row)| {
            **id == placed.node || row["label"].as_str() == Some(placed.node.as_str())
        });
        if let Some((id, _)) = id {
            let at = json!({ "lat": placed.latitude, "lon": placed.longitude });
            known.insert(id.clone(), at);
        }
    }
    if !known.is_empty() {
        document["places"] = json!(known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_node_and_two_numbers_in_degrees() {
        let placed: Placed = "a=b=-47.5, 8".parse().unwrap();
        assert_eq!((&*placed.node, placed.latitude, placed.longitude), ("a=b", -47.5, 8.0));
        for (wrong, why) in [
            ("pc1", Misplaced::Form),
            ("=1,2", Misplaced::Form),
            ("pc1=47", Misplaced::Form),
            ("pc1=47,x", Misplaced::Form),
            ("pc1=NaN,1", Misplaced::Latitude),
            ("pc1=91,1", Misplaced::Latitude),
            ("pc1=8,-181", Misplaced::Longitude),
        ] {
            assert_eq!(wrong.parse::<Placed>(), Err(why), "{wrong}");
        }
    }

    #[test]
    fn only_nodes_that_are_known_are_on_the_map_by_name_or_id() {
        let mut document = json!({ "nodes": { "7": { "label": "pc1" }, "9": { "label": "pc2" } } });
        let places = ["pc1=1,2", "9=3,4", "stranger=5,6", "pc1=7,8"];
        let places = places.map(|text| text.parse().unwrap());
        add(&places, &mut document);
        let shown = json!({ "7": { "lat": 7.0, "lon": 8.0 }, "9": { "lat": 3.0, "lon": 4.0 } });
        assert_eq!(document["places"], shown);
        add(&places[2..3], &mut document);
        let mut none = json!({ "nodes": { "7": { "label": "pc1" } } });
        add(&places[2..3], &mut none);
        assert_eq!(none.get("places"), None);
    }
}
