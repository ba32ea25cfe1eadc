//! Folders on the simulated disk behave like real ones: the same steps end in the same names, and a power cut takes the
//! unsynced changes of their own folder.

use journal::simulated::{PowerCut, SimulatedDisk};
use journal::{Disk, File, Storage};

fn write<S: Storage>(folder: &S, name: &str, bytes: &[u8]) {
    let file = folder.create(name).unwrap();
    file.write_all_at(bytes, 0).unwrap();
    file.sync().unwrap();
}

fn read<S: Storage>(folder: &S, name: &str) -> Option<Vec<u8>> {
    let file = folder.open(name).ok()?;
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    Some(bytes)
}

/// The steps rename a folder over an empty one and make it anew.
fn steps<S: Storage>(home: &S) -> Vec<Option<Vec<u8>>> {
    let folder = home.folder("here").unwrap();
    write(&folder, "a", b"old");
    write(home, "a", b"outside");
    drop(home.folder("there").unwrap());
    home.rename("here", "there").unwrap();
    let anew = home.folder("here").unwrap();
    write(&anew, "a", b"new");
    assert!(home.rename("here", "there").is_err(), "a folder is renamed over one that holds something");
    let there = home.folder("there").unwrap();
    assert_eq!(there.list().unwrap(), ["a"]);
    vec![read(home, "a"), read(&anew, "a"), read(&there, "a"), read(&anew, "b")]
}

#[test]
fn a_simulated_folder_is_as_a_real_one() {
    let real = tempfile::tempdir().unwrap();
    let found = steps(&Disk::open(real.path()).unwrap());
    assert_eq!(found, steps(&SimulatedDisk::new()));
    let expected = [Some(b"outside".to_vec()), Some(b"new".to_vec()), Some(b"old".to_vec()), None];
    assert_eq!(found, expected);
}

#[test]
fn a_power_cut_takes_a_folder_whose_own_name_was_not_synced() {
    let disk = SimulatedDisk::new();
    let folder = disk.folder("here").unwrap();
    write(&folder, "a", b"kept");
    folder.sync_directory().unwrap();
    let found = |disk: &SimulatedDisk| {
        let crashed = disk.after_crash(1, PowerCut::LosesAll);
        read(&crashed.folder("here").unwrap(), "a")
    };
    assert_eq!(found(&disk), None);
    disk.sync_directory().unwrap();
    assert_eq!(found(&disk), Some(b"kept".to_vec()));
    write(&folder, "b", b"not synced");
    disk.sync_directory().unwrap();
    assert_eq!(read(&disk.after_crash(1, PowerCut::LosesAll).folder("here").unwrap(), "b"), None);
}

#[test]
fn a_power_cut_finds_a_folder_under_one_of_its_names() {
    let disk = SimulatedDisk::new();
    let folder = disk.folder("here").unwrap();
    write(&folder, "a", b"old");
    folder.sync_directory().unwrap();
    disk.sync_directory().unwrap();
    disk.rename("here", "there").unwrap();
    let mut renamed = 0;
    for seed in 0..40 {
        let crashed = disk.after_crash(seed, PowerCut::Reorders);
        let names = ["here", "there"].map(|name| read(&crashed.folder(name).unwrap(), "a").is_some());
        assert!(names[0] != names[1], "{names:?}");
        renamed += u64::from(names[1]);
    }
    assert!(renamed > 5 && renamed < 35, "{renamed}");
}

/// An operator with an error about a missing file looks for the file, although someone moved its folder.
#[test]
fn a_step_that_fails_in_a_folder_that_was_moved_names_the_folder() {
    let home = tempfile::tempdir().unwrap();
    let here = home.path().join("here");
    std::fs::create_dir(&here).unwrap();
    let folder = Disk::open(&here).unwrap();
    write(&folder, "a", b"kept");
    let missing = folder.remove("b").unwrap_err().to_string();
    assert!(!missing.contains("not in place"), "{missing}");
    std::fs::rename(&here, home.path().join("there")).unwrap();
    let place = format!("not in place is {}: ", here.display());
    let failures = [folder.create("b").map(drop), folder.rename("a", "b"), folder.remove("a")];
    for failure in failures {
        let told = failure.unwrap_err().to_string();
        assert!(told.contains(&place), "{told}");
    }
}
