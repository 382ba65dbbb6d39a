// The first cell of a kernel that was started before the library was built. While a cell waits for the library, its
// thread prints the progress of the build below that cell, at growing intervals.
std::thread::spawn(|| {
    let folder = std::path::PathBuf::from(std::env::var("TOPICBOOK_KERNEL").unwrap_or_default());
    let built = || folder.join("build").join("libtopicbook_dylib.so").exists();
    while !folder.join("waiting").exists() {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    if built() {
        return;
    }
    println!("topicbook or Rust has changed, so the library is built first. This takes 10 to 20 minutes the first time, and about one minute later.");
    let began = std::time::Instant::now();
    let mut pause = 2;
    let mut next = pause;
    while !built() {
        std::thread::sleep(std::time::Duration::from_millis(100));
        let seconds = began.elapsed().as_secs();
        if seconds < next {
            continue;
        }
        pause = (2 * pause).min(120);
        next += pause;
        let Ok(log) = std::fs::File::open(folder.join("build.log")) else { return };
        if log.try_lock().is_ok() {
            // The build has failed; the error of the cell contains its log.
            return;
        }
        let text = std::fs::read_to_string(folder.join("build.log")).unwrap_or_default();
        let names: Vec<&str> = text
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix("Compiling ")?.split(' ').next())
            .collect();
        let now = names.last().map(|name| format!(", now {name}")).unwrap_or_default();
        println!("{:>3} min {:02} s {:>5} crates{now}", seconds / 60, seconds % 60, names.len());
    }
    println!("topicbook is built; this took {} s.", began.elapsed().as_secs());
});
std::fs::write(std::path::Path::new(&std::env::var("TOPICBOOK_KERNEL")?).join("started"), "")?;
