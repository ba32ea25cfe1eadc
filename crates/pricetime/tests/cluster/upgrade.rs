//! Logs of a version that this program does not read: their nodes say what the operator should do.

use std::time::Duration;

use serde_json::json;

use crate::common::folder::Folder;

use super::log_servers::{LogServers, cluster, status};
use super::nodes::{CREATE, node, sell};

#[test]
fn a_log_of_another_version_is_refused_by_name() {
    let folder = Folder::new("cluster-upgrade");
    let servers = LogServers::start(folder.path(), 1);
    let url = servers.create("market", 1);
    let server = node(&folder, 1, &url).start();
    assert!(server.ask(CREATE).contains("created") && server.ask(&sell(1)).contains("<opened"));
    assert!(cluster(&["upgrade", "--store", &url]).unwrap().contains("version 1 already"));
    assert!(status(&url).0.contains("written in version 1\n"));
    drop(server.stop());
    for (version, what) in [
        (9, "start the program that knows them"),
        (0, "make a log under another name with `pricetime cluster recover`"),
    ] {
        let mut config = servers.ask("$JS.API.STREAM.INFO.market", "")["config"].clone();
        config["metadata"]["pricetime-messages"] = json!(version.to_string());
        let updated = servers.ask("$JS.API.STREAM.UPDATE.market", &config.to_string());
        assert!(updated["error"].is_null(), "{updated}");
        let ended = node(&folder, 1, &url).spawn().wait_for_end(Duration::from_secs(20));
        let said = format!("has messages of version {version}, and this program reads version 1 alone: {what}");
        assert!(ended.stderr.contains(&said), "{ended:?}");
        assert!(cluster(&["upgrade", "--store", &url]).unwrap_err().contains(&said));
    }
    // A log of a build before the first release says so under a key of its own.
    let mut config = servers.ask("$JS.API.STREAM.INFO.market", "")["config"].clone();
    config["metadata"]["pricetime-rules"] = json!("5");
    assert!(servers.ask("$JS.API.STREAM.UPDATE.market", &config.to_string())["error"].is_null());
    let ended = node(&folder, 1, &url).spawn().wait_for_end(Duration::from_secs(20));
    let said = "was made by a build before 0.1.0";
    assert!(ended.stderr.contains(said), "{ended:?}");
    assert!(cluster(&["upgrade", "--store", &url]).unwrap_err().contains(said));
    // The node's market goes on in a log of this version.
    let (other, data) = (servers.url("market-2"), folder.path().join("node-1"));
    cluster(&["recover", "--store", &other, "--replicas", "1", "--data", data.to_str().unwrap()]).unwrap();
    let server = node(&folder, 1, &other).start();
    assert!(server.ask(&sell(2)).contains("id=\"2\""));
    drop(server.stop());
}
