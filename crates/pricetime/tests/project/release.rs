//! The files that `deploy/release` makes from the programs that these tests run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::deploy::{BINARY, deploy, is_there, said};
use crate::common::folder::Folder;

/// Installs the package, removes it, installs it again and purges it, in a copy of this machine's files that nothing
/// else sees.
const TRIED: &str = r#"
set -e
top=$1
mount -t tmpfs none "$top"
mkdir "$top/changed" "$top/work" "$top/all"
mount -t overlay overlay -o "lowerdir=/,upperdir=$top/changed,workdir=$top/work" "$top/all" || { echo no copy; exit 0; }
mount --rbind /dev "$top/all/dev"
mount -t proc proc "$top/all/proc"
mkdir -p "$top/all$top"
cp "$2" "$top/all/package.deb"
chroot "$top/all" bash -ec '
export DEBIAN_FRONTEND=noninteractive
# A page of the manual is nothing that this is about, and their index takes long.
dpkg --install --no-triggers package.deb
pricetime --version
stat --format "owner %U %a" /var/lib/pricetime
ls /etc/systemd/system/multi-user.target.wants/pricetime.service
echo "workers = 1" >> /etc/pricetime.toml
echo market > /var/lib/pricetime/journal
dpkg --remove --no-triggers pricetime
[ ! -e /usr/bin/pricetime ] && cat /var/lib/pricetime/journal
dpkg --install --no-triggers package.deb
grep workers /etc/pricetime.toml
dpkg --purge --no-triggers pricetime
! ls /var/lib/pricetime /etc/pricetime.toml /etc/systemd/system/multi-user.target.wants/pricetime.service 2>/dev/null
! id pricetime 2>/dev/null
echo purged'
"#;

/// The programs of a test's build are larger than a release's.
const PROGRAM_MB: &str = "80";

fn release(to: &Path, program_mb: &str) -> Output {
    crate::common::bench::binary();
    let mut command = Command::new(deploy("release"));
    command.arg(to).env("BINARY", BINARY).env("COMPRESSION", "none").env("MAINTAINER", "Tests <tests@debian.org>");
    // No Docker daemon is used: the image has a test of its own.
    command.env("DOCKER_HOST", "unix:///nowhere/docker.sock").env("PROGRAM_MB", program_mb).output().unwrap()
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    entries.map(|name| name.into_string().unwrap()).collect()
}

fn listed(package: &Path, what: &str) -> String {
    said(&Command::new("dpkg-deb").arg(what).arg(package).output().unwrap())
}

#[test]
fn a_release_holds_program_package_and_site_and_says_what_it_skipped() {
    let folder = Folder::new("release");
    let made = folder.path().join("made");
    let ran = release(&made, PROGRAM_MB);
    let told = said(&ran);
    assert!(ran.status.success(), "{told}");
    assert!(told.contains("skipped:\n") && told.contains("  the image: "), "{told}");
    let names = names(&made);
    let sums = std::fs::read_to_string(made.join("SHA256SUMS")).unwrap();
    assert_eq!(sums.lines().count() + 1, names.len(), "{names:?} {sums}");
    let version = env!("CARGO_PKG_VERSION");
    assert!(names.contains(&format!("pricetime-docs-{version}.tar.gz")), "{names:?}");
    let program = names.iter().find(|name| name.ends_with("-linux.tar.gz")).unwrap();
    let list = Command::new("tar").arg("-tzf").arg(made.join(program)).output().unwrap();
    for file in ["usr/local/bin/pricetime\n", "etc/systemd/system/pricetime.service\n", "LICENSE-MIT\n"] {
        assert!(said(&list).contains(file), "{file}");
    }
    if !is_there("dpkg-deb", &["--version"]) {
        assert!(told.contains("  the Debian package: "), "{told}");
        return;
    }
    let package = names.iter().find(|name| name.starts_with("pricetime_") && name.ends_with(".deb")).unwrap();
    let package = made.join(package);
    let contents = listed(&package, "--contents");
    for file in [
        "./usr/bin/pricetime\n",
        "./usr/bin/pricetime-bench\n",
        "./usr/bin/pricetime-load\n",
        "./lib/systemd/system/pricetime.service\n",
        "./etc/pricetime.toml\n",
        "./usr/share/doc/pricetime/copyright\n",
        "./usr/share/man/man1/pricetime.1.gz\n",
    ] {
        assert!(contents.contains(&format!(" {file}")), "{file} {contents}");
    }
    assert!(
        !contents.contains("/usr/local/") && contents.trim().lines().all(|line| line.contains(" root/root ")),
        "{contents}"
    );
    let control = folder.path().join("control");
    let unpacked = Command::new("dpkg-deb").arg("--control").args([&package, &control]).output().unwrap();
    assert!(unpacked.status.success(), "{}", said(&unpacked));
    assert_eq!(std::fs::read_to_string(control.join("conffiles")).unwrap(), "/etc/pricetime.toml\n");
    let fields = std::fs::read_to_string(control.join("control")).unwrap();
    assert!(fields.contains(&format!("\nVersion: {version}\n")) && fields.contains("libc6 (>= 2."), "{fields}");
    try_it(&folder, &package);
}

/// Both packages once were written into one file that had the folder's name, the second over the first.
#[test]
fn packages_are_made_in_a_folder_that_is_not_there_yet() {
    if !is_there("dpkg-deb", &["--version"]) {
        return;
    }
    let folder = Folder::new("package");
    let made = folder.path().join("not/yet");
    crate::common::bench::binary();
    let mut command = Command::new(deploy("package"));
    command.arg(&made).env("BINARY", BINARY).env("COMPRESSION", "none").env("MAINTAINER", "Tests <tests@debian.org>");
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{}", said(&ran));
    let names = names(&made);
    for beginning in ["pricetime_", "pricetime-dbgsym_"] {
        assert!(names.iter().any(|name| name.starts_with(beginning) && name.ends_with(".deb")), "{names:?}");
    }
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn a_program_that_is_too_large_is_not_released() {
    let folder = Folder::new("release");
    let made = folder.path().join("made");
    let ran = release(&made, "5");
    let told = said(&ran);
    assert!(!ran.status.success() && told.contains("the program has ") && told.contains(" more than 5 MB"), "{told}");
    assert!(names(&made).is_empty());
}

fn try_it(folder: &Folder, package: &PathBuf) {
    let tools: [(&str, &[&str]); 2] = [("unshare", &["--mount", "true"]), ("adduser", &["--version"])];
    if !tools.iter().all(|(tool, words)| is_there(tool, words)) {
        return;
    }
    let top = folder.path().join("tried");
    std::fs::create_dir(&top).unwrap();
    let mut tried = Command::new("unshare");
    tried.args(["--mount", "--propagation", "private", "bash", "-c", TRIED, "tried"]).arg(&top).arg(package);
    let tried = tried.output().unwrap();
    let told = said(&tried);
    if told.contains("no copy\n") {
        is_there("mount", &["-t", "overlay"]);
        return;
    }
    assert!(tried.status.success(), "{told}");
    for line in ["owner pricetime 700\n", "\nmarket\n", "\nworkers = 1\n", "\npurged\n"] {
        assert!(told.contains(line), "{line:?} {told}");
    }
}
