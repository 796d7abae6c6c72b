//! What a sensor told of round trips beside what was so.

/// A step is over for what is told once it is as near as this part of it, or as this, seconds.
const NEAR_PART: f64 = 0.25;
const NEAR: f64 = 0.010;
/// The sensor tells the median of so long; so does the truth that it is compared with.
const OVER: f64 = 1.0;
/// An estimate agrees with the path within a millisecond, or this part.
const AGREES: (f64, f64) = (0.001, 0.05);

/// What was told at a time: seconds since the lab came up, and the round trip.
pub(super) type Told = (f64, f64);

/// What is known of one way.
#[derive(Debug)]
pub(super) struct Course<'a> {
    /// From when the latency is how much.
    pub(super) steps: &'a [(f64, f64)],
    /// Reports.
    pub(super) told: &'a [Told],
    /// Round trips of packets themselves, when they were back.
    pub(super) path: &'a [Told],
    /// How long a packet and its answer are on the line themselves.
    pub(super) line: f64,
    /// From then on is counted.
    pub(super) settled: f64,
}

/// How far off it was. Times in seconds; nothing is not a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Figures {
    /// Mean distance from the configured latency, of all reports, and without tails after steps.
    pub(super) all: f64,
    pub(super) rest: f64,
    /// The same without what packets are on the line themselves.
    pub(super) all_off_line: f64,
    pub(super) rest_off_line: f64,
    /// Mean distance from the path's own time, without tails; and the share of reports that agree.
    pub(super) path: f64,
    pub(super) agree: f64,
    /// From a step until reports are near, mean and longest.
    pub(super) tail: f64,
    pub(super) tail_most: f64,
    /// The same from the first answer that had the new latency.
    pub(super) after: f64,
    /// Answers from then on until reports are near, mean.
    pub(super) answers: f64,
}

pub(super) fn figures(course: &Course<'_>) -> Figures {
    let ends = course.steps.iter().skip(1).map(|(at, _)| *at).chain([f64::INFINITY]);
    let (mut sums, mut tails, mut afters, mut answers) =
        (Sums::default(), Vec::new(), Vec::new(), Vec::new());
    for (number, ((at, latency), end)) in course.steps.iter().zip(ends).enumerate() {
        let from = at.max(course.settled);
        let within = |told: &&Told| (from..end).contains(&told.0);
        let told: Vec<Told> = course.told.iter().filter(within).copied().collect();
        let Some((last, _)) = told.last().copied() else { continue };
        let mut over = from;
        if let Some((_, before)) = number.checked_sub(1).and_then(|place| course.steps.get(place)) {
            let near = NEAR.max((latency - before).abs() * NEAR_PART);
            let is_near = |told: &&Told| (told.1 - course.line - latency).abs() <= near;
            over = told.iter().find(is_near).map_or(last, |(when, _)| *when);
            tails.push(over - at);
            let first = course.first_of(*at, end, *latency);
            afters.push((over - first).max(0.0));
            let between = |(when, _): &&Told| *when >= first && *when <= over;
            answers.push(course.path.iter().filter(between).count() as f64);
        }
        for (when, rtt) in told {
            sums.add(course, (when, rtt), *latency, when >= over);
        }
    }
    let of = |sum: f64, count: f64| if count > 0.0 { sum / count } else { f64::NAN };
    let mean = |all: &[f64]| of(all.iter().sum(), all.len() as f64);
    Figures {
        all: of(sums.all, sums.count),
        rest: of(sums.rest, sums.settled),
        all_off_line: of(sums.all_off_line, sums.count),
        rest_off_line: of(sums.rest_off_line, sums.settled),
        path: of(sums.path, sums.compared),
        agree: of(sums.agree, sums.compared),
        tail: mean(&tails),
        tail_most: tails.iter().copied().fold(f64::NAN, f64::max),
        after: mean(&afters),
        answers: mean(&answers),
    }
}

#[derive(Debug, Default)]
struct Sums {
    count: f64,
    all: f64,
    all_off_line: f64,
    settled: f64,
    rest: f64,
    rest_off_line: f64,
    compared: f64,
    path: f64,
    agree: f64,
}

impl Sums {
    fn add(&mut self, course: &Course<'_>, told: Told, latency: f64, is_settled: bool) {
        let (off, off_line) = ((told.1 - latency).abs(), (told.1 - course.line - latency).abs());
        self.count += 1.0;
        self.all += off;
        self.all_off_line += off_line;
        if !is_settled {
            return;
        }
        self.settled += 1.0;
        self.rest += off;
        self.rest_off_line += off_line;
        let Some(path) = course.path_at(told.0) else { return };
        let off = (told.1 - path).abs();
        self.compared += 1.0;
        self.path += off;
        self.agree += f64::from(u8::from(off <= AGREES.0.max(path * AGREES.1)));
    }
}

impl Course<'_> {
    /// When the first packet was back that met the new latency both ways.
    fn first_of(&self, from: f64, end: f64, latency: f64) -> f64 {
        let near = |(when, took): &&Told| {
            *when - took >= from
                && *when < end
                && (took - latency).abs() <= latency.mul_add(0.5, self.line)
        };
        self.path.iter().find(near).map_or(from, |(when, _)| *when)
    }

    /// What the path took lately, as a sensor would tell it: the median of the second before the last answer.
    fn path_at(&self, at: f64) -> Option<f64> {
        let known = self.path.partition_point(|(when, _)| *when <= at);
        let (last, _) = self.path[..known].last()?;
        let lately = self.path[..known].iter().rev().take_while(|(when, _)| last - when <= OVER);
        let mut lately: Vec<f64> = lately.map(|(_, took)| *took).collect();
        lately.sort_by(f64::total_cmp);
        lately.get(lately.len() / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course<'a>(steps: &'a [(f64, f64)], told: &'a [Told], path: &'a [Told]) -> Course<'a> {
        Course { steps, told, path, line: 0.05, settled: 5.0 }
    }
    fn near(value: f64, expected: f64) -> bool {
        (value - expected).abs() < 1e-9
    }

    #[test]
    fn a_tail_lasts_until_what_is_told_is_near_the_new_latency() {
        let steps = [(0.0, 0.1), (10.0, 0.5)];
        let told: Vec<Told> = (0..20)
            .map(|second| match second {
                0..12 => (f64::from(second), 0.15),
                _ => (f64::from(second), 0.57),
            })
            .collect();
        let path: Vec<Told> = (0..20)
            .map(|second| (f64::from(second), if second < 11 { 0.15 } else { 0.55 }))
            .collect();
        let figures = figures(&course(&steps, &told, &path));
        assert!(near(figures.tail, 2.0) && near(figures.tail_most, 2.0), "{figures:?}");
        // It was back at 11 s; the one at 12 s is the second.
        assert!(near(figures.after, 1.0) && near(figures.answers, 2.0), "{figures:?}");
        // 5 reports that are 0.05 above, 2 of the tail 0.35 below, 8 that are 0.07 above.
        assert!(near(figures.all, (0.25 + 0.7 + 0.56) / 15.0), "{figures:?}");
        assert!(near(figures.rest, (0.25 + 0.56) / 13.0), "{figures:?}");
        assert!(near(figures.rest_off_line, 0.02 * 8.0 / 13.0), "{figures:?}");
        assert!(near(figures.path, 0.02 * 8.0 / 13.0) && near(figures.agree, 1.0), "{figures:?}");
    }

    #[test]
    fn a_step_that_is_never_told_is_all_tail_and_nothing_told_is_no_number() {
        let steps = [(0.0, 0.1), (10.0, 0.5)];
        let told: Vec<Told> = (6..20).map(|second| (f64::from(second), 0.15)).collect();
        let figures_of = figures(&course(&steps, &told, &[]));
        assert!(near(figures_of.tail, 9.0), "{figures_of:?}");
        assert!(figures(&course(&steps, &[], &[])).all.is_nan());
    }
}
