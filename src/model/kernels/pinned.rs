//! Pinned memory of the host, through which everything goes to a card and comes back. The runtime takes it in pages whose
//! sizes depend on the card's, cuts them into pieces, and keeps them.

const MIB: u64 = 1 << 20;

/// Bytes that are filled, and then copied while the next are filled: small enough for a small page, and enough for a copy
/// to take far longer than to ask for it.
const STAGES: std::ops::RangeInclusive<u64> = 2 * MIB..=8 * MIB;

/// Pages of one size, and the largest piece that one is cut into.
struct Pool {
    page: u64,
    piece: u64,
}

impl Pool {
    fn takes(&self, bytes: u64) -> bool {
        // A fifth of a page may be left over.
        bytes <= self.piece || bytes <= self.page && 5 * (self.page - bytes) < self.page
    }
}

/// The runtime's pools, small pieces first (CubeCL 0.10, `MemoryConfiguration::SubSlices`). `largest`: bytes of its largest
/// page, a quarter of the card.
fn pools(largest: u64) -> Vec<Pool> {
    let mut pools = vec![Pool {
        page: largest,
        piece: largest,
    }];
    let (mut page, mut parts) = (largest, 1);
    while page >= 32 * MIB {
        page /= 4;
        parts *= 2;
        pools.push(Pool {
            page,
            piece: page / parts,
        });
    }
    pools.reverse();
    pools
}

/// Bytes of a stage.
pub(super) fn stage(largest: u64) -> u64 {
    let pieces = pools(largest).into_iter().map(|pool| pool.piece);
    let fitting = pieces.filter(|piece| STAGES.contains(piece));
    fitting.max().unwrap_or(*STAGES.end())
}

/// Bytes of the pages that such pieces come from: bytes each, and how many there are at once.
pub(super) fn pages(largest: u64, pieces: &[(u64, u64)]) -> u64 {
    let pools = pools(largest);
    let mut needs = vec![0; pools.len()];
    for &(bytes, many) in pieces.iter().filter(|(bytes, _)| *bytes > 0) {
        // What no page holds is not pinned.
        if let Some(pool) = pools.iter().position(|pool| pool.takes(bytes)) {
            needs[pool] += bytes * many;
        }
    }
    let pages = pools.iter().zip(needs);
    pages
        .map(|(pool, need)| pool.page * need.div_ceil(pool.page.max(1)))
        .sum()
}
