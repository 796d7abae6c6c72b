//! What a receipt rests on: who acknowledges has heard the announcements of this very transfer.
//!
//! Each sending draws a [`Nonce`], which travels in the announcement of every object and manifest. A
//! receiver binds it to its own id and to the digest of what it holds. So an acknowledgement that was
//! made up, recorded in another transfer, or copied from another receiver, is told from a true one. A
//! host that listens to all of a transfer can still make one: against that only keys help.

use blake3::Hasher;
use fanfare_proto::NodeId;

use super::About;

/// 64 bits: each guess costs an acknowledgement on the network, and after a few wrong ones nobody asks
/// that node any more.
pub type Nonce = [u8; 8];
/// 128 bits of BLAKE3.
pub type Proof = [u8; 16];

/// Separates these hashes from all others.
const CONTEXT: &str = "fanfare 2026-11 receipt of a transfer";

/// What the receiver of this id says to show that it heard this transfer and holds this digest.
#[must_use]
pub fn prove(nonce: Nonce, about: About, receiver: NodeId, digest: &[u8; 32]) -> Proof {
    let mut hasher = Hasher::new_derive_key(CONTEXT);
    hasher.update(&nonce);
    hasher.update(&about.sender.to_be_bytes()).update(&about.instance.to_be_bytes());
    hasher.update(&receiver.0.to_be_bytes()).update(digest);
    let mut proof = [0; 16];
    hasher.finalize_xof().fill(&mut proof);
    proof
}

/// What a receiver signs: in which sending of whom it holds this digest, and as which node.
#[must_use]
pub fn signed(nonce: Nonce, about: About, receiver: NodeId, digest: &[u8; 32]) -> Vec<u8> {
    let mut bytes = nonce.to_vec();
    bytes.extend(about.sender.to_be_bytes());
    bytes.extend(about.instance.to_be_bytes());
    bytes.extend(receiver.0.to_be_bytes());
    bytes.extend(digest);
    bytes
}

#[cfg(test)]
mod tests {
    use fanfare_proto::InstanceId;

    use super::*;

    #[test]
    fn a_proof_is_good_for_one_transfer_one_receiver_and_what_it_holds() {
        let about = About::new(NodeId(1), InstanceId(2));
        let proof = prove([1; 8], about, NodeId(7), &[3; 32]);
        assert_eq!(proof, prove([1; 8], about, NodeId(7), &[3; 32]));
        let others = [
            prove([2; 8], about, NodeId(7), &[3; 32]),
            prove([1; 8], About::new(NodeId(1), InstanceId(3)), NodeId(7), &[3; 32]),
            prove([1; 8], about, NodeId(8), &[3; 32]),
            prove([1; 8], about, NodeId(7), &[4; 32]),
        ];
        assert!(others.iter().all(|other| *other != proof));
    }
}
