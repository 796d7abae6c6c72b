//! One node's part in a group, by MLS.

use fanfare_crypto::Key;
use mls_rs::{
    CipherSuite, CipherSuiteProvider, Client, CryptoProvider, ExtensionList, Group, MlsMessage,
    client_builder::{
        BaseConfig, WithCryptoProvider, WithGroupStateStorage, WithIdentityProvider,
        WithKeyPackageRepo,
    },
    crypto::{SignaturePublicKey, SignatureSecretKey},
    group::{CommitEffect, ReceivedMessage},
    identity::{
        SigningIdentity,
        basic::{BasicCredential, BasicIdentityProvider},
    },
};
use mls_rs_crypto_rustcrypto::RustCryptoProvider;

use crate::{
    change::{Change, Leaving, PublicId},
    fault::Fault,
    keying::{Applied, GroupKeying, MemberView},
    store::Store,
};

/// X25519, AES-128-GCM, Ed25519: what a sealed packet and an identity are made of, too.
const SUITE: CipherSuite = CipherSuite::CURVE25519_AES128;
/// What is exported for sealing (RFC 9420 8.5).
const LABEL: &[u8] = b"fanfare seal";
/// Epochs after which a farewell counts no more: who has come in again meanwhile stays.
const LEAVING_LASTS: u64 = 4;
/// Longest name.
const NAME_MAX: usize = 64;

type Config = WithIdentityProvider<
    BasicIdentityProvider,
    WithCryptoProvider<
        RustCryptoProvider,
        WithGroupStateStorage<Store, WithKeyPackageRepo<Store, BaseConfig>>,
    >,
>;

/// A node that is in a group, or is to come into one.
pub struct Member {
    pub(crate) name: String,
    pub(crate) secret: SignatureSecretKey,
    public: PublicId,
    client: Client<Config>,
    pub(crate) store: Store,
    group: Option<Group<Config>>,
    /// Who may change the group, the one that does first.
    pub(crate) controllers: Vec<PublicId>,
    pub(crate) term: u64,
}

impl std::fmt::Debug for Member {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Member {} {} in epoch {:?}", self.name, self.public, self.epoch())
    }
}

impl Member {
    /// Of no group so far. Its name tells people who it is; its key is drawn.
    ///
    /// # Errors
    /// The name is empty or too long; the system has no random bytes.
    pub fn new(name: &str) -> Result<Self, Fault> {
        let drawn = suite()?.signature_key_generate().map_err(|_| Fault::NoRandom)?;
        Self::with(name, drawn.0, Store::default())
    }

    pub(crate) fn with(
        name: &str,
        secret: SignatureSecretKey,
        store: Store,
    ) -> Result<Self, Fault> {
        if name.trim().is_empty() || name.len() > NAME_MAX {
            return Err(Fault::Malformed("name"));
        }
        let provider = RustCryptoProvider::new();
        let public = suite()?.signature_key_derive_public(&secret);
        let public = public.map_err(|_| Fault::Malformed("key"))?;
        let id = id_of(&public)?;
        let credential = BasicCredential::new(name.as_bytes().to_vec()).into_credential();
        let client = Client::builder()
            .key_package_repo(store.clone())
            .group_state_storage(store.clone())
            .crypto_provider(provider)
            .identity_provider(BasicIdentityProvider)
            .signing_identity(SigningIdentity::new(credential, public), secret.clone(), SUITE)
            .build();
        let (group, controllers) = (None, Vec::new());
        let name = name.to_owned();
        Ok(Self { name, secret, public: id, client, store, group, controllers, term: 0 })
    }

    /// The key by which it is known.
    #[must_use]
    pub fn public(&self) -> PublicId {
        self.public
    }

    /// What it calls itself.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The term that it follows.
    #[must_use]
    pub fn term(&self) -> u64 {
        self.term
    }

    /// Whether it is a member.
    #[must_use]
    pub fn is_in(&self) -> bool {
        self.group.is_some()
    }

    /// Whether it may change the group now.
    #[must_use]
    pub fn controls(&self) -> bool {
        self.is_in() && self.controllers.first() == Some(&self.public)
    }

    /// Founds a group, alone in it so far.
    ///
    /// # Errors
    /// A member already.
    pub fn found(&mut self) -> Result<(), Fault> {
        if self.is_in() {
            return Err(Fault::Member);
        }
        let group = self.client.create_group(ExtensionList::new(), ExtensionList::new(), None)?;
        self.group = Some(group);
        (self.controllers, self.term) = (vec![self.public], 1);
        self.write()
    }

    /// What somebody says who wants to come in; each time another.
    ///
    /// # Errors
    /// What MLS says.
    pub fn request(&self) -> Result<Vec<u8>, Fault> {
        let none = ExtensionList::new;
        Ok(self.client.generate_key_package_message(none(), none(), None)?.to_bytes()?)
    }

    /// Who has made a request: its name and key.
    ///
    /// # Errors
    /// It is none.
    pub fn who_asks(request: &[u8]) -> Result<(String, PublicId), Fault> {
        let message = MlsMessage::from_bytes(request).map_err(|_| Fault::Malformed("request"))?;
        let package = message.into_key_package().ok_or(Fault::Malformed("request"))?;
        let identity = package.signing_identity();
        Ok((name_of(identity), id_of(&identity.signature_key)?))
    }

    /// Comes in by a controller's welcome. What it had of a group before is forgotten.
    ///
    /// # Errors
    /// It is not for this node, or none.
    pub fn join(&mut self, change: &Change) -> Result<(), Fault> {
        let welcome = change.welcome.as_ref().ok_or(Fault::Malformed("welcome"))?;
        let welcome = MlsMessage::from_bytes(welcome).map_err(|_| Fault::Malformed("welcome"))?;
        let (group, _) = self.client.join_group(None, &welcome, None)?;
        self.group = Some(group);
        (self.controllers, self.term) = (change.controllers.clone(), change.term);
        self.write()
    }

    /// Who comes next if the controller falls silent, in their order. It is told with the next change.
    ///
    /// # Errors
    /// Only the controller may; one of them is no member.
    pub fn set_standbys(&mut self, standbys: &[PublicId]) -> Result<(), Fault> {
        if !self.controls() {
            return Err(Fault::NoController);
        }
        let members = self.members();
        if standbys.iter().any(|id| members.iter().all(|member| member.public != *id)) {
            return Err(Fault::Unknown);
        }
        let others = standbys.iter().copied().filter(|id| *id != self.public);
        self.controllers = std::iter::once(self.public).chain(others).collect();
        Ok(())
    }

    /// A standby goes on in the controller's place: a new term begins with its next change.
    ///
    /// # Errors
    /// It is no standby.
    pub fn take_over(&mut self) -> Result<(), Fault> {
        let place = self.controllers.iter().position(|id| *id == self.public);
        match place.filter(|_| self.is_in()) {
            None => Err(Fault::NoController),
            Some(0) => Ok(()),
            Some(place) => {
                self.controllers.remove(place);
                self.controllers.insert(0, self.public);
                self.term += 1;
                Ok(())
            }
        }
    }

    /// What it says to be let go.
    ///
    /// # Errors
    /// Not a member.
    pub fn leaving(&self) -> Result<Leaving, Fault> {
        let group = self.in_group()?;
        let epoch = group.current_epoch();
        let signed = Leaving::signed(self.public, epoch, group.group_id());
        let signature = suite()?.sign(&self.secret, &signed);
        let signature = signature.map_err(|_| Fault::Malformed("key"))?;
        Ok(Leaving { public: self.public, epoch, signature })
    }

    /// Whether somebody has said that itself, in this epoch or one of the last few.
    #[must_use]
    pub fn believes(&self, leaving: &Leaving) -> bool {
        let (Ok(group), Ok(suite)) = (self.in_group(), suite()) else { return false };
        let signed = Leaving::signed(leaving.public, leaving.epoch, group.group_id());
        let public = SignaturePublicKey::new_slice(&leaving.public.0);
        let recent = group.current_epoch().saturating_sub(leaving.epoch) <= LEAVING_LASTS;
        recent && suite.verify(&public, &leaving.signature, &signed).is_ok()
    }

    fn in_group(&self) -> Result<&Group<Config>, Fault> {
        self.group.as_ref().ok_or(Fault::NoMember)
    }

    fn write(&mut self) -> Result<(), Fault> {
        self.group.as_mut().ok_or(Fault::NoMember)?.write_to_storage()?;
        Ok(())
    }

    /// Back to what was written last.
    pub(crate) fn reload(&mut self) -> Result<(), Fault> {
        self.group = match self.store.group() {
            Some((id, _)) => Some(self.client.load_group(&id)?),
            None => None,
        };
        Ok(())
    }

    fn forget_group(&mut self) {
        self.group = None;
        self.store.set_group(None);
        self.controllers.clear();
    }

    fn build(&mut self, joining: &[Vec<u8>], leaving: &[u32]) -> Result<Change, Fault> {
        let (term, controllers) = (self.term, self.controllers.clone());
        let signed = Change::signed(term, &controllers);
        let group = self.group.as_mut().ok_or(Fault::NoMember)?;
        let from = group.current_epoch();
        let mut builder = group.commit_builder().authenticated_data(signed);
        for index in leaving {
            builder = builder.remove_member(*index)?;
        }
        for request in joining {
            let message = MlsMessage::from_bytes(request);
            builder = builder.add_member(message.map_err(|_| Fault::Malformed("request"))?)?;
        }
        let output = builder.build()?;
        let commit = output.commit_message.to_bytes()?;
        let welcome = output.welcome_messages.first().map(MlsMessage::to_bytes).transpose()?;
        group.apply_pending_commit()?;
        Ok(Change { from, term, controllers, commit, welcome })
    }

    /// The new epoch may hold only when a controller of this or a later term has made it.
    fn check(
        &self,
        committer: Option<PublicId>,
        signed: &[u8],
    ) -> Result<(u64, Vec<PublicId>), Fault> {
        let (term, controllers) = Change::read_signed(signed)?;
        let committer = committer.filter(|id| self.controllers.contains(id));
        let committer = committer.ok_or(Fault::NoController)?;
        if controllers.first() != Some(&committer) {
            return Err(Fault::NoController);
        }
        let first = self.controllers.first() == Some(&committer);
        match (term > self.term) || (first && term == self.term) {
            true => Ok((term, controllers)),
            false => Err(Fault::OldTerm),
        }
    }
}

impl GroupKeying for Member {
    fn members(&self) -> Vec<MemberView> {
        let Some(group) = &self.group else { return Vec::new() };
        let view = |identity: &SigningIdentity| {
            let public = id_of(&identity.signature_key).ok()?;
            let controls = self.controllers.iter().position(|id| *id == public);
            Some(MemberView { name: name_of(identity), public, controls })
        };
        let members = group.roster().members_iter();
        members.filter_map(|member| view(&member.signing_identity)).collect()
    }

    fn epoch(&self) -> Option<u64> {
        self.group.as_ref().map(Group::current_epoch)
    }

    fn key(&self) -> Result<Key, Fault> {
        let group = self.in_group()?;
        let secret = group.export_secret(LABEL, &[], 32)?;
        let secret: [u8; 32] =
            secret.as_bytes().try_into().map_err(|_| Fault::Malformed("secret"))?;
        Ok(Key::from_secret(secret, group.current_epoch() as u32))
    }

    fn change(&mut self, joining: &[Vec<u8>], leaving: &[PublicId]) -> Result<Change, Fault> {
        if !self.controls() {
            return Err(Fault::NoController);
        }
        let roster = self.in_group()?.roster().members();
        let index = |id: &PublicId| {
            let same = |member: &&mls_rs::group::Member| {
                id_of(&member.signing_identity.signature_key).as_ref() == Ok(id)
            };
            roster.iter().find(same).map(|member| member.index).ok_or(Fault::Unknown)
        };
        if leaving.contains(&self.public) {
            return Err(Fault::Malformed("list: a controller cannot remove itself"));
        }
        let leaving_at = leaving.iter().map(index).collect::<Result<Vec<u32>, Fault>>()?;
        let before = self.controllers.clone();
        self.controllers.retain(|id| !leaving.contains(id));
        match self.build(joining, &leaving_at) {
            Ok(change) => {
                self.write()?;
                Ok(change)
            }
            Err(fault) => {
                self.controllers = before;
                self.reload()?;
                Err(fault)
            }
        }
    }

    fn apply(&mut self, change: &Change) -> Result<Applied, Fault> {
        let group = self.group.as_mut().ok_or(Fault::NoMember)?;
        let ours = group.current_epoch();
        if change.from < ours {
            return Ok(Applied::Already);
        }
        if change.from > ours {
            return Err(Fault::OtherEpoch { from: change.from, ours });
        }
        let keys: Vec<(u32, PublicId)> = group
            .roster()
            .members_iter()
            .filter_map(|m| Some((m.index, id_of(&m.signing_identity.signature_key).ok()?)))
            .collect();
        let commit =
            MlsMessage::from_bytes(&change.commit).map_err(|_| Fault::Malformed("commit"))?;
        let received = group.process_incoming_message(commit);
        let described = match received {
            Ok(ReceivedMessage::Commit(described)) => described,
            Ok(_) => return Err(Fault::Malformed("commit")),
            Err(error) => {
                self.reload()?;
                return Err(error.into());
            }
        };
        let committer = keys.iter().find(|(index, _)| *index == described.committer);
        let committer = committer.map(|(_, id)| *id).filter(|_| !described.is_external);
        match self.check(committer, &described.authenticated_data) {
            Err(fault) => {
                self.reload()?;
                Err(fault)
            }
            Ok(_) if matches!(described.effect, CommitEffect::Removed { .. }) => {
                self.forget_group();
                Ok(Applied::Removed)
            }
            Ok((term, controllers)) => {
                (self.term, self.controllers) = (term, controllers);
                self.write()?;
                Ok(Applied::Epoch(ours + 1))
            }
        }
    }
}

fn suite() -> Result<impl CipherSuiteProvider, Fault> {
    let suite = RustCryptoProvider::new().cipher_suite_provider(SUITE);
    suite.ok_or(Fault::Malformed("cipher suite"))
}

fn id_of(public: &SignaturePublicKey) -> Result<PublicId, Fault> {
    public.as_ref().try_into().map(PublicId).map_err(|_| Fault::Malformed("public key"))
}

fn name_of(identity: &SigningIdentity) -> String {
    let basic = identity.credential.as_basic();
    let name = basic.map(|basic| String::from_utf8_lossy(&basic.identifier).into_owned());
    // Others have written it: nothing that moves a terminal's cursor is shown.
    name.unwrap_or_default().chars().filter(|letter| !letter.is_control()).collect()
}
