//! Members over REST: operators add, change and remove members and keys while the server runs.

use serde_json::{Value, json};

use crate::common::folder::Folder;
use crate::common::http::{Answer, Http};
use crate::common::members::{AccessFile, Client, basic, market, secret};
use crate::common::server::Server;

fn start(purpose: &str) -> (Folder, Server, Http, AccessFile) {
    let folder = Folder::new(purpose);
    let file = AccessFile::new(&folder);
    let server = file.launch(&folder).start();
    let http = Http::new(server.http);
    (folder, server, http, file)
}

/// Sends a request with this key.
fn ask(http: &Http, (key, secret): (&str, &str), method: &str, path: &str, body: Option<&Value>) -> Answer {
    let proof = basic(key, secret);
    let headers = [("content-type", "application/json"), ("authorization", proof.as_str())];
    http.send(method, path, body.map(Value::to_string).as_deref(), &headers)
}

#[test]
fn a_member_comes_changes_and_goes_while_the_server_runs() {
    let (_folder, server, http, file) = start("members-come");
    market(&http);
    let olga = Client { http: &http, member: "olga" };
    let limits = json!({"orders_per_second": 100, "order_shares": "5"});
    let dora = json!({"name": "dora", "roles": ["trader"], "accounts": ["1"], "limits": limits});
    let added = olga.make("/api/v1/members", &dora);
    assert_eq!(added, json!({"name": "dora", "roles": ["trader"], "accounts": ["1"], "limits": limits, "keys": []}));
    assert_eq!(olga.send("POST", "/api/v1/members", Some(&dora)).code(), (409, "member-exists"));
    let key = olga.make("/api/v1/members/dora/keys", &json!({"kind": "hmac", "id": "dora-1"}));
    let hers = ("dora-1", key["secret"].as_str().unwrap());
    assert_eq!(key, json!({"id": "dora-1", "kind": "hmac", "expires": null, "secret": hers.1}));
    assert_eq!(hers.1.len(), 64);
    // The new member may trade at once, within her limits.
    let place = |shares: &str| {
        let order = json!({"account": "1", "symbol": "SPY", "side": "buy", "shares": shares, "limit": "9"});
        ask(&http, hers, "POST", "/api/v1/orders", Some(&order))
    };
    assert_eq!((place("5").status, place("6").code()), (201, (422, "order-too-large")));
    let viewer = json!({"roles": ["viewer"], "accounts": ["1"]});
    let changed = olga.send("PUT", "/api/v1/members/dora", Some(&viewer));
    assert_eq!(
        (changed.status, &changed.body["limits"], &changed.body["keys"][0]["id"]),
        (200, &Value::Null, &json!("dora-1"))
    );
    assert_eq!(
        (place("5").code(), ask(&http, hers, "GET", "/api/v1/accounts/1", None).status),
        ((404, "unknown-account"), 200)
    );
    // The list of members contains no secrets, and has pages.
    let otto = Client { http: &http, member: "otto" };
    let listed = otto.get("/api/v1/members");
    let names: Vec<&str> =
        listed.body["members"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["olga", "igor", "alice", "bob", "vera", "otto", "dora"]);
    for hidden in [hers.1, &secret("alice"), "argon2", "secret\""] {
        assert!(!listed.text.contains(hidden), "{}", listed.text);
    }
    let page = otto.get("/api/v1/members?limit=2&after=igor").body;
    assert_eq!((&page["members"][1]["name"], &page["next"]), (&json!("bob"), &json!("bob")));
    assert_eq!(otto.get("/api/v1/members?after=dora").body, json!({"members": [], "next": null}));
    assert_eq!(otto.get("/api/v1/members?after=none").code(), (400, "malformed"));
    // A removed member is refused at once, also in a session that her key began.
    let token =
        ask(&http, hers, "POST", "/api/v1/sessions", Some(&json!({}))).body["token"].as_str().unwrap().to_owned();
    let by_token =
        || http.send("GET", "/api/v1/accounts/1", None, &[("authorization", &format!("Bearer {token}"))]).status;
    assert_eq!(by_token(), 200);
    let removed = olga.send("DELETE", "/api/v1/members/dora/keys/dora-1", None);
    assert_eq!((removed.status, &removed.body), (200, &json!({"id": "dora-1", "kind": "hmac", "expires": null})));
    assert_eq!((by_token(), ask(&http, hers, "GET", "/api/v1/accounts/1", None).status), (401, 401));
    assert_eq!(olga.send("DELETE", "/api/v1/members/dora/keys/dora-1", None).code(), (404, "unknown-key"));
    assert_eq!(
        olga.send("DELETE", "/api/v1/members/dora/keys/bob-key", None).code(),
        (404, "unknown-key"),
        "another's"
    );
    assert_eq!(olga.send("DELETE", "/api/v1/members/dora", None).body["name"], "dora");
    assert_eq!(olga.send("DELETE", "/api/v1/members/dora", None).code(), (404, "unknown-member"));
    let log = std::fs::read_to_string(file.path.with_extension("toml.log")).unwrap();
    let lines: Vec<&str> = log.lines().filter_map(|line| line.split_once(' ')).map(|(_, rest)| rest).collect();
    let by = "user=olga from=127.0.0.1";
    assert_eq!(
        lines,
        [
            format!(
                "{by} add member=dora roles=trader accounts=1 limits={{ orders_per_second = 100, order_shares = \"5\" }}"
            ),
            format!("{by} add member=dora key=dora-1 kind=hmac"),
            format!("{by} set member=dora roles=viewer accounts=1"),
            format!("{by} revoke key=dora-1"),
            format!("{by} revoke member=dora"),
        ]
    );
    assert!(![log, server.process.log()].iter().any(|log| log.contains(hers.1)));
    server.stop();
}

#[test]
fn a_change_that_cannot_be_is_refused_with_its_field_and_changes_nothing() {
    let (_folder, server, http, file) = start("members-refused");
    let olga = Client { http: &http, member: "olga" };
    let before = std::fs::read_to_string(&file.path).unwrap();
    let key = "/api/v1/members/alice/keys";
    for (method, path, body, status, code, field) in [
        ("POST", "/api/v1/members", json!({"name": "a b", "roles": []}), 400, "malformed", "name"),
        ("POST", "/api/v1/members", json!({"name": "dora", "roles": ["boss"]}), 400, "malformed", "roles"),
        (
            "POST",
            "/api/v1/members",
            json!({"name": "dora", "roles": [], "accounts": ["x"]}),
            400,
            "malformed",
            "accounts",
        ),
        ("POST", "/api/v1/members", json!({"name": "dora", "roles": [], "boss": true}), 400, "malformed", "boss"),
        (
            "PUT",
            "/api/v1/members/alice",
            json!({"roles": [], "limits": {"order_shares": "-1"}}),
            400,
            "malformed",
            "limits.order_shares",
        ),
        ("PUT", "/api/v1/members/dora", json!({"roles": []}), 404, "unknown-member", ""),
        ("PUT", "/api/v1/members/olga", json!({"roles": ["trader"]}), 409, "last-operator", ""),
        ("DELETE", "/api/v1/members/olga", Value::Null, 409, "last-operator", ""),
        ("POST", "/api/v1/members/dora/keys", json!({"kind": "hmac"}), 404, "unknown-member", ""),
        ("POST", key, json!({"kind": "magic"}), 400, "malformed", "kind"),
        ("POST", key, json!({"kind": "hmac", "id": "x", "expires": "soon"}), 400, "malformed", "expires"),
        ("POST", key, json!({"kind": "hmac", "value": "mine"}), 400, "malformed", "value"),
        ("POST", key, json!({"kind": "password", "value": "short"}), 400, "malformed", "value"),
        ("POST", key, json!({"kind": "ed25519", "value": "none"}), 400, "malformed", ""),
    ] {
        let answer = olga.send(method, path, (!body.is_null()).then_some(&body));
        assert_eq!(answer.code(), (status, code), "{method} {path} {body}: {}", answer.text);
        assert_eq!(answer.body["field"].as_str().unwrap_or_default(), field, "{}", answer.text);
        assert!(!answer.text.contains("access.toml") && !answer.text.contains("member \\\""), "{}", answer.text);
    }
    for member in ["alice", "igor", "otto", "vera"] {
        let answer = Client { http: &http, member }.send("DELETE", "/api/v1/members/bob", None);
        assert_eq!(answer.code(), (403, "not-permitted"), "{member}");
    }
    assert_eq!(Client { http: &http, member: "alice" }.get("/api/v1/members").code(), (403, "not-permitted"));
    assert_eq!(std::fs::read_to_string(&file.path).unwrap(), before);
    server.stop();
}

#[test]
fn changes_at_once_are_all_there() {
    let (_folder, server, http, file) = start("members-at-once");
    std::thread::scope(|scope| {
        for number in 0..12 {
            let address = server.http;
            scope.spawn(move || {
                let http = Http::new(address);
                let member = json!({"name": format!("m{number}"), "roles": ["viewer"]});
                Client { http: &http, member: "olga" }.make("/api/v1/members", &member);
            });
        }
    });
    let listed = Client { http: &http, member: "olga" }.get("/api/v1/members").body;
    assert_eq!(listed["members"].as_array().unwrap().len(), 18);
    server.stop();
    assert_eq!(access::list(&file.path).unwrap().len(), 18, "they stay");
}
