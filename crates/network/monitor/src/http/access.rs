//! Who may ask: requests must name this host, and off loopback they must bring the token.
//!
//! A page of another site can make a browser ask a server on loopback (DNS rebinding). Such a request
//! carries the other site's name, and is refused.

use std::{
    net::{IpAddr, SocketAddr},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::request::Request;

/// More wrong tokens than these in a minute, and none is looked at.
const TRIES_MAX: usize = 10;
const TRIES_SPAN: Duration = Duration::from_secs(60);
/// Fewer characters can be guessed.
pub(super) const TOKEN_MIN: usize = 32;
const COOKIE: &str = "fanfare-watch";
/// What a browser keeps is not the token itself.
const COOKIE_CONTEXT: &str = "fanfare-watch 2026 cookie of a browser that has shown the token";

/// Who may ask.
#[derive(Debug, Default)]
pub struct Access {
    /// By this name a proxy in front of the server asks.
    name: Option<String>,
    token: Option<String>,
    failures: Mutex<Vec<Instant>>,
}

/// What becomes of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Welcome,
    /// It names another host.
    WrongHost,
    /// It has no token, or a wrong one.
    NoToken,
    TooManyTries,
}

impl Access {
    /// Everybody on this machine.
    #[must_use]
    pub fn local() -> Self {
        Self::default()
    }

    /// Who brings this token, through a proxy that is reached by this name.
    #[must_use]
    pub fn by_token(token: String, name: Option<String>) -> Self {
        Self { name, token: Some(token), ..Self::default() }
    }

    /// Whether this is enough protection for a server at `address`; else why not.
    pub(super) fn suits(&self, address: SocketAddr) -> Result<(), &'static str> {
        match (&self.token, &self.name) {
            _ if address.ip().is_loopback() && self.token.is_none() => Ok(()),
            (None, _) => Err("others can reach this address: a token is needed"),
            (Some(token), _) if token.len() < TOKEN_MIN => {
                Err("the token is too short: 32 characters are needed")
            }
            (Some(_), None) if !address.ip().is_loopback() => {
                Err("nothing is encrypted here: a proxy with TLS is needed in front of it")
            }
            _ => Ok(()),
        }
    }

    pub(super) fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// Whether the request may have what it asks for.
    pub(super) fn check(&self, request: &Request, now: Instant) -> Verdict {
        if !self.is_own_host(request) {
            return Verdict::WrongHost;
        }
        let Some(token) = &self.token else { return Verdict::Welcome };
        let bearer = request.header("authorization").and_then(|text| text.strip_prefix("Bearer "));
        let shown = match bearer {
            Some(given) => Some(same(given, token)),
            None => cookie(request).map(|given| same(given, &cookie_value(token))),
        };
        self.judge(shown, now)
    }

    /// The token of a form; then what the browser keeps.
    pub(super) fn login(&self, request: &Request, now: Instant) -> Result<String, Verdict> {
        if !self.is_own_host(request) || !self.is_own_origin(request) {
            return Err(Verdict::WrongHost);
        }
        let Some(token) = &self.token else { return Err(Verdict::NoToken) };
        let given = decoded(request.body.strip_prefix("token=").unwrap_or_default());
        match self.judge(Some(same(&given, token)), now) {
            // The proxy speaks TLS: then the cookie stays there, too.
            Verdict::Welcome => {
                let secure = if self.name.is_some() { "; Secure" } else { "" };
                let value = cookie_value(token);
                Ok(format!("{COOKIE}={value}; Path=/; HttpOnly; SameSite=Strict{secure}"))
            }
            verdict => Err(verdict),
        }
    }

    /// `shown`: whether what was shown is right; nothing shown is no try.
    fn judge(&self, shown: Option<bool>, now: Instant) -> Verdict {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.retain(|at| now.duration_since(*at) < TRIES_SPAN);
        match shown {
            _ if failures.len() >= TRIES_MAX => Verdict::TooManyTries,
            Some(true) => Verdict::Welcome,
            Some(false) => {
                failures.push(now);
                Verdict::NoToken
            }
            None => Verdict::NoToken,
        }
    }

    /// True if it names this machine, or the name of the proxy.
    pub(super) fn is_own_host(&self, request: &Request) -> bool {
        request.header("host").is_some_and(|host| self.is_own_name(host))
    }

    /// A page elsewhere cannot fill in the form.
    fn is_own_origin(&self, request: &Request) -> bool {
        let Some(origin) = request.header("origin") else { return true };
        let host = origin.split_once("://").map_or("", |(_, host)| host);
        self.is_own_name(host)
    }

    /// A loopback address, `localhost` or the name that was given, with or without a port.
    fn is_own_name(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => name,
            _ => host,
        };
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
            || bare.eq_ignore_ascii_case("localhost")
            || self.name.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(bare))
    }
}

fn cookie(request: &Request) -> Option<&str> {
    let each = request.header("cookie")?.split(';');
    each.filter_map(|one| one.trim().split_once('=')).find(|(name, _)| *name == COOKIE).map(|c| c.1)
}

/// What a form has encoded: + is a space, and %2B a plus.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = after.first_chunk().and_then(|two: &[u8; 2]| std::str::from_utf8(two).ok());
        let hex = hex.and_then(|two| u8::from_str_radix(two, 16).ok());
        match (first, hex) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
                continue;
            }
            (b'+', _) => bytes.push(b' '),
            _ => bytes.push(first),
        }
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn cookie_value(token: &str) -> String {
    blake3::Hash::from(blake3::derive_key(COOKIE_CONTEXT, token.as_bytes())).to_hex().to_string()
}

/// The time that it takes tells nothing.
fn same(given: &str, expected: &str) -> bool {
    blake3::hash(given.as_bytes()) == blake3::hash(expected.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef0123456789abcdef";

    fn request(headers: &[&str], body: &str) -> Request {
        let length = body.len();
        let lines: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
        let text = format!("GET / HTTP/1.1\r\n{lines}Content-Length: {length}\r\n\r\n{body}");
        Request::read(&mut text.as_bytes()).unwrap()
    }

    #[test]
    fn only_names_of_this_host_are_answered() {
        let access = Access::by_token(TOKEN.to_owned(), Some("watch.example.org".to_owned()));
        for own in [
            "127.0.0.1",
            "127.0.0.1:7979",
            "[::1]:7979",
            "localhost",
            "LocalHost:1",
            "watch.example.org:443",
        ] {
            assert!(access.is_own_name(own), "{own}");
        }
        for other in [
            "127.0.0.1.evil.example",
            "evil.example:7979",
            "",
            ":7979",
            "localhost.evil.example",
            "10.0.0.1",
        ] {
            assert!(!access.is_own_name(other), "{other}");
        }
        assert_eq!(access.check(&request(&[], ""), Instant::now()), Verdict::WrongHost);
    }

    #[test]
    fn on_loopback_no_token_is_asked_for() {
        let access = Access::local();
        assert_eq!(
            access.check(&request(&["Host: localhost:1"], ""), Instant::now()),
            Verdict::Welcome
        );
        assert!(access.suits(([127, 0, 0, 1], 1).into()).is_ok());
        assert!(access.suits(([0, 0, 0, 0], 1).into()).is_err());
    }

    #[test]
    fn where_others_reach_it_a_token_and_a_proxy_are_needed() {
        let anywhere = SocketAddr::from(([0, 0, 0, 0], 1));
        let name = || Some("watch.example.org".to_owned());
        assert!(Access::by_token(TOKEN.to_owned(), None).suits(anywhere).is_err());
        assert!(Access::by_token("short".to_owned(), name()).suits(anywhere).is_err());
        assert!(Access::by_token(TOKEN.to_owned(), name()).suits(anywhere).is_ok());
    }

    #[test]
    fn a_token_is_taken_as_a_header_or_as_the_cookie_that_the_form_gave() {
        let access = Access::by_token(TOKEN.to_owned(), None);
        let now = Instant::now();
        let host = "Host: localhost";
        assert_eq!(access.check(&request(&[host], ""), now), Verdict::NoToken);
        let bearer = format!("Authorization: Bearer {TOKEN}");
        assert_eq!(access.check(&request(&[host, &bearer], ""), now), Verdict::Welcome);
        let kept = access.login(&request(&[host], &format!("token={TOKEN}")), now).unwrap();
        assert!(!kept.contains(TOKEN), "{kept}");
        let cookie = format!("Cookie: a=b; {}", kept.split(';').next().unwrap());
        assert_eq!(access.check(&request(&[host, &cookie], ""), now), Verdict::Welcome);
    }

    #[test]
    fn a_token_is_read_as_forms_encode_it() {
        assert_eq!(decoded("a%2Bb%2f%3D+c"), "a+b/= c");
        assert_eq!(decoded("%"), "%");
        assert_eq!(decoded("%zz%4"), "%zz%4");
        let token = "0123456789abcdef/0123456789+cdef=";
        let access = Access::by_token(token.to_owned(), None);
        let encoded = token.replace('/', "%2F").replace('+', "%2B").replace('=', "%3D");
        let asked = request(&["Host: localhost"], &format!("token={encoded}"));
        assert!(access.login(&asked, Instant::now()).is_ok());
    }

    #[test]
    fn a_form_of_another_site_is_refused() {
        let access = Access::by_token(TOKEN.to_owned(), None);
        let body = format!("token={TOKEN}");
        let asked = request(&["Host: localhost", "Origin: https://evil.example"], &body);
        assert_eq!(access.login(&asked, Instant::now()), Err(Verdict::WrongHost));
    }

    #[test]
    fn after_ten_wrong_tokens_none_is_looked_at_for_a_minute() {
        let access = Access::by_token(TOKEN.to_owned(), None);
        let now = Instant::now();
        let wrong = request(&["Host: localhost", "Authorization: Bearer no"], "");
        let right = format!("Authorization: Bearer {TOKEN}");
        let right = request(&["Host: localhost", &right], "");
        (0..TRIES_MAX).for_each(|_| assert_eq!(access.check(&wrong, now), Verdict::NoToken));
        assert_eq!(access.check(&right, now), Verdict::TooManyTries);
        assert_eq!(access.check(&right, now + TRIES_SPAN), Verdict::Welcome);
    }
}
