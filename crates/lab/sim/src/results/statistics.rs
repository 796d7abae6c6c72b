//! Figures over several seeds: mean and confidence interval.

/// Student's t for 97.5 % and 1 to 30 degrees of freedom (any table of the distribution).
const T_975: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// A figure of several runs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Summary {
    /// Runs that have it.
    pub runs: usize,
    /// Mean.
    pub mean: f64,
    /// The mean of many more runs lies within this of `mean` with 95 % confidence, if the figure is
    /// spread normally; zero for a single run.
    pub ci95: f64,
    /// Least.
    pub least: f64,
    /// Greatest.
    pub greatest: f64,
}

impl Summary {
    /// Of these values; all zero of none.
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        if values.is_empty() {
            return Self::default();
        }
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        let ci95 = match values.len() {
            1 => 0.0,
            runs => t_975(runs - 1) * (squares / (n - 1.0) / n).sqrt(),
        };
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Self { runs: values.len(), mean, ci95, least, greatest }
    }
}

/// Student's t for 97.5 % and this many degrees of freedom, at least one.
///
/// Beyond the table: the first terms of its expansion around the normal distribution (Fisher).
#[must_use]
pub fn t_975(freedom: usize) -> f64 {
    let more = || {
        let n = freedom as f64;
        1.959_964 + 2.372_27 / n + 2.822_50 / (n * n)
    };
    T_975.get(freedom.wrapping_sub(1)).copied().unwrap_or_else(more)
}

/// Figures in order, the least first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sorted(Vec<f64>);

impl Sorted {
    /// The middle one, or between the two in the middle; `None` of nothing.
    #[must_use]
    pub fn median(&self) -> Option<f64> {
        let last = self.0.len().checked_sub(1)?;
        Some(f64::midpoint(self.0[last / 2], self.0[self.0.len() / 2]))
    }

    /// The least figure that so many percent of all do not exceed (nearest rank); `None` of nothing.
    #[must_use]
    pub fn percentile(&self, percent: usize) -> Option<f64> {
        let place = (self.0.len() * percent).div_ceil(100).max(1) - 1;
        self.0.get(place).copied()
    }
}

impl FromIterator<f64> for Sorted {
    fn from_iter<T: IntoIterator<Item = f64>>(figures: T) -> Self {
        let mut figures: Vec<f64> = figures.into_iter().collect();
        figures.sort_by(f64::total_cmp);
        Self(figures)
    }
}

impl std::ops::Deref for Sorted {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_between_two_and_a_percentile_is_one_of_the_figures() {
        let sorted = |figures: &[f64]| figures.iter().copied().collect::<Sorted>();
        let four = sorted(&[4.0, 1.0, 3.0, 2.0]);
        assert_eq!(four[..], [1.0, 2.0, 3.0, 4.0]);
        assert_eq!((four.median(), sorted(&[9.0, 7.0, 8.0]).median()), (Some(2.5), Some(8.0)));
        let of = |percent| four.percentile(percent);
        assert_eq!([0, 25, 26, 95, 100].map(of), [1.0, 1.0, 2.0, 4.0, 4.0].map(Some));
        assert_eq!((Sorted::default().median(), Sorted::default().percentile(95)), (None, None));
    }

    #[test]
    fn twenty_runs_have_the_t_of_nineteen_degrees_of_freedom() {
        let values: Vec<f64> = (0..20).map(f64::from).collect();
        let summary = Summary::of(&values);
        assert_eq!((summary.runs, summary.mean, summary.greatest), (20, 9.5, 19.0));
        // Standard deviation of 0..20 is the square root of 35.
        assert!((summary.ci95 - 2.093 * (35.0f64 / 20.0).sqrt()).abs() < 1e-12, "{summary:?}");
    }

    #[test]
    fn one_run_has_no_spread_and_none_has_nothing() {
        assert_eq!(Summary::of(&[7.0]).ci95, 0.0);
        assert_eq!(Summary::of(&[]), Summary::default());
    }

    #[test]
    fn t_goes_on_where_the_table_ends() {
        assert!((t_975(31) - 2.040).abs() < 0.001, "{}", t_975(31));
        assert!((t_975(120) - 1.980).abs() < 0.001, "{}", t_975(120));
    }
}
