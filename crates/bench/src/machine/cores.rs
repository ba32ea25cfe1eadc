//! The cores of a server and of its load: the command line's choice, and the default for the rest.

use clap::Args;

/// The cores of both sides, as far as the command line names them.
#[derive(Args, Clone, Debug, Default)]
pub struct CoreFlags {
    /// Cores of the server that this program starts, as 0 or 0,2-4 [default: the first that the load generator leaves;
    /// in a sweep all that it leaves]
    #[arg(long, value_name = "LIST", value_parser = cores)]
    pub server_cores: Option<Cores>,
    /// Cores of the load generator [default: those that the server leaves, if there are any; in a sweep a quarter of
    /// all cores]
    #[arg(long, value_name = "LIST", value_parser = cores)]
    pub client_cores: Option<Cores>,
}

/// A list of cores. A type of its own, since clap takes a bare list for repeated flags.
#[derive(Clone, Debug, PartialEq)]
pub struct Cores(pub Vec<usize>);

impl CoreFlags {
    /// Returns the cores of the server and of the load. A side without named cores gets those that the other leaves, at
    /// most the given number, and shares the other's where it leaves none. Errors: a core that may not be used.
    pub fn sides(&self, allowed: &[usize], [servers, clients]: [usize; 2]) -> Result<[Vec<usize>; 2], String> {
        let [server, client] =
            [&self.server_cores, &self.client_cores].map(|cores| cores.as_ref().map(|cores| &cores.0));
        if let Some(core) = server.into_iter().chain(client).flatten().find(|core| !allowed.contains(core)) {
            return Err(format!("core {core} is none that this process may use; those are {allowed:?}"));
        }
        let left_by = |taken: &[usize], most| {
            let mut left: Vec<usize> = allowed.iter().copied().filter(|core| !taken.contains(core)).collect();
            if left.is_empty() {
                left = allowed.to_vec();
            }
            left.truncate(most);
            left
        };
        let server = server.cloned().unwrap_or_else(|| left_by(client.map_or(&[], Vec::as_slice), servers));
        let client = client.cloned().unwrap_or_else(|| left_by(&server, clients));
        Ok([server, client])
    }
}

/// Reads numbers from `0,2-4`, ascending.
fn cores(text: &str) -> Result<Cores, String> {
    let wrong = || "a list of cores, each once, like 0 or 0,2-4".to_string();
    let mut found = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse::<usize>().ok().filter(|core| *core < 1024).ok_or_else(wrong);
        found.extend(number(first)?..=number(last)?);
    }
    let count = found.len();
    found.sort_unstable();
    found.dedup();
    if found.is_empty() || found.len() < count { Err(wrong()) } else { Ok(Cores(found)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_as_people_write_them() {
        assert_eq!(cores("0,2-4,7"), Ok(Cores(vec![0, 2, 3, 4, 7])));
        for wrong in ["", "a", "3-1", "1,1", "0-", "-1", "99999"] {
            assert!(cores(wrong).expect_err(wrong).contains("0,2-4"));
        }
    }

    #[test]
    fn one_sides_cores_leave_the_others_to_the_other_side() {
        let check =
            |server: Option<&str>, client: Option<&str>, cores_allowed: usize, servers, expected: [&[usize]; 2]| {
                let [server_cores, client_cores] =
                    [server, client].map(|text| text.map(|text| cores(text).expect("cores")));
                let allowed: Vec<usize> = (0..cores_allowed).collect();
                let sides = CoreFlags { server_cores, client_cores }.sides(&allowed, [servers, usize::MAX]);
                assert_eq!(sides, Ok(expected.map(<[usize]>::to_vec)));
            };
        check(None, None, 4, 3, [&[0, 1, 2], &[3]]);
        check(None, None, 1, 1, [&[0], &[0]]);
        check(None, None, 2, 2, [&[0, 1], &[0, 1]]);
        check(Some("1"), None, 4, 3, [&[1], &[0, 2, 3]]);
        check(None, Some("0-1"), 4, 3, [&[2, 3], &[0, 1]]);
        check(None, Some("0"), 4, 1, [&[1], &[0]]);
        check(Some("1"), Some("1"), 2, 1, [&[1], &[1]]);
        let server_cores = Some(Cores(vec![7]));
        let why = CoreFlags { server_cores, client_cores: None }.sides(&[0, 1], [1, 1]).expect_err("no such core");
        assert!(why.contains("core 7"), "{why}");
    }
}
