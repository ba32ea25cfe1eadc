//! The statement that writes a batch, on one connection. To prepare it the driver asks for its types one by one, which
//! takes some 80 round trips. So this file reads all of them with one query, and sends the statement with its text
//! until it is prepared. That begins behind the first batch, and no batch waits for it. This file knows no table.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::task::JoinSet;
use tokio_postgres::types::{Field, Kind, ToSql, Type};
use tokio_postgres::{Error, Row, Statement};

use crate::effects::Effects;
use crate::error::with_cause;
use crate::session::Session;
use crate::standing::Epoch;
use crate::statement;

/// Selects the parameters of the functions that write: function, name and type; and for an array of rows the type of a
/// row, its name, and the names and types of its columns.
const PARAMETERS: &str = "
    SELECT p.proname::text, g.name, g.type, r.oid, r.typname::text,
        ARRAY(SELECT a.attname::text FROM pg_attribute a
            WHERE a.attrelid = r.typrelid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum),
        ARRAY(SELECT a.atttypid FROM pg_attribute a
            WHERE a.attrelid = r.typrelid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum)
    FROM pg_proc p CROSS JOIN LATERAL unnest(p.proargnames, p.proargtypes::oid[]) AS g(name, type)
    JOIN pg_type t ON t.oid = g.type LEFT JOIN pg_type r ON r.oid = t.typelem AND r.typrelid <> 0
    WHERE p.pronamespace = 'pricetime'::regnamespace AND p.proname LIKE 'write\\_%'";

pub(crate) struct BatchStatement {
    text: String,
    /// The types of its parameters.
    types: Vec<Type>,
    prepared: Option<Statement>,
    /// The task that prepares it, which ends with this.
    preparing: JoinSet<Result<Statement, Error>>,
    /// Whether the log has the reason why it could not be prepared.
    has_logged: bool,
}

impl BatchStatement {
    pub(crate) async fn new(session: &Session) -> Result<BatchStatement, Error> {
        let text = statement::write_batch();
        let rows = session.client.query_typed(PARAMETERS, &[]).await?;
        let known: HashMap<(&str, &str), &Row> = rows.iter().map(|row| ((row.get(0), row.get(1)), row)).collect();
        let types = statement::parameter_names().into_iter().map(|name| known.get(&name).map(|row| type_of(row)));
        let (types, prepared) = match types.collect() {
            Some(types) => (types, None),
            // Somebody changed the functions. The database says so in its own words.
            None => (Vec::new(), Some(session.client.prepare(&text).await?)),
        };
        Ok(BatchStatement { text, types, prepared, preparing: JoinSet::new(), has_logged: false })
    }

    /// Commits a batch.
    pub(crate) async fn write(&mut self, session: &Arc<Session>, effects: &Effects, epoch: Epoch) -> Result<(), Error> {
        match self.preparing.try_join_next() {
            Some(Ok(Ok(statement))) => self.prepared = Some(statement),
            Some(Ok(Err(error))) => self.log(&error),
            // It is not prepared yet, or was not begun.
            Some(Err(_)) | None => {}
        }
        let parameters = statement::parameters(effects, epoch);
        let parameters = parameters.iter().map(|parameter| parameter.as_ref() as &(dyn ToSql + Sync));
        if let Some(prepared) = &self.prepared {
            return session.client.execute(prepared, &parameters.collect::<Vec<_>>()).await.map(drop);
        }
        let typed: Vec<_> = parameters.zip(self.types.iter().cloned()).collect();
        session.client.execute_typed(&self.text, &typed).await?;
        if self.preparing.is_empty() {
            let (session, text) = (Arc::clone(session), self.text.clone());
            self.preparing.spawn(async move { session.client.prepare(&text).await });
        }
        Ok(())
    }
}

impl BatchStatement {
    /// Logs once for a connection why the statement could not be prepared. It is tried again behind each batch.
    fn log(&mut self, error: &Error) {
        if std::mem::replace(&mut self.has_logged, true) || error.is_closed() {
            return;
        }
        let fault = with_cause(error);
        tracing::warn!(
            fault,
            "the database does not prepare the statement that writes, and reads its text with each transaction, which \
             costs it more; let this role read pg_type, pg_range and pg_namespace, and have a proxy before the database \
             keep prepared statements"
        );
    }
}

/// The type of a parameter: an array of rows, or one of PostgreSQL's own types.
fn type_of(row: &Row) -> Type {
    let (oid, element, name): (u32, Option<u32>, Option<String>) = (row.get(2), row.get(3), row.get(4));
    let (Some(element), Some(name)) = (element, name) else { return built_in(oid) };
    let (columns, types): (Vec<String>, Vec<u32>) = (row.get(5), row.get(6));
    let fields = columns.into_iter().zip(types).map(|(column, oid)| Field::new(column, built_in(oid))).collect();
    let schema = "pricetime".to_owned();
    let element = Type::new(name.clone(), element, Kind::Composite(fields), schema.clone());
    Type::new(format!("_{name}"), oid, Kind::Array(element), schema)
}

/// A type by its number alone if it is none of PostgreSQL's own: nothing but the number is sent.
fn built_in(oid: u32) -> Type {
    Type::from_oid(oid).unwrap_or_else(|| Type::new(String::new(), oid, Kind::Simple, String::new()))
}
