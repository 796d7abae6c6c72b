//! What each path answers.

use std::{
    sync::Arc,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use super::{
    access::{Access, Verdict},
    request::Request,
    response::{Response, Status},
};
use crate::{Board, assets, exposition};

/// What is served, and to whom.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) access: Access,
    pub(super) board: Arc<Board>,
    /// Pages of another program in place of the live page.
    pub(super) pages: Option<Arc<dyn Pages>>,
}

/// What another program serves, to whoever may ask.
pub trait Pages: std::fmt::Debug + Send + Sync {
    /// What a path names; `None`: there is nothing of this name.
    fn find(&self, path: &str) -> Option<PageFile>;

    /// True if pages of this origin (`https://example.org`), which a browser names, may read what is served.
    /// Default no: any page that somebody has open could.
    fn allows(&self, _origin: &str) -> bool {
        false
    }
}

/// A file that is served.
#[derive(Debug, Clone)]
pub struct PageFile {
    /// Its media type.
    pub kind: &'static str,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// How a request is answered.
pub(super) enum Answer {
    Whole(Response),
    /// With events, as they come.
    Stream,
}

/// Of the text format of Prometheus.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";
const JSON: &str = "application/json";
const FORM: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
    <meta name=\"viewport\" content=\"width=device-width\"><title>Fanfare</title>\
    <link rel=\"stylesheet\" href=\"/page.css\"><main class=\"login\"><h1>Fanfare</h1>\
    <form method=\"post\" action=\"/login\"><label>Token <input type=\"password\" name=\"token\" \
    autocomplete=\"current-password\" required autofocus></label> <button>Show</button></form></main></html>";

impl Site {
    pub(super) fn answer(&self, request: &Request) -> Answer {
        let allowed = self.allowed(request);
        if let (Some(allowed), "OPTIONS") = (&allowed, &*request.method) {
            return Answer::Whole(Response {
                more: allowed.clone(),
                ..Response::new("text/plain", "")
            });
        }
        match (self.answer_own(request), allowed) {
            (Answer::Whole(mut response), Some(allowed)) => {
                response.more.extend(allowed);
                Answer::Whole(response)
            }
            (answer, _) => answer,
        }
    }

    /// Header that tells a browser that a page of another origin may read the answer (Fetch standard, CORS), if it
    /// may. A page from the internet asks before whether it may read from this machine (Private Network Access).
    fn allowed(&self, request: &Request) -> Option<Vec<String>> {
        let origin = request.header("origin")?;
        // It goes into a line of the answer.
        let is_plain = origin.bytes().all(|byte| byte.is_ascii_graphic());
        let may = self.access.is_own_host(request) && self.pages.as_ref()?.allows(origin);
        (is_plain && may).then(|| {
            vec![
                format!("Access-Control-Allow-Origin: {origin}"),
                "Access-Control-Allow-Methods: GET, HEAD".to_owned(),
                "Access-Control-Allow-Headers: Range".to_owned(),
                "Access-Control-Expose-Headers: Content-Length, Date".to_owned(),
                "Access-Control-Allow-Private-Network: true".to_owned(),
                "Vary: Origin".to_owned(),
            ]
        })
    }

    fn answer_own(&self, request: &Request) -> Answer {
        let now = Instant::now();
        if request.method == "POST" && request.path == "/login" {
            return Answer::Whole(self.login(request, now));
        }
        let verdict = self.access.check(request, now);
        if !matches!(&*request.method, "GET" | "HEAD") {
            let why = "this page only shows: GET and HEAD are answered";
            return Answer::Whole(Response::refused(Status::WrongMethod, why));
        }
        // The form has a style, and needs no token for it.
        let is_open = request.path == "/page.css";
        match verdict {
            Verdict::Welcome => {}
            Verdict::NoToken if is_open => {}
            Verdict::NoToken if request.path == "/" => {
                return Answer::Whole(Response::new("text/html; charset=utf-8", FORM));
            }
            verdict => return Answer::Whole(refusal(&verdict)),
        }
        self.page(request)
    }

    fn page(&self, request: &Request) -> Answer {
        if let Some(pages) = &self.pages {
            return Answer::Whole(match pages.find(&request.path) {
                Some(PageFile { kind, bytes }) => Response::new(kind, bytes),
                None => Response::refused(Status::NotFound, "there is nothing of this name"),
            });
        }
        Answer::Whole(match &*request.path {
            "/api/stream" if request.method == "GET" => return Answer::Stream,
            "/api/state" => Response::new(JSON, self.board.now().document.to_string()),
            "/metrics" => {
                let text = exposition::text(&self.board.now().document);
                Response::new(METRICS, text)
            }
            "/healthz" => Response::new(JSON, exposition::health(&self.board.now().document)),
            "/api/past" => match request.asked("at") {
                None => Response::new(JSON, self.board.past().times()),
                Some(at) => self.past(at),
            },
            "/api/history" => self.history(request),
            path => match assets::find(path) {
                Some(asset) => Response {
                    more: asset.encoding().map(str::to_owned).into_iter().collect(),
                    ..Response::new(asset.kind, asset.bytes)
                },
                None => Response::refused(Status::NotFound, "there is nothing of this name"),
            },
        })
    }

    fn past(&self, at: &str) -> Response {
        let found = at.parse().ok().filter(|at: &f64| at.is_finite());
        match found.map(|at| self.board.past().at(at)) {
            Some(Some(document)) => Response::new(JSON, document),
            Some(None) => Response::refused(Status::NotFound, "nothing was kept yet"),
            None => Response::refused(Status::BadRequest, "at: not a number of seconds"),
        }
    }

    /// Numbers of the last `last` seconds (an hour if nothing is said), of names that begin with `series`.
    fn history(&self, request: &Request) -> Response {
        let Ok(last) = request.asked("last").unwrap_or("3600").parse::<u64>() else {
            return Response::refused(Status::BadRequest, "last: not a number of seconds");
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let prefix = request.asked("series").map(unescaped).unwrap_or_default();
        match self.board.past().history(now.saturating_sub(last), now, &prefix) {
            Some(points) => Response::new(JSON, points),
            None => Response::refused(Status::NotFound, "no history is kept: --monitor-history"),
        }
    }

    fn login(&self, request: &Request, now: Instant) -> Response {
        match self.access.login(request, now) {
            Ok(cookie) => Response {
                status: Status::SeeOther,
                more: vec![format!("Set-Cookie: {cookie}"), "Location: /".to_owned()],
                ..Response::new("text/plain", "")
            },
            Err(_) if !self.access.has_token() => {
                Response::refused(Status::NotFound, "no token is needed here")
            }
            Err(verdict) => refusal(&verdict),
        }
    }
}

/// Without the escapes of a query; what is broken stays as it is.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let escaped = match rest {
            [b'%', high, low, ..] => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16);
                digit(high).zip(digit(low)).map(|(high, low)| (high * 16 + low) as u8)
            }
            _ => None,
        };
        bytes.push(escaped.unwrap_or(if *first == b'+' { b' ' } else { *first }));
        rest = if escaped.is_some() { &rest[3..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn refusal(verdict: &Verdict) -> Response {
    match verdict {
        Verdict::WrongHost => {
            Response::refused(Status::WrongHost, "this server does not have this name")
        }
        Verdict::TooManyTries => {
            Response::refused(Status::TooManyTries, "too many wrong tokens: wait a minute")
        }
        Verdict::NoToken => Response::refused(Status::Unauthorized, "a token is needed"),
        Verdict::Welcome => Response::refused(Status::Forbidden, "not here"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ask(line: &str, headers: &str) -> (Status, Vec<u8>) {
        let board = Arc::new(Board::new(json!({"kind": "send", "phase": "sending"})));
        let site = Site { access: Access::local(), board, pages: None };
        let text = format!("{line} HTTP/1.1\r\n{headers}\r\n");
        match site.answer(&Request::read(&mut text.as_bytes()).unwrap()) {
            Answer::Whole(response) => (response.status, response.body),
            Answer::Stream => (Status::Fine, b"stream".to_vec()),
        }
    }

    fn status(line: &str) -> Status {
        ask(line, "Host: localhost\r\n").0
    }

    #[test]
    fn each_path_has_its_answer_and_others_have_none() {
        for path in
            ["/", "/page.js", "/page.css", "/api/state", "/api/stream", "/metrics", "/healthz"]
        {
            assert_eq!(status(&format!("GET {path}")), Status::Fine, "{path}");
        }
        for path in ["/..", "/../Cargo.toml", "/%2e%2e/x", "/page.js/", "/login"] {
            assert_eq!(status(&format!("GET {path}")), Status::NotFound, "{path}");
        }
    }

    #[test]
    fn nothing_can_be_changed() {
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "get"] {
            assert_eq!(status(&format!("{method} /")), Status::WrongMethod, "{method}");
        }
    }

    #[test]
    fn a_request_for_another_host_is_refused_whatever_it_asks_for() {
        for path in ["/", "/page.css", "/api/state", "/api/stream", "/metrics"] {
            let (status, _) = ask(&format!("GET {path}"), "Host: evil.example\r\n");
            assert_eq!(status, Status::WrongHost, "{path}");
        }
    }

    /// One file, for pages of one other origin.
    #[derive(Debug)]
    struct Film;

    impl Pages for Film {
        fn find(&self, path: &str) -> Option<PageFile> {
            (path == "/film").then(|| PageFile { kind: "video/mp4", bytes: vec![7] })
        }

        fn allows(&self, origin: &str) -> bool {
            origin == "https://stage.example"
        }
    }

    #[test]
    fn a_page_of_an_origin_that_is_allowed_may_read_films_and_one_of_another_may_not() {
        let board = Arc::new(Board::new(json!({})));
        let site = Site { access: Access::local(), board, pages: Some(Arc::new(Film)) };
        let ask = |line: &str, host: &str, origin: &str| {
            let text = format!("{line} HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\n\r\n");
            let Answer::Whole(response) =
                site.answer(&Request::read(&mut text.as_bytes()).unwrap())
            else {
                panic!("a stream")
            };
            let allowed = "Access-Control-Allow-Origin: https://stage.example".to_owned();
            (response.status, response.more.contains(&allowed), response.more.len())
        };
        let (own, stage) = ("127.0.0.1:8080", "https://stage.example");
        assert_eq!(ask("GET /film", own, stage), (Status::Fine, true, 6));
        assert_eq!(ask("GET /none", own, stage), (Status::NotFound, true, 6));
        assert_eq!(ask("OPTIONS /film", own, stage), (Status::Fine, true, 6));
        for other in ["https://evil.example", "null", "http://stage.example", ""] {
            assert_eq!(ask("GET /film", own, other), (Status::Fine, false, 0), "{other}");
            assert_eq!(
                ask("OPTIONS /film", own, other),
                (Status::WrongMethod, false, 0),
                "{other}"
            );
        }
        assert_eq!(ask("GET /film", "evil.example", stage), (Status::WrongHost, false, 0));
    }

    #[test]
    fn the_state_is_the_document() {
        let (_, body) = ask("GET /api/state", "Host: [::1]:7979\r\n");
        let state: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(state["phase"], "sending");
    }

    #[test]
    fn without_the_token_there_is_a_form_and_nothing_else() {
        let token = "0123456789abcdef0123456789abcdef".to_owned();
        let board = Arc::new(Board::new(json!({"secret": 1})));
        let site = Site { access: Access::by_token(token, None), board, pages: None };
        let ask = |path: &str| {
            let text = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
            match site.answer(&Request::read(&mut text.as_bytes()).unwrap()) {
                Answer::Whole(response) => (response.status, response.body),
                Answer::Stream => (Status::Fine, Vec::new()),
            }
        };
        assert!(String::from_utf8(ask("/").1).unwrap().contains("<form"));
        for path in ["/api/state", "/api/stream", "/metrics", "/page.js"] {
            assert_eq!(ask(path).0, Status::Unauthorized, "{path}");
        }
    }

    #[derive(Debug)]
    struct One;
    impl Pages for One {
        fn find(&self, path: &str) -> Option<PageFile> {
            let bytes = b"film".to_vec();
            (path == "/film").then_some(PageFile { kind: "video/mp4", bytes })
        }
    }

    #[test]
    fn pages_of_another_program_take_the_place_of_the_live_page_and_have_its_guards() {
        let board = Arc::new(Board::new(json!({"secret": 1})));
        let site = Site { access: Access::local(), board, pages: Some(Arc::new(One)) };
        let ask = |path: &str, host: &str| {
            let text = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
            match site.answer(&Request::read(&mut text.as_bytes()).unwrap()) {
                Answer::Whole(response) => (response.status, response.body),
                Answer::Stream => (Status::Busy, Vec::new()),
            }
        };
        assert_eq!(ask("/film", "localhost"), (Status::Fine, b"film".to_vec()));
        assert_eq!(ask("/film", "evil.example").0, Status::WrongHost);
        for path in ["/", "/api/state", "/api/stream", "/metrics"] {
            assert_eq!(ask(path, "localhost").0, Status::NotFound, "{path}");
        }
    }
}
