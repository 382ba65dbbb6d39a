//! Two hosts: network namespaces of this machine with a host name each, joined by a bridge. A program starts processes there in
//! the place of SSH.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// The address of this machine on the bridge, without its last number, 1; the hosts have 2 and 3.
const NETWORK: &str = "10.213.77";
const BRIDGE: &str = "tbbridge";

/// The hosts, which are removed when this is dropped. One process has them at a time; others wait.
pub struct Hosts {
    _lock: fs::File,
}

impl Hosts {
    /// Makes the hosts. The error says why this user or machine cannot.
    pub fn new() -> Result<Self, String> {
        let lock = fs::File::create(std::env::temp_dir().join("topicbook-test-hosts"));
        let lock = lock.map_err(|error| error.to_string())?;
        lock.lock().map_err(|error| error.to_string())?;
        remove();
        let hosts = Self { _lock: lock };
        // Without an address of its own, a bridge takes another one when a host goes, and the others look for the old one.
        ip(&format!(
            "link add {BRIDGE} address 02:00:0a:d5:4d:01 type bridge"
        ))?;
        ip(&format!("addr add {NETWORK}.1/24 dev {BRIDGE}"))?;
        ip(&format!("link set {BRIDGE} up"))?;
        for host in [2, 3] {
            let name = host_name(host);
            ip(&format!("netns add {name}"))?;
            ip(&format!(
                "link add {} type veth peer name eth0 netns {name}",
                link(host)
            ))?;
            ip(&format!("link set {} master {BRIDGE} up", link(host)))?;
            ip(&format!("-n {name} addr add {name}/24 dev eth0"))?;
            ip(&format!("-n {name} link set eth0 up"))?;
            ip(&format!("-n {name} link set lo up"))?;
        }
        Ok(hosts)
    }

    /// Writes what Open MPI reads in a home folder to start processes on the hosts, and the file of the hosts, `hosts.txt`.
    ///
    /// # Panics
    /// When a file cannot be written.
    pub fn write_home(&self, home: &Path) {
        let write = |path: &Path, text: &str| {
            fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        };
        let agent = home.join("agent");
        // Open MPI gives it the host and the words of a command. Of a host's name it takes only the part before the first dot.
        let script = "#!/bin/sh\nhost=$1; shift\n\
            exec ip netns exec $host unshare --uts sh -c \"hostname node${host##*.}; exec sh -c '$*'\"\n";
        write(&agent, script);
        let executable = fs::set_permissions(&agent, fs::Permissions::from_mode(0o700));
        executable.unwrap_or_else(|error| panic!("{}: {error}", agent.display()));
        let settings = home.join(".prte");
        fs::create_dir_all(&settings)
            .unwrap_or_else(|error| panic!("{}: {error}", settings.display()));
        let line = format!("plm_ssh_agent = {}\n", agent.display());
        write(&settings.join("mca-params.conf"), &line);
        let hosts = format!("{} slots=1\n{} slots=1\n", host_name(2), host_name(3));
        write(&home.join("hosts.txt"), &hosts);
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        remove();
    }
}

fn remove() {
    for host in [2, 3] {
        lose_host(host);
    }
    let _ = ip(&format!("link del {BRIDGE}"));
}

/// Removes host 2 or 3 with all of its processes. These end last: a fit that misses one finds that no other starts there, and
/// a network that does not change any more.
pub fn lose_host(host: usize) {
    let name = host_name(host);
    let processes = Command::new("ip").args(["netns", "pids", &name]).output();
    let _ = ip(&format!("netns del {name}"));
    let _ = ip(&format!("link del {}", link(host)));
    let processes = processes.map(|output| output.stdout).unwrap_or_default();
    let processes = String::from_utf8_lossy(&processes);
    if !processes.trim().is_empty() {
        let processes = processes.split_whitespace();
        let _ = Command::new("kill").arg("-KILL").args(processes).status();
    }
}

/// Cuts host 2 or 3 off the network.
///
/// # Errors
/// The error that `ip` reports.
pub fn cut_host(host: usize) -> Result<(), String> {
    ip(&format!("link set {} down", link(host)))
}

/// The name of host 2 or 3: its address.
pub fn host_name(host: usize) -> String {
    format!("{NETWORK}.{host}")
}

/// This machine's end of the link to a host.
fn link(host: usize) -> String {
    format!("tbhost{host}")
}

/// Runs `ip` with these words. Returns what it complains about.
pub(crate) fn ip(words: &str) -> Result<(), String> {
    let output = Command::new("ip").args(words.split(' ')).output();
    let output = output.map_err(|error| format!("ip: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "ip {words}: {}",
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}
