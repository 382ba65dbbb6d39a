//! Errors that a test expects.

/// Checks that each result is an error of this kind that says what to do, with these parts in its text. `ErrorKind` is in scope
/// where it is called.
#[macro_export]
macro_rules! refused {
    ($($result:expr => $kind:ident $(, $part:expr)*;)+) => {$({
        let Err(error) = $result else {
            panic!("not refused: {}", stringify!($result));
        };
        let text = error.to_string();
        assert_eq!(error.kind(), ErrorKind::$kind, "{text}");
        $(assert!(text.contains(&$part[..]), "no {:?} in {text}", $part);)*
        assert!(error.remedy().is_some(), "no remedy in {text}");
    })+};
}
