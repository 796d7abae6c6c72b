//! Receipts that are verified later: what a receiver has signed that it holds.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use crate::json::{Line, SignedLine, VerifiedLine, bytes_of_hex};
use crate::{Exit, Failure, Help, Output, OutputArgs};
use clap::{Args, Subcommand};
use fanfare_files::receipt::{About, Holdings, proof};
use fanfare_node::{
    proto::{InstanceId, NodeId},
    seal::{PublicKey, Purpose, Trusted},
};

use super::trust;

const HELP: Help = Help::new(&[
    ("fanfare send disk.img --sign --receipts r.jsonl", "receipts that are signed"),
    ("fanfare receipts verify r.jsonl --trust hosts", "whether they are right"),
])
.exits(&[
    (Exit::Done, "all are right"),
    (Exit::Failed, "one is wrong, or not signed"),
    (Exit::Permission, "a key is not known or was revoked"),
]);

const VERIFY: Help = Help::new(&[
    ("fanfare receipts verify r.jsonl", "whether each is signed, and by which key"),
    ("fanfare receipts verify r.jsonl --trust hosts", "and whether the key is believed"),
])
.exits(HELP.exits)
.files(&[("FILE", "what 'fanfare send --receipts FILE' has written")]);

/// Verify receipts that 'fanfare send --receipts' has written
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub struct ReceiptsArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Verify(VerifyArgs),
}

/// Check the signatures of receipts
#[derive(Debug, Args)]
#[command(after_help = VERIFY.short(), after_long_help = VERIFY.long())]
struct VerifyArgs {
    /// The file that 'fanfare send --receipts' has written
    file: PathBuf,
    /// List of names and keys that are believed; without it keys are shown
    #[arg(long, value_name = "FILE")]
    trust: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Verifies them.
pub fn run(args: &ReceiptsArgs) -> Exit {
    let What::Verify(args) = &args.what;
    let output = Output::new(args.output);
    let done = args.trust.as_deref().map(trust::read).transpose().and_then(|trusted| {
        let text = read(&args.file)?;
        verify(&text, trusted.as_ref(), &mut |line| tell(&line, &output))
    });
    match done {
        Ok(()) => {
            output.event(&Line::early_result(Exit::Done as u8));
            Exit::Done
        }
        Err(failure) => crate::give_up(&output, &failure),
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| {
        let text =
            format!("receipts ({}): cannot be read ({error}). Check the path", path.display());
        Failure::new(Exit::Usage, "receipts.unreadable", text)
    })
}

fn tell(line: &VerifiedLine, output: &Output) {
    output.data(&shown(line));
    output.event(&Line::Verified(line.clone()));
}

/// Shows what is signed, for people. Names of files, sizes and times are not signed, and not shown.
fn shown(line: &VerifiedLine) -> String {
    let VerifiedLine { line, result, id, object, hash, sender, instance, key, name } = line;
    let who = name.as_ref().map_or_else(String::new, |name| format!(" {name},"));
    let of = sender.zip(*instance).map_or_else(String::new, |(sender, instance)| {
        format!(" of sender {sender:08x}, life {instance}")
    });
    let by = key.as_ref().map_or_else(String::new, |key| format!(", signed by {key}"));
    format!(
        "{result:<12} line {line}:{who} receiver {id:08x} has object {object}{of}, hash {hash}{by}"
    )
}

/// What one receiver has signed, if its signature is right.
struct Word {
    key: PublicKey,
    sender: u32,
    instance: u16,
    objects: BTreeMap<u16, String>,
}

impl Word {
    fn of(line: &SignedLine) -> Option<Self> {
        let key: PublicKey = line.key.parse().ok()?;
        let (nonce, signature) = (bytes_of_hex(&line.nonce)?, bytes_of_hex(&line.signature)?);
        let mut holdings = Holdings::default();
        for (n, (id, hash)) in line.objects.iter().enumerate() {
            // The digest has the low 16 bits; each has a place of its own.
            holdings.insert_at((n as u64) << 16 | u64::from(*id), bytes_of_hex(hash)?);
        }
        let about = About::new(NodeId(line.sender), InstanceId(line.instance));
        let signed = proof::signed(nonce, about, NodeId(line.id), &holdings.digest());
        let objects = line.objects.iter().cloned().collect();
        key.verifies(Purpose::Receipt, &signed, &signature).then_some(Self {
            key,
            sender: line.sender,
            instance: line.instance,
            objects,
        })
    }
}

/// Each receipt against the signature of its receiver that stands ahead of it.
fn verify(
    text: &str,
    trusted: Option<&Trusted>,
    tell: &mut dyn FnMut(VerifiedLine),
) -> Result<(), Failure> {
    let mut words: BTreeMap<u32, Word> = BTreeMap::new();
    let (mut all, mut wrong, mut unknown) = (0u64, 0u64, 0u64);
    for (line, number) in text.lines().zip(1..) {
        match serde_json::from_str(line) {
            Ok(Line::Signed(line)) => {
                match Word::of(&line) {
                    Some(word) => drop(words.insert(line.id, word)),
                    None => drop(words.remove(&line.id)),
                };
            }
            Ok(Line::Receipt(receipt)) => {
                all += 1;
                let word = words.get(&receipt.id);
                let holds = word
                    .is_some_and(|word| word.objects.get(&receipt.object) == Some(&receipt.hash));
                let name = receipt.name.clone().unwrap_or_default();
                let believed =
                    |word: &Word| trusted.is_none_or(|trusted| trusted.believes(&name, &word.key));
                let result = match word {
                    None => "not signed",
                    Some(_) if !holds => "wrong",
                    Some(word) if !believed(word) => "unknown key",
                    Some(_) => "right",
                };
                wrong += u64::from(!holds);
                unknown += u64::from(result == "unknown key");
                // A name is a claim of the line, unless the list says that it has this key.
                let is_listed = trusted.is_some() && result == "right";
                tell(VerifiedLine {
                    line: number,
                    result: result.to_owned(),
                    id: receipt.id,
                    object: receipt.object,
                    hash: receipt.hash,
                    sender: word.map(|word| word.sender),
                    instance: word.map(|word| word.instance),
                    key: word.map(|word| word.key.to_string()),
                    name: receipt.name.filter(|_| is_listed),
                });
            }
            _ => {}
        }
    }
    let failure = |exit, code, what: &str, count: u64| {
        let text = format!("receipts ({count} of {all}): {what}");
        Err(Failure::new(exit, code, text))
    };
    if all == 0 {
        return failure(Exit::Failed, "receipts.none", "there is none in this file", 0);
    }
    if wrong > 0 {
        return failure(Exit::Failed, "receipts.wrong", "are wrong or not signed", wrong);
    }
    if unknown > 0 {
        let what = "their key is not in the list for that name, or was revoked";
        return failure(Exit::Permission, "receipts.unknown_key", what, unknown);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use fanfare_node::seal::{Identity, trust::Entry};

    use super::*;

    const HASH: &str = "0707070707070707070707070707070707070707070707070707070707070707";

    /// What a sender writes: a signature and two receipts.
    fn written(identity: &Identity) -> String {
        let mut holdings = Holdings::default();
        holdings.insert_at(0, [7; 32]);
        holdings.insert_at(1, [7; 32]);
        let about = About::new(NodeId(9), InstanceId(3));
        let signed = proof::signed([1; 8], about, NodeId(4660), &holdings.digest());
        let signature = identity.sign(Purpose::Receipt, &signed);
        let signature: String = signature.iter().map(|byte| format!("{byte:02x}")).collect();
        let key = identity.public();
        let of = |object| {
            format!(
                "{{\"event\":\"receipt\",\"id\":4660,\"name\":\"host-7\",\"object\":{object},\"file\":\
                 \"f\",\"hash\":\"{HASH}\",\"bytes\":1,\"seconds\":1.0}}\n"
            )
        };
        format!(
            "{{\"event\":\"signed\",\"id\":4660,\"name\":\"host-7\",\"key\":\"{key}\",\"signature\":\
             \"{signature}\",\"nonce\":\"0101010101010101\",\"sender\":9,\"instance\":3,\"objects\":\
             [[0,\"{HASH}\"],[1,\"{HASH}\"]]}}\n{}{}",
            of(0),
            of(1)
        )
    }

    fn code(text: &str, trusted: Option<&Trusted>) -> &'static str {
        verify(text, trusted, &mut |_| {}).map_or_else(|failure| failure.code, |()| "right")
    }

    #[test]
    fn receipts_are_right_only_as_they_were_signed() {
        let text = written(&Identity::from_seed([1; 32]));
        assert_eq!(code(&text, None), "right");
        let unsigned: String = text.lines().skip(1).map(|line| format!("{line}\n")).collect();
        assert_eq!(code(&unsigned, None), "receipts.wrong");
        assert_eq!(code("", None), "receipts.none");
        // Whatever is changed of a signature or of what was signed.
        for (was, is) in [
            ("\"id\":4660", "\"id\":4661"),
            ("0101010101010101", "0101010101010102"),
            ("\"sender\":9", "\"sender\":8"),
            ("\"instance\":3", "\"instance\":4"),
            ("[1,\"0707", "[1,\"0708"),
            ("\"object\":1,\"file\"", "\"object\":2,\"file\""),
            ("\"hash\":\"0707", "\"hash\":\"0807"),
        ] {
            assert!(text.contains(was), "{was}");
            assert_eq!(code(&text.replacen(was, is, 1), None), "receipts.wrong", "{was}");
        }
    }

    /// Output about a file of receipts, for people and as JSON.
    fn told(text: &str, trusted: Option<&Trusted>) -> Vec<(String, String)> {
        let mut all = Vec::new();
        let _ = verify(text, trusted, &mut |line| {
            all.push((line.result.clone(), format!("{} {line:?}", shown(&line))));
        });
        all
    }

    /// The line with another value in this field.
    fn changed(line: &serde_json::Value, field: &str) -> serde_json::Value {
        use serde_json::Value;
        let mut other = line.clone();
        other[field] = match &line[field] {
            Value::Number(number) if number.is_f64() => 77.5.into(),
            Value::Number(number) => (number.as_u64().unwrap() ^ 0x4d).into(),
            Value::String(text) => {
                let last = if text.ends_with('0') { '1' } else { '0' };
                format!("{}{last}", &text[..text.len() - 1]).into()
            }
            Value::Array(pairs) => {
                let mut pairs = pairs.clone();
                pairs.reverse();
                pairs.into()
            }
            other => panic!("{other}"),
        };
        other
    }

    #[test]
    fn a_changed_field_of_a_line_makes_it_fail_or_is_not_shown() {
        let identity = Identity::from_seed([1; 32]);
        let text = written(&identity);
        let mut trusted = Trusted::default();
        let entry = Entry { name: "host-7".to_owned(), key: identity.public(), revoked: false };
        trusted.add(entry).unwrap();
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let mut unsigned = Vec::new();
        for trusted in [None, Some(&trusted)] {
            let before = told(&text, trusted);
            assert!(before.iter().all(|(result, _)| result == "right"), "{before:?}");
            for (place, line) in lines.iter().enumerate() {
                for field in line.as_object().unwrap().keys().filter(|field| *field != "event") {
                    let mut all = lines.clone();
                    all[place] = changed(line, field);
                    assert_ne!(all[place], lines[place], "{field}");
                    let text: String = all.iter().map(|line| format!("{line}\n")).collect();
                    let after = told(&text, trusted);
                    let fails = after.iter().any(|(result, _)| result != "right");
                    // What passes looks as it did: nothing that was changed is shown.
                    assert!(fails || after == before, "{field}: {after:?}");
                    if !fails {
                        unsigned.push(field.clone());
                    }
                }
            }
        }
        unsigned.sort();
        unsigned.dedup();
        assert_eq!(unsigned, ["bytes", "file", "name", "objects", "seconds"]);
    }

    #[test]
    fn keys_that_are_not_known_or_revoked_are_told_apart() {
        let identity = Identity::from_seed([1; 32]);
        let text = written(&identity);
        let list = |name: &str, revoked| {
            let mut trusted = Trusted::default();
            let (name, key) = (name.to_owned(), identity.public());
            trusted.add(Entry { name, key, revoked }).unwrap();
            trusted
        };
        assert_eq!(code(&text, Some(&list("host-7", false))), "right");
        assert_eq!(code(&text, Some(&list("host-8", false))), "receipts.unknown_key");
        assert_eq!(code(&text, Some(&list("host-7", true))), "receipts.unknown_key");
    }
}
