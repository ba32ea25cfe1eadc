//! Requests, calls and names of streams that are read and go nowhere: fuzzing reads many in the time of one that is
//! answered.

use terms::AccountId;

use crate::cancel_restriction::CancelRestriction;
use crate::history::PageRequest;
use crate::parameters::Parameters;
use crate::place::Placing;
use crate::refusal::Refusal;
use crate::time_unit::TimeUnit;
use crate::topic::Stream;
use crate::{oco, oto, ws_call, ws_methods};

/// The account of what is read.
const ACCOUNT: &[u8] = b"1";

/// Reads a request to a path under the interface's. Panics: a reader has a fault.
pub fn read_request(path: &str, query: &[u8], body: &[u8]) {
    drop(Parameters::read_alone(query, body).and_then(|asked| read(path, &asked)));
}

/// Reads a call over the WebSocket API. Panics: a reader has a fault.
pub fn read_call(text: &str) {
    let (form, call) = ws_call::read(text, 1, true);
    let Ok(call) = call else { return };
    let changes = ws_methods::changes(&call.method);
    let asked = Parameters::of_call(call.parameters, Some("key"), (changes, false), TimeUnit::Millisecond);
    let refusal = read(&call.method, &asked).err();
    drop(refusal.map(|refusal| form.refusal(&refusal)));
}

/// Reads a request for streams. Returns whether each of them is read again from its own name. Panics: a reader has a
/// fault.
pub fn read_streams(text: &str) -> bool {
    let Ok(request) = http_gateway::json::request(text) else { return true };
    let names = request["params"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut kinds = names.iter().filter_map(|name| Some(name.as_str()?.split_once('@')?.1));
    kinds.all(|kind| {
        let stream = Stream::parse(kind);
        stream.is_none_or(|stream| Stream::parse(&stream.to_string()) == Some(stream))
    })
}

fn read(name: &str, asked: &Parameters) -> Result<(), Refusal> {
    let Ok(account) = AccountId::parse(ACCOUNT) else { return Ok(()) };
    asked.unchecked_time()?;
    let name = name.strip_prefix("/api/v3/").unwrap_or(name);
    match name {
        "order" | "order/test" | "order.place" | "order.test" => {
            CancelRestriction::read(asked)?;
            Placing::read(account, asked, &[]).map(drop)
        }
        "order/oco" => oco::limit_and_stop(asked).and_then(|two| oco::read_two(account, asked, two)).map(drop),
        "orderList/oco" | "orderList.place.oco" => {
            oco::above_and_below(asked).and_then(|two| oco::read_two(account, asked, two)).map(drop)
        }
        "orderList/oto" | "orderList.place.oto" => oto::read(account, asked, &oto::OTO).map(drop),
        "orderList/otoco" | "orderList.place.otoco" => oto::read(account, asked, &oto::OTOCO).map(drop),
        _ => PageRequest::of(asked, "fromId").map(drop),
    }
}
