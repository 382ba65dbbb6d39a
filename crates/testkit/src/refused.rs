//! Errors that a test expects, and texts that say something.

use std::fmt::Display;

/// Checks that each result is an error that says what to do, of this kind where one is named, with these parts in its text.
/// `ErrorKind` is then in scope where it is called.
#[macro_export]
macro_rules! refused {
    ($($result:expr $(=> $kind:ident)? $(, $part:expr)*;)+) => {$({
        let Err(error) = $result else {
            panic!("not refused: {}", stringify!($result));
        };
        let text = error.to_string();
        $(assert_eq!(error.kind(), ErrorKind::$kind, "{text}");)?
        $(assert!(text.contains(&$part[..]), "no {:?} in {text}", $part);)*
        assert!(error.remedy().is_some(), "no remedy in {text}");
    })+};
}

/// # Panics
/// Unless the text of a value has all of these parts.
#[track_caller]
pub fn assert_has<const N: usize>(value: impl Display, parts: [&str; N]) {
    let text = value.to_string();
    for part in parts {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}
