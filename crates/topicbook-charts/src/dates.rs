//! Dates as positions on an axis: days from January 1, 1970, in the Gregorian calendar.

/// Months of the steps between ticks, from coarse to fine.
const MONTHS: [i64; 13] = [
    12_000, 6_000, 2_400, 1_200, 600, 240, 120, 60, 24, 12, 6, 3, 1,
];
/// Days of the month that have ticks.
const DAYS: [&[i64]; 3] = [&[1, 15], &[1, 8, 15, 22], &[]];
/// Hours of the steps within a day.
const HOURS: [i64; 4] = [12, 6, 3, 1];

/// The days from January 1, 1970, to a date. Years begin in March, so that the leap day is their last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = (year + (month + 9) / 12 - 1, (month + 9) % 12);
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    365 * year + leap_days + (153 * month + 2) / 5 + day - 719_469
}

/// Year, month and day of a number of days.
fn date(at: i64) -> (i64, i64, i64) {
    let mut year = 1970 + (at as f64 / 365.2425).floor() as i64;
    while days(year, 1, 1) > at {
        year -= 1;
    }
    while days(year + 1, 1, 1) <= at {
        year += 1;
    }
    let month = (1..=12).rev().find(|&month| days(year, month, 1) <= at);
    let month = month.unwrap_or(1);
    (year, month, at - days(year, month, 1) + 1)
}

/// The position of a date of ISO 8601: `2024-03`, which is its first day, `2024-03-15`, or `2024-03-15T10:30`. The time zone
/// counts for nothing.
pub fn position(text: &str) -> Option<f64> {
    let (date, time) = text
        .trim()
        .split_once(['T', ' '])
        .unwrap_or((text.trim(), ""));
    let mut parts = date.split('-');
    let mut part = |length: usize| -> Option<i64> {
        let digits = parts.next()?;
        let is_number = digits.len() == length && digits.bytes().all(|c| c.is_ascii_digit());
        is_number.then(|| digits.parse().ok())?
    };
    let (year, month) = (part(4)?, part(2)?);
    let day = match date.len() {
        7 => 1,
        _ => part(2)?,
    };
    let of_month = days(year + month / 12, month % 12 + 1, 1) - days(year, month, 1);
    if parts.next().is_some() || !(1..=12).contains(&month) || !(1..=of_month).contains(&day) {
        return None;
    }
    let mut units = [0.0; 3];
    let time = time.trim_end_matches('Z').split(['+', '-']).next()?;
    if !time.is_empty() {
        let mut parts = time.split(':');
        for (unit, part) in units.iter_mut().zip(&mut parts) {
            *unit = part
                .parse()
                .ok()
                .filter(|unit| (0.0..61.0).contains(unit))?;
        }
        parts.next().is_none().then_some(())?;
    }
    let [hours, minutes, seconds] = units;
    let of_day = (hours + (minutes + seconds / 60.0) / 60.0) / 24.0;
    Some(days(year, month, day) as f64 + of_day)
}

/// A position as text: a date, and the time where it is not midnight.
pub fn text(at: f64) -> String {
    let (year, month, day) = date(at.floor() as i64);
    let minutes = ((at - at.floor()) * 1440.0).round() as i64;
    let date = format!("{year:04}-{month:02}-{day:02}");
    match minutes {
        0 => date,
        _ => format!("{date} {:02}:{:02}", minutes / 60, minutes % 60),
    }
}

/// Ticks between two positions, at most `most` of them, and their texts: at years or months, or at days or hours where the
/// range is short.
pub fn ticks(low: f64, high: f64, most: usize) -> (Vec<f64>, Vec<String>) {
    let (first, last) = (date(low.floor() as i64), date(high.ceil() as i64));
    let months = |step: i64| {
        let from = (12 * first.0 + first.1 - 1).div_euclid(step) * step;
        let to = 12 * last.0 + last.1;
        (from..=to).step_by(step as usize)
    };
    let of_months = MONTHS.map(|step| -> Vec<(f64, String)> {
        let ticks = months(step).map(|month| {
            let (year, month) = (month.div_euclid(12), month.rem_euclid(12) + 1);
            let text = match step % 12 {
                0 => format!("{year:04}"),
                _ => format!("{year:04}-{month:02}"),
            };
            (days(year, month, 1) as f64, text)
        });
        ticks.collect()
    });
    let is_short = high - low < 400.0;
    let (begin, end) = (low.floor() as i64, high.ceil() as i64);
    let of_days = DAYS.iter().filter(|_| is_short).map(|shown| {
        let ticks = (begin..=end).filter(|&at| shown.is_empty() || shown.contains(&date(at).2));
        ticks.map(|at| (at as f64, text(at as f64))).collect()
    });
    let of_hours = HOURS.iter().filter(|_| high - low < 20.0).map(|&step| {
        let hours = (24 * begin..=24 * end).step_by(step as usize);
        let ticks = hours.map(|hour| {
            let at = hour as f64 / 24.0;
            let text = match hour.rem_euclid(24) {
                0 => text(at),
                hour => format!("{hour:02}:00"),
            };
            (at, text)
        });
        ticks.collect()
    });
    let all = of_months.into_iter().chain(of_days).chain(of_hours);
    let mut inside = all.map(|mut ticks| {
        ticks.retain(|(at, _)| (low..=high).contains(at));
        ticks
    });
    let finest = inside.rfind(|ticks| ticks.len() <= most);
    finest.unwrap_or_default().into_iter().unzip()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_days_of_the_calendar() {
        // Days that Python's `datetime.date.toordinal` counts, less that of 1970-01-01.
        let table = [
            ("1970-01-01", 0.0),
            ("1970-01-02T12:00", 1.5),
            ("1969-12-31", -1.0),
            ("2000-02-29", 11_016.0),
            ("2000-03-01", 11_017.0),
            ("2024-03", 19_783.0),
            ("1900-03-01", -25_508.0),
            ("2024-12-31 06:00:00.000", 20_088.25),
        ];
        for (date, expected) in table {
            assert_eq!(position(date), Some(expected), "{date}");
        }
        for wrong in [
            "2023-02-29",
            "2024-13",
            "2024-00",
            "2024",
            "24-01-01",
            "2024-1-1",
            "2024-01-01-01",
            "x",
            "2024-01-01T9x",
        ] {
            assert_eq!(position(wrong), None, "{wrong}");
        }
        // Every day of 800 years has a text, from which it comes back.
        let mut at = position("1600-01-01").unwrap();
        while at < position("2400-01-01").unwrap() {
            assert_eq!(position(&text(at)), Some(at));
            at += 1.0;
        }
        assert_eq!(text(0.75), "1970-01-01 18:00");
    }

    #[test]
    fn ticks_are_at_years_months_or_days() {
        let table: [(&str, &str, usize, &[&str]); 7] = [
            (
                "1871-05-01",
                "1930-01-01",
                6,
                &["1880", "1890", "1900", "1910", "1920", "1930"],
            ),
            (
                "2019-06-01",
                "2024-05-01",
                6,
                &["2020", "2021", "2022", "2023", "2024"],
            ),
            (
                "2023-01-01",
                "2024-03-01",
                6,
                &["2023-01", "2023-04", "2023-07", "2023-10", "2024-01"],
            ),
            ("2024-01-10", "2024-03-20", 4, &["2024-02", "2024-03"]),
            (
                "2024-01-10",
                "2024-01-13",
                5,
                &["2024-01-10", "2024-01-11", "2024-01-12", "2024-01-13"],
            ),
            (
                "2024-01-10",
                "2024-01-11",
                4,
                &["2024-01-10", "12:00", "2024-01-11"],
            ),
            ("2024-01-10", "2024-01-10", 4, &["2024-01-10"]),
        ];
        for (low, high, most, expected) in table {
            let (at, texts) = ticks(position(low).unwrap(), position(high).unwrap(), most);
            assert_eq!(texts, expected, "{low} to {high}");
            assert!(at.is_sorted());
        }
    }
}
