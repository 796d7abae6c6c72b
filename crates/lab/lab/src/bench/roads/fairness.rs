//! How evenly flows share a line.

/// Jain's index: 1 when all have the same, one over their number when one has all.
pub(super) fn jain(each: &[f64]) -> f64 {
    let (sum, squares) = each
        .iter()
        .fold((0.0, 0.0), |(sum, squares), value| (sum + value, squares + value * value));
    if squares > 0.0 { sum * sum / (each.len() as f64 * squares) } else { 0.0 }
}

/// What each has of an equal share: 1 is fair.
pub(super) fn shares(each: &[f64]) -> Vec<f64> {
    let fair = each.iter().sum::<f64>() / each.len() as f64;
    each.iter().map(|value| if fair > 0.0 { value / fair } else { 0.0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jains_index_is_one_when_all_have_the_same_and_a_share_when_one_has_all() {
        assert!((jain(&[5.0; 4]) - 1.0).abs() < 1e-9);
        assert!((jain(&[0.0, 0.0, 0.0, 8.0]) - 0.25).abs() < 1e-9);
        assert!(jain(&[0.0; 3]).abs() < 1e-9);
    }

    #[test]
    fn a_share_is_one_when_it_is_fair_and_the_number_of_flows_when_one_has_all() {
        assert_eq!(shares(&[4.0, 4.0]), [1.0, 1.0]);
        assert_eq!(shares(&[8.0, 0.0, 0.0, 0.0]), [4.0, 0.0, 0.0, 0.0]);
        assert_eq!(shares(&[0.0, 0.0]), [0.0, 0.0]);
    }
}
