//! The short form of fuzzing: the kept inputs of each target, and random changes of them.

use std::fs;

use fuzz::{Mutation, Target, corpus};

/// The number of changed inputs that each target gets, unless `PRICETIME_FUZZ_INPUTS` says otherwise.
const INPUTS: usize = 3_000;
const SEED: u64 = 0x5eed;

fn takes_any_bytes(target: Target) {
    let file = corpus::file(target);
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let kept = corpus::inputs(&text);
    assert!(!kept.is_empty(), "{} has inputs", file.display());
    kept.iter().for_each(|input| target.send(input));
    let mut mutation = Mutation::from_seed(SEED);
    let count = std::env::var("PRICETIME_FUZZ_INPUTS").ok().and_then(|text| text.parse().ok()).unwrap_or(INPUTS);
    (0..count).for_each(|_| target.send(&mutation.of(&kept)));
}

#[test]
fn xml_takes_any_document() {
    takes_any_bytes(Target::Xml);
}

#[test]
fn fix_takes_any_message() {
    takes_any_bytes(Target::Fix);
}

#[test]
fn http_takes_any_request() {
    takes_any_bytes(Target::Http);
}

#[test]
fn websockets_take_any_text() {
    takes_any_bytes(Target::WebSocket);
}

#[test]
fn the_journal_takes_any_command() {
    takes_any_bytes(Target::Commands);
}

#[test]
fn snapshots_take_any_item() {
    takes_any_bytes(Target::Items);
}

#[test]
fn the_history_takes_any_block() {
    takes_any_bytes(Target::Block);
}

#[test]
fn a_node_takes_any_message() {
    takes_any_bytes(Target::Message);
}

#[test]
fn any_document_is_read() {
    takes_any_bytes(Target::XmlReading);
}

#[test]
fn any_message_of_a_fix_session_is_read() {
    takes_any_bytes(Target::FixReading);
}

#[test]
fn any_parameters_and_body_are_read() {
    takes_any_bytes(Target::HttpReading);
}

#[test]
fn any_text_of_a_websocket_is_read() {
    takes_any_bytes(Target::WebSocketReading);
}

#[test]
fn any_command_is_read() {
    takes_any_bytes(Target::CommandsReading);
}

#[test]
fn any_item_is_read() {
    takes_any_bytes(Target::ItemsReading);
}

#[test]
fn any_message_of_a_log_is_read() {
    takes_any_bytes(Target::MessageReading);
}
