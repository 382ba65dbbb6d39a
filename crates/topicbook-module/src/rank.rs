//! Tensors whose rank is a value become tensors whose rank is a type, where Burn asks for one.

/// The highest rank of a parameter; Burn's layers have at most 5.
pub(crate) const MAX_RANK: usize = 6;

/// Runs an expression with the constant `$rank` for the rank `$value`, from 1 to [`MAX_RANK`].
macro_rules! with_rank {
    ($value:expr, $rank:ident => $body:expr) => {
        match $value {
            1 => {
                const $rank: usize = 1;
                $body
            }
            2 => {
                const $rank: usize = 2;
                $body
            }
            3 => {
                const $rank: usize = 3;
                $body
            }
            4 => {
                const $rank: usize = 4;
                $body
            }
            5 => {
                const $rank: usize = 5;
                $body
            }
            _ => {
                const $rank: usize = crate::rank::MAX_RANK;
                $body
            }
        }
    };
}
pub(crate) use with_rank;
