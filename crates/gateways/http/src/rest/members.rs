//! Members, for operators: their names, rights and keys. A secret is shown once, to the operator that makes it.

use access::{BudgetText, Change, KeyKind, LimitsText, ListedKey, ListedMember, NewKey, NewMember, Revoked};
use axum::Json;
use axum::extract::{ConnectInfo, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::sessions::no_members;
use crate::app_state::AppState;
use crate::current_principal;
use crate::input::{self, Body, Parameters, PathParameter};
use crate::listener::Life;
use crate::members::{Editing, Editor, unknown_key};
use crate::problem::Problem;
use crate::problem_code::Code;
use crate::schema_values;

/// Bytes of the shortest password: shorter ones can be guessed.
const PASSWORD_BYTES_MIN: usize = 8;

/// Limits of a member, over all its keys and connections; a missing field limits nothing.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = MemberLimits)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitsShape {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    orders_per_second: Option<u32>,
    /// Shares of one order.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema_values::SharesAsked>, nullable = false)]
    order_shares: Option<String>,
    /// Dollars of one order.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema_values::FundsAsked>, nullable = false)]
    order_value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    messages_per_second: Option<u32>,
    /// Connections over XML and FIX, and WebSockets.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    connections: Option<u32>,
}

/// Bounds of what an issuer gives; a missing field bounds nothing.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = MemberBudget)]
#[serde(deny_unknown_fields)]
pub(crate) struct BudgetShape {
    /// The account whose dollars and shares it gives, in place of new ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema_values::Account>, nullable = false)]
    from: Option<String>,
    /// The accounts that it may create: the first and the last one, of equally many digits, `1000-1999`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    accounts: Option<String>,
}

/// The rights that a member is to have.
#[derive(Deserialize, ToSchema)]
#[schema(as = MemberRights)]
#[serde(deny_unknown_fields)]
pub(crate) struct RightsAsked {
    #[schema(value_type = Vec<schema_values::MemberRole>)]
    roles: Vec<String>,
    /// The accounts for which a trader or viewer has its rights.
    #[serde(default)]
    #[schema(value_type = Vec<schema_values::Account>)]
    accounts: Vec<String>,
    #[schema(nullable = false)]
    limits: Option<LimitsShape>,
    /// The budget of an issuer.
    #[schema(nullable = false)]
    budget: Option<BudgetShape>,
}

/// A member to add.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MemberAsked {
    #[schema(value_type = schema_values::Name)]
    name: String,
    #[schema(value_type = Vec<schema_values::MemberRole>)]
    roles: Vec<String>,
    /// The accounts for which a trader or viewer has its rights.
    #[serde(default)]
    #[schema(value_type = Vec<schema_values::Account>)]
    accounts: Vec<String>,
    #[schema(nullable = false)]
    limits: Option<LimitsShape>,
    /// The budget of an issuer.
    #[schema(nullable = false)]
    budget: Option<BudgetShape>,
}

/// A key, without its secret.
#[derive(Serialize, ToSchema)]
#[schema(as = MemberKey)]
pub(crate) struct KeyShape {
    id: String,
    #[schema(value_type = schema_values::KeyKind)]
    kind: &'static str,
    /// The time at which it expires; null for never.
    #[schema(required = true)]
    expires: Option<String>,
    /// The secret of a key that was made just now. Only this answer shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    secret: Option<String>,
}

/// A member, and its keys.
#[derive(Serialize, ToSchema)]
#[schema(as = Member)]
pub(crate) struct MemberShape {
    name: String,
    #[schema(value_type = Vec<schema_values::MemberRole>)]
    roles: Vec<String>,
    #[schema(value_type = Vec<schema_values::Account>)]
    accounts: Vec<String>,
    #[schema(required = true)]
    limits: Option<LimitsShape>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    budget: Option<BudgetShape>,
    keys: Vec<KeyShape>,
}

/// Members, and the start of the next page.
#[derive(Serialize, ToSchema)]
#[schema(as = Members)]
pub(crate) struct MembersShape {
    members: Vec<MemberShape>,
    #[schema(value_type = Option<schema_values::Name>, required = true)]
    next: Option<String>,
}

/// A page of members.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct List {
    /// The `next` of the page before.
    #[param(value_type = Option<schema_values::Name>)]
    after: Option<String>,
    /// Members of a page.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    #[serde(default, deserialize_with = "input::number")]
    limit: Option<usize>,
}

impl LimitsShape {
    fn written(self) -> LimitsText {
        let LimitsShape { orders_per_second, order_shares, order_value, messages_per_second, connections } = self;
        LimitsText { orders_per_second, order_shares, order_value, messages_per_second, connections }
    }
}

impl From<LimitsText> for LimitsShape {
    fn from(written: LimitsText) -> LimitsShape {
        let LimitsText { orders_per_second, order_shares, order_value, messages_per_second, connections } = written;
        LimitsShape { orders_per_second, order_shares, order_value, messages_per_second, connections }
    }
}

impl BudgetShape {
    fn written(self) -> BudgetText {
        BudgetText { from: self.from, accounts: self.accounts }
    }
}

impl From<BudgetText> for BudgetShape {
    fn from(written: BudgetText) -> BudgetShape {
        BudgetShape { from: written.from, accounts: written.accounts }
    }
}

impl From<ListedKey> for KeyShape {
    fn from(ListedKey { id, kind, expires }: ListedKey) -> KeyShape {
        KeyShape { id, kind: kind.name(), expires, secret: None }
    }
}

impl From<ListedMember> for MemberShape {
    fn from(ListedMember { name, roles, accounts, limits, budget, keys }: ListedMember) -> MemberShape {
        let keys = keys.into_iter().map(KeyShape::from).collect();
        let (limits, budget) = (limits.map(LimitsShape::from), budget.map(BudgetShape::from));
        MemberShape { name, roles, accounts, limits, budget, keys }
    }
}

/// Works on the file of members as the asker.
pub(super) async fn edit<T: Send + 'static>(
    app: &AppState,
    life: &Life,
    work: impl FnOnce(&Editing) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let members = app.members().ok_or_else(no_members)?;
    let name = current_principal::asker().map(|asker| asker.principal.member().to_owned()).unwrap_or_default();
    members.edit(Editor { name, from: life.there().to_string() }, work).await
}

/// Lists the members, in the order of the access file.
#[utoipa::path(
    get, path = "/members", operation_id = "listMembers", tag = "Members",
    params(List),
    responses((status = 200, description = "A page of members", body = MembersShape)),
    extensions(("x-refusals" = json!([Code::NoMembers, Code::MembersUnwritable]))),
)]
pub(crate) async fn list(
    State(app): State<AppState>,
    Parameters(asked): Parameters<List>,
) -> Result<Json<MembersShape>, Problem> {
    let limit = input::count("limit", asked.limit, 100, 1000)?;
    let all = app.members().ok_or_else(no_members)?.list(&current_principal::member()).await?;
    let from = match asked.after {
        None => 0,
        Some(after) => {
            let bad_after = || Problem::field("after", "after is the `next` of a page of this list");
            all.iter().position(|member| member.name == after).ok_or_else(bad_after)? + 1
        }
    };
    let more = all.len() > from + limit;
    let members: Vec<MemberShape> = all.into_iter().skip(from).take(limit).map(MemberShape::from).collect();
    let next = members.last().filter(|_| more).map(|member| member.name.clone());
    Ok(Json(MembersShape { members, next }))
}

/// Adds a member without keys.
#[utoipa::path(
    post, path = "/members", operation_id = "addMember", tag = "Members",
    request_body = MemberAsked,
    responses((status = 201, description = "It is a member from now on", body = MemberShape)),
    extensions(("x-refusals" = json!([Code::NoMembers, Code::MemberExists, Code::MembersUnwritable]))),
)]
pub(crate) async fn add(
    State(app): State<AppState>,
    ConnectInfo(life): ConnectInfo<Life>,
    Body(asked): Body<MemberAsked>,
) -> Result<(StatusCode, Json<MemberShape>), Problem> {
    let MemberAsked { name, roles, accounts, limits, budget } = asked;
    let (limits, budget) = (limits.map(LimitsShape::written), budget.map(BudgetShape::written));
    let added = edit(&app, &life, move |editing| {
        let member = NewMember { roles: &roles, accounts: &accounts, limits: limits.as_ref(), budget: budget.as_ref() };
        editing.change(&Change::Member(&name, member))?;
        editing.member(&name)
    });
    Ok((StatusCode::CREATED, Json(added.await?.into())))
}

/// Changes the rights of a member, also on open connections. Its keys stay.
#[utoipa::path(
    put, path = "/members/{member}", operation_id = "changeMember", tag = "Members",
    params(("member" = schema_values::Name, Path, description = "The member's name")),
    request_body = RightsAsked,
    responses((status = 200, description = "What it may do now", body = MemberShape)),
    extensions(("x-refusals" = json!([
        Code::NoMembers, Code::UnknownMember, Code::LastOperator, Code::WrittenOtherwise, Code::MembersUnwritable
    ]))),
)]
pub(crate) async fn change(
    State(app): State<AppState>,
    ConnectInfo(life): ConnectInfo<Life>,
    PathParameter(name): PathParameter<String>,
    Body(asked): Body<RightsAsked>,
) -> Result<Json<MemberShape>, Problem> {
    let RightsAsked { roles, accounts, limits, budget } = asked;
    let (limits, budget) = (limits.map(LimitsShape::written), budget.map(BudgetShape::written));
    let changed = edit(&app, &life, move |editing| {
        let member = NewMember { roles: &roles, accounts: &accounts, limits: limits.as_ref(), budget: budget.as_ref() };
        editing.change(&Change::Rights(&name, member))?;
        editing.member(&name)
    });
    Ok(Json(changed.await?.into()))
}

/// Removes a member with all its keys, and ends all its logins.
#[utoipa::path(
    delete, path = "/members/{member}", operation_id = "removeMember", tag = "Members",
    params(("member" = schema_values::Name, Path, description = "The member's name")),
    responses((status = 200, description = "What it was", body = MemberShape)),
    extensions(("x-refusals" = json!([
        Code::NoMembers, Code::UnknownMember, Code::LastOperator, Code::WrittenOtherwise, Code::MembersUnwritable, Code::ReadOnlyNode
    ]))),
)]
pub(crate) async fn remove(
    State(app): State<AppState>,
    ConnectInfo(life): ConnectInfo<Life>,
    PathParameter(name): PathParameter<String>,
) -> Result<Json<MemberShape>, Problem> {
    let removed = edit(&app, &life, move |editing| {
        let member = editing.member(&name)?;
        editing.change(&Change::Revoked(Revoked::Member(&name)))?;
        Ok(member)
    });
    Ok(Json(removed.await?.into()))
}

/// A key to add.
#[derive(Deserialize, ToSchema)]
#[schema(as = NewKey)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyAsked {
    /// The key's id; 64 random letters and digits without one.
    #[schema(value_type = Option<schema_values::Name>, nullable = false)]
    id: Option<String>,
    #[schema(value_type = schema_values::KeyKind)]
    kind: String,
    /// The public key of `ed25519`, the SHA-256 fingerprint of `certificate`, the address or network of `address`, the
    /// password of `password`. The other kinds get a random secret.
    #[schema(nullable = false)]
    value: Option<String>,
    /// The time at which it expires.
    #[schema(nullable = false)]
    expires: Option<String>,
}

/// Adds a key of a member. Only this answer shows its secret.
#[utoipa::path(
    post, path = "/members/{member}/keys", operation_id = "addKey", tag = "Members",
    params(("member" = schema_values::Name, Path, description = "The member's name")),
    request_body = KeyAsked,
    responses((status = 201, description = "It counts from now on", body = KeyShape)),
    extensions(("x-refusals" = json!([Code::NoMembers, Code::UnknownMember, Code::WrittenOtherwise, Code::MembersUnwritable]))),
)]
pub(crate) async fn add_key(
    State(app): State<AppState>,
    ConnectInfo(life): ConnectInfo<Life>,
    PathParameter(member): PathParameter<String>,
    Body(asked): Body<KeyAsked>,
) -> Result<(StatusCode, Json<KeyShape>), Problem> {
    let kind = KeyKind::ALL.into_iter().find(|kind| kind.name() == asked.kind);
    let kind = kind.ok_or_else(|| {
        let names: Vec<&str> = KeyKind::ALL.into_iter().map(KeyKind::name).collect();
        Problem::field("kind", format!("kind is one of {}", names.join(", ")))
    })?;
    if matches!(kind, KeyKind::Hmac | KeyKind::Secret | KeyKind::Password) && !life.is_private() {
        return Err(Problem::not_private());
    }
    let added = edit(&app, &life, move |editing| {
        let id = asked.id.map_or_else(random, Ok)?;
        let (value, secret) = proof(kind, asked.value)?;
        let expires = asked.expires;
        let key = NewKey { member: &member, id: &id, kind, value: &value, expires: expires.as_deref() };
        editing.change(&Change::Key(&key))?;
        Ok(KeyShape { id, kind: kind.name(), expires, secret })
    });
    Ok((StatusCode::CREATED, Json(added.await?)))
}

fn random() -> Result<String, Problem> {
    access::random_text().map_err(|error| {
        tracing::error!(%error, "there is no randomness for a key");
        Problem::not_ready()
    })
}

/// Returns the proof that the file holds of a key, and the secret for its owner.
fn proof(kind: KeyKind, value: Option<String>) -> Result<(String, Option<String>), Problem> {
    let fault = |why: &str| Problem::field("value", format!("value {why}"));
    match (kind, value) {
        (KeyKind::Hmac | KeyKind::Secret, Some(_)) => Err(fault("is not for this kind: the server makes the secret")),
        (KeyKind::Hmac, None) => random().map(|secret| (secret.clone(), Some(secret))),
        (KeyKind::Secret, None) => random().map(|secret| (access::hash_of_secret(&secret), Some(secret))),
        (_, None) => Err(fault("is missing: this kind needs one")),
        (KeyKind::Password, Some(password)) if password.len() < PASSWORD_BYTES_MIN => {
            Err(fault(&format!("has {} bytes; at least {PASSWORD_BYTES_MIN}", password.len())))
        }
        (KeyKind::Password, Some(password)) => {
            access::hash_of_password(&password).map(|hash| (hash, None)).map_err(|why| fault(&why))
        }
        (KeyKind::Ed25519 | KeyKind::Certificate | KeyKind::Address, Some(value)) => Ok((value, None)),
    }
}

/// Removes a key of a member, and ends the logins that it proved.
#[utoipa::path(
    delete, path = "/members/{member}/keys/{key}", operation_id = "removeKey", tag = "Members",
    params(
        ("member" = schema_values::Name, Path, description = "The member's name"),
        ("key" = schema_values::Name, Path, description = "The key's id"),
    ),
    responses((status = 200, description = "What it was", body = KeyShape)),
    extensions(("x-refusals" = json!([
        Code::NoMembers, Code::UnknownMember, Code::UnknownKey, Code::LastOperator, Code::WrittenOtherwise, Code::MembersUnwritable,
        Code::ReadOnlyNode
    ]))),
)]
pub(crate) async fn remove_key(
    State(app): State<AppState>,
    ConnectInfo(life): ConnectInfo<Life>,
    PathParameter((member, id)): PathParameter<(String, String)>,
) -> Result<Json<KeyShape>, Problem> {
    let removed = edit(&app, &life, move |editing| {
        let keys = editing.member(&member)?.keys;
        let key = keys.into_iter().find(|key| key.id == id).ok_or_else(unknown_key)?;
        editing.change(&Change::Revoked(Revoked::Key(&id)))?;
        Ok(key)
    });
    Ok(Json(removed.await?.into()))
}
