//! The metrics of TLS; none where connections are plain.

use std::fmt;
use std::time::UNIX_EPOCH;

use tls::{HandshakeCounts, Protocol};

use super::{In, Scrape, family};
use crate::metrics::exposition::Exposition;

impl Scrape {
    pub(super) fn tls(&self, out: &mut Exposition<'_>) -> fmt::Result {
        let Some(tls) = &self.0.instruments().tls else { return Ok(()) };
        let gateways = [("xml", Protocol::Xml), ("http", Protocol::Http), ("fix", Protocol::Fix)]
            .map(|(name, of)| (name, tls.handshakes(of).counts()));
        let outcomes = gateways.iter().flat_map(|(gateway, counts)| {
            let HandshakeCounts { done, failed, timed_out, gave_way, plain, .. } = *counts;
            [("done", done), ("failed", failed), ("timed_out", timed_out), ("gave_way", gave_way), ("plain", plain)]
                .map(|(outcome, count)| ([("gateway", *gateway), ("outcome", outcome)], count))
        });
        out.counters(
            family(
                "pricetime_tls_handshakes",
                None,
                "TLS handshakes, by what came of them: `done`, `failed`, `timed_out`, `gave_way` to another address, or `plain` for clients that spoke no TLS.",
            ),
            outcomes,
        )?;
        let of = |gateway: usize, which: fn(&HandshakeCounts) -> usize| which(&gateways[gateway].1) as u64;
        let each = |which: fn(&HandshakeCounts) -> usize| {
            [
                (&[("gateway", "xml")][..], of(0, which)),
                (&[("gateway", "http")][..], of(1, which)),
                (&[("gateway", "fix")][..], of(2, which)),
            ]
        };
        out.gauges(
            family("pricetime_tls_handshakes_open", None, "TLS handshakes that have begun and not ended."),
            &each(|counts| counts.in_progress),
        )?;
        out.gauges(
            family("pricetime_tls_handshakes_waiting", None, "Clients that wait for their TLS handshake to begin."),
            &each(|counts| counts.waiting),
        )?;
        let (loaded, refused) = tls.reloads();
        out.counters(
            family(
                "pricetime_tls_reloads",
                None,
                "How often the certificate's files were read again, by what came of it: `loaded`, or `refused` when they could not be \
                 used and those before stayed in force.",
            ),
            [("loaded", loaded), ("refused", refused)].into_iter().map(|(outcome, count)| ([("outcome", outcome)], count)),
        )?;
        let end = tls.loaded().not_after.and_then(|end| end.duration_since(UNIX_EPOCH).ok());
        out.gauge(
            family(
                "pricetime_tls_certificate_end",
                Some(In::Seconds),
                "When the certificate in force ends, counted from the Unix epoch.",
            ),
            end.map(|end| end.as_secs()),
        )
    }
}
