//! Modules of a crate import each other in one direction only: a reader of one module reads downward, and never comes
//! back.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::mutants::root;

/// The modules that each module of a crate imports. Names are paths such as `load::drive`.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// The Rust files in a folder and below it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let within = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    entries.flat_map(within).filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

fn imports_of(src: &Path) -> Imports {
    let texts = files(src).into_iter().map(|file| {
        let name = file.strip_prefix(src).unwrap().with_extension("").to_str().unwrap().replace('/', "::");
        // Imports for tests alone do not count.
        let text = std::fs::read_to_string(&file).unwrap();
        (name, text.split("#[cfg(test)]\nmod tests {").next().unwrap().to_string())
    });
    imports_in(texts.filter(|(name, _)| name != "lib" && name != "main").collect())
}

fn imports_in(texts: BTreeMap<String, String>) -> Imports {
    let module_of = |path: &str| {
        let mut path = path;
        while !texts.contains_key(path) && !texts.contains_key(&format!("{path}::mod")) {
            path = path.rsplit_once("::")?.0;
        }
        Some(path.to_string())
    };
    let imports = |name: &str, text: &str| {
        let own = name.strip_suffix("::mod").unwrap_or(name);
        let above = if own == name { name.rsplit_once("::").map_or("", |(above, _)| above) } else { own };
        let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let code = code.join("\n");
        let from = |start: &str, prefix: &str| -> Vec<String> {
            let found = code.split(start).skip(1).map(|rest| paths(path_at(rest)));
            found.flatten().map(|path| format!("{prefix}{path}").trim_start_matches("::").to_string()).collect()
        };
        let paths = [from("crate::", ""), from("super::", &format!("{above}::"))].into_iter();
        // The module of a folder may use its parts, which do not count as imports.
        let modules = paths.flatten().filter_map(|path| module_of(&path));
        modules.filter(|module| module != own && !own.starts_with(&format!("{module}::"))).collect()
    };
    let all = texts.iter().map(|(name, text)| (name.trim_end_matches("::mod").to_string(), imports(name, text)));
    all.collect()
}

/// The path at the beginning of a text, with everything in its braces.
fn path_at(text: &str) -> &str {
    let mut depth = 0;
    let end = text.find(|letter: char| {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        depth < 0 || depth == 0 && !(letter.is_alphanumeric() || "_:}".contains(letter))
    });
    &text[..end.unwrap_or(text.len())]
}

/// `a::{b, c::{D, E}}` is `a::b`, `a::c::D` and `a::c::E`.
fn paths(import: &str) -> Vec<String> {
    let Some((prefix, items)) = import.split_once('{') else {
        return vec![import.trim().split(" as ").next().unwrap().to_string()];
    };
    let mut depth = 0;
    // Closing braces at the end need not be counted.
    let items = items.trim().trim_end_matches('}').split(|letter| {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        letter == ',' && depth == 0
    });
    let items = items.map(str::trim).filter(|item| !item.is_empty());
    items.flat_map(paths).map(|path| format!("{}{path}", prefix.trim_start())).collect()
}

/// A chain of imports that leads from a module back to itself.
fn circle(imports: &Imports) -> Option<Vec<&str>> {
    fn walk<'a>(imports: &'a Imports, way: &mut Vec<&'a str>, done: &mut BTreeSet<&'a str>) -> bool {
        let at = *way.last().unwrap();
        if way[..way.len() - 1].contains(&at) {
            return true;
        }
        for next in
            imports.get(at).into_iter().flatten().filter(|next| !done.contains(next.as_str())).collect::<Vec<_>>()
        {
            way.push(next);
            if walk(imports, way, done) {
                return true;
            }
            way.pop();
        }
        done.insert(at);
        false
    }
    let mut done = BTreeSet::new();
    imports.keys().find_map(|module| {
        let mut way = vec![module.as_str()];
        (!done.contains(module.as_str()) && walk(imports, &mut way, &mut done)).then_some(way)
    })
}

#[test]
fn no_two_modules_of_a_crate_import_each_other() {
    let crates = ["crates", "crates/gateways"].map(|folder| std::fs::read_dir(root().join(folder)).unwrap());
    let sources = crates.into_iter().flatten().map(|entry| entry.unwrap().path().join("src"));
    let mut modules = 0;
    for src in sources.filter(|src| src.is_dir()) {
        let imports = imports_of(&src);
        modules += imports.len();
        assert_eq!(circle(&imports), None, "{}", src.display());
    }
    assert!(modules > 250, "{modules} modules were looked at");
}

/// The gateways that a gateway is built on: `binance` is a dialect over `http`.
const BELOW: [(&str, &str); 1] = [("binance", "http")];

#[test]
fn no_gateway_knows_another_one_but_a_dialect_its_server() {
    let folder = root().join("crates/gateways");
    let manifests = std::fs::read_dir(&folder).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        let manifest = std::fs::read_to_string(path.join("Cargo.toml")).unwrap();
        (path.file_name().unwrap().to_str().unwrap().to_owned(), manifest)
    });
    let manifests: BTreeMap<String, String> = manifests.collect();
    let known = manifests.iter().flat_map(|(gateway, manifest)| {
        let dependencies = manifest.lines().filter_map(|line| Some(line.split_once(['.', ' '])?.0));
        let others: Vec<&str> = dependencies.map(|name| name.strip_suffix("-gateway").unwrap_or(name)).collect();
        others.into_iter().filter(|name| manifests.contains_key(*name)).map(|other| (gateway.as_str(), other))
    });
    assert_eq!(known.collect::<Vec<_>>(), BELOW);
}

#[test]
fn a_circle_is_found_however_it_is_written() {
    let found = |texts: &[(&str, &str)]| {
        let texts = texts.iter().map(|(name, text)| (name.to_string(), format!("\n{text}")));
        circle(&imports_in(texts.collect())).map(|way| way.join(" "))
    };
    let base = [("load::mod", "use crate::{table, number::{list, capital}};"), ("table", ""), ("number", "")];
    assert_eq!(found(&base), None);
    for back in [
        "use crate::load::Load;",
        "pub(crate) use crate::load::Load;",
        "use super::load;",
        "use crate::{\n    load::Load,\n    table,\n};",
        "#[cfg(test)]\nmod trial;\nuse crate::load;",
        "fn of(load: &crate::load::Load) {}",
    ] {
        let with = [&base[..2], &[("number", back)]].concat();
        assert_eq!(found(&with).as_deref(), Some("load number load"), "{back}");
    }
    let inner = [("load::mod", "use self::drive::Drive;"), ("load::drive", "use super::setup;"), ("load::setup", "")];
    assert_eq!(found(&inner), None);
    let inner = [("load::mod", ""), ("load::drive", "use super::setup;"), ("load::setup", "use super::drive::X;")];
    assert_eq!(found(&inner).as_deref(), Some("load::drive load::setup load::drive"));
}
