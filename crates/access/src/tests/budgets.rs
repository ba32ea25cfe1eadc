//! Budgets of issuers, in the file.

use super::*;

fn file(roles: &str, budget: &str) -> String {
    format!(
        "[[member]]\nname = \"igor\"\nroles = [{roles}]\nbudget = {budget}\n[[member.key]]\nid = \"i\"\nsecret = \"{SECRET}\"\n"
    )
}

#[test]
fn a_budget_is_read_and_what_is_wrong_with_it_is_named() {
    let access = Access::parse(&file("\"issuer\"", "{ from = \"900\", accounts = \"1000-1999\" }")).expect("a budget");
    let igor = access.by_secret("i", SECRET, TODAY).expect("he has a key");
    let budget = igor.rights().budget;
    assert_eq!(
        (budget.payer, budget.accounts.map(|range| range.to_string())),
        (Some(account("900")), Some("1000-1999".to_owned()))
    );
    access.reload(&file("\"issuer\"", "{ from = \"901\" }")).expect("another one");
    assert_eq!(
        (igor.rights().budget.payer, igor.rights().budget.accounts),
        (Some(account("901")), None),
        "it counts at once"
    );
    for (roles, budget, why) in [
        ("\"issuer\"", "{ from = \"9x\" }", "budget.from"),
        ("\"issuer\"", "{ accounts = \"1999-1000\" }", "budget.accounts must be the first and the last account"),
        ("\"issuer\"", "{ accounts = \"9-10\" }", "budget.accounts must be"),
        ("\"issuer\"", "{ accounts = \"9\" }", "budget.accounts must be"),
        ("\"issuer\"", "{ dollars = \"9\" }", "unknown field"),
        ("\"trader\"", "{ from = \"900\" }", "budget is for a member that is an issuer and no operator"),
        ("\"issuer\", \"operator\"", "{ from = \"900\" }", "budget is for a member that is an issuer and no operator"),
    ] {
        let fault = Access::parse(&file(roles, budget)).expect_err(why);
        assert!(fault.contains(why), "{fault}");
    }
}
