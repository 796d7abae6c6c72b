//! Options of packets and of the erasure code.

use clap::Args;
use fanfare_command::{Failure, units};
use fanfare_node::{
    FieldSize,
    proto::{FecConfig, FecId, Matrix, SenderConfig},
};

/// Symbols of a block in GF(2^8) and GF(2^16).
const BLOCK_MAX_8: u32 = 255;
const BLOCK_MAX_16: u32 = 65535;

/// How long packets are, and how they are coded.
#[derive(Debug, Args)]
#[command(next_help_heading = "Packets and erasure code")]
pub(crate) struct CodeArgs {
    /// Payload bytes of a packet [default: 1400, or what the interface carries, up to 8192]
    #[arg(long, value_name = "BYTES", hide_short_help = true)]
    segment: Option<String>,
    /// Source and parity symbols of a block
    #[arg(long, default_value = "128:127", value_name = "K:P", hide_short_help = true)]
    fec: String,
    /// FEC encoding id: 5 or 129 for GF(2^8), 2 for GF(2^8) or GF(2^16)
    #[arg(long, default_value = "5", value_name = "5|129|2", hide_short_help = true)]
    fec_id: String,
    /// Parity symbols to send with each block before anybody requests them
    #[arg(long, default_value_t = 0, value_name = "N", hide_short_help = true)]
    parity: u16,
}

impl CodeArgs {
    /// Whether packets may follow what the interface carries.
    pub(super) fn may_fit(&self) -> bool {
        self.segment.is_none()
    }

    /// Payload bytes of a packet, as far as they are given.
    pub(super) fn segment_size(&self) -> Result<u16, Failure> {
        let given = self.segment.as_deref().map(units::segment).transpose()?;
        Ok(given.unwrap_or(SenderConfig::default().segment_size))
    }

    /// The code, for this matrix.
    pub(super) fn config(&self, matrix: Matrix) -> Result<FecConfig, Failure> {
        let numbers =
            self.fec.split_once(':').and_then(|(k, p)| Some((k.parse().ok()?, p.parse().ok()?)));
        let Some((source, parity)) = numbers.filter(|(source, _): &(u16, u16)| *source > 0) else {
            let text =
                format!("fec ({}): not two numbers K:P with K at least 1. Use 128:127", self.fec);
            return Err(Failure::usage("fec.invalid", text));
        };
        let total = u32::from(source) + u32::from(parity);
        if self.parity > parity {
            let text = format!(
                "parity ({}): a block has only {parity}. Raise P in --fec K:P",
                self.parity
            );
            return Err(Failure::usage("fec.invalid", text));
        }
        let (id, wide) = self.fec_id(total)?;
        let field = if wide { FieldSize::M16 } else { FieldSize::M8 };
        Ok(FecConfig { id, field, matrix, source, parity, proactive: self.parity })
    }

    /// The encoding id, and whether it takes GF(2^16).
    fn fec_id(&self, total: u32) -> Result<(FecId, bool), Failure> {
        let too_long = |bits: u32, max: u32, advice: String| {
            let text = format!(
                "fec ({}): k+parity = {total} > {max} for GF(2^{bits}). {advice}",
                self.fec
            );
            Failure::usage("fec.too_long", text)
        };
        let id = match self.fec_id.as_str() {
            "5" => FecId::ReedSolomon8,
            "129" => FecId::SmallBlockSystematic,
            "2" if total > BLOCK_MAX_16 => {
                return Err(too_long(16, BLOCK_MAX_16, format!("Use at most {BLOCK_MAX_16}")));
            }
            "2" => return Ok((FecId::ReedSolomonM, total > BLOCK_MAX_8)),
            other => {
                let text = format!("fec id ({other}): not known. Use 5, 129 or 2");
                return Err(Failure::usage("fec.invalid", text));
            }
        };
        if total > BLOCK_MAX_8 {
            let advice = format!("Use --fec-id 2 or at most {BLOCK_MAX_8}");
            return Err(too_long(8, BLOCK_MAX_8, advice));
        }
        Ok((id, false))
    }
}
