//! A checksum of the kernels, which tells whether a stored result was found with other kernels.

/// The files of this folder by their names, without tests, and the manifest, which pins Burn and CubeCL.
const SOURCES: [(&str, &str); 17] = [
    ("Cargo.toml", include_str!("../../../Cargo.toml")),
    ("dense.rs", include_str!("dense.rs")),
    ("download.rs", include_str!("download.rs")),
    ("footprint.rs", include_str!("footprint.rs")),
    ("launch/dense.rs", include_str!("launch/dense.rs")),
    ("launch/mod.rs", include_str!("launch/mod.rs")),
    ("launch/softmax.rs", include_str!("launch/softmax.rs")),
    ("launch/sparse.rs", include_str!("launch/sparse.rs")),
    ("mod.rs", include_str!("mod.rs")),
    ("packed.rs", include_str!("packed.rs")),
    ("pinned.rs", include_str!("pinned.rs")),
    ("reduce.rs", include_str!("reduce.rs")),
    ("resident.rs", include_str!("resident.rs")),
    ("softmax.rs", include_str!("softmax.rs")),
    ("sparse.rs", include_str!("sparse.rs")),
    ("tile.rs", include_str!("tile.rs")),
    ("upload.rs", include_str!("upload.rs")),
];

/// CRC-32 of the sources of the kernels and of the manifest. They are part of the library (90 kB), so that nobody has
/// to count versions of kernels: whatever changes them changes the number.
pub fn sources_checksum() -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for (name, text) in SOURCES {
        hasher.update(name.as_bytes());
        hasher.update(text.as_bytes());
    }
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_source_of_the_kernels_is_listed() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/backend/cube");
        let mut found = 0;
        for part in ["", "launch/"] {
            for entry in fs::read_dir(folder.join(part)).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                // The runtime of tests, and this file, compute nothing on a GPU.
                if !name.ends_with(".rs") || ["lavapipe.rs", "sources.rs"].contains(&&*name) {
                    continue;
                }
                let name = format!("{part}{name}");
                assert!(SOURCES.iter().any(|(listed, _)| *listed == name), "{name}");
                found += 1;
            }
        }
        assert_eq!(found + 1, SOURCES.len());
    }
}
