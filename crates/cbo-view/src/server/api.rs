//! The addresses of the viewer.

use super::guard::Verdict;
use super::{App, live};
use crate::evaluations::{self, Question};
use crate::find::Item;
use crate::history::History;
use crate::{assets, outputs, run};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Query, Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, HeaderName, SET_COOKIE};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::Deserialize;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;

/// Only what comes from here is run, shown or asked for.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Bytes of an export that are handed over at once.
const PART: usize = 1 << 16;

/// What every answer says.
const ALWAYS: [(&str, &str); 7] = [
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cache-control", "no-store"),
];

type Shared = State<Arc<App>>;

/// All addresses, guarded.
pub fn router(app: Arc<App>) -> Router {
    let file = |kind: &'static str, text: &'static str| get(move || async move { ([(CONTENT_TYPE, kind)], text) });
    Router::new()
        .route("/", file("text/html; charset=utf-8", assets::PAGE))
        .route("/app.js", file("text/javascript; charset=utf-8", assets::SCRIPT))
        .route("/app.css", file("text/css; charset=utf-8", assets::STYLE))
        .route("/favicon.ico", get(|| async { StatusCode::NO_CONTENT }))
        .route("/api/runs", get(runs))
        .route("/api/run", get(whole))
        .route("/api/history", get(history))
        .route("/api/swarm", get(swarm))
        .route("/api/evaluations", get(page))
        .route("/api/evaluations.csv", get(export))
        .route("/api/picture", get(picture))
        .route("/api/live", get(news))
        .fallback(|| async { missing() })
        .layer(middleware::from_fn_with_state(Arc::clone(&app), guarded))
        .with_state(app)
}

async fn guarded(State(app): Shared, request: Request, next: Next) -> Response {
    let verdict = app.guard.judge(request.method(), request.uri(), request.headers());
    let mut response = match &verdict {
        Verdict::Refused(status, words) => (*status, *words).into_response(),
        // Streams have limits of their own.
        Verdict::Welcome if request.uri().path() == "/api/live" => next.run(request).await,
        Verdict::Welcome | Verdict::Newcomer => match app.requests.acquire().await {
            Ok(_place) => next.run(request).await,
            Err(_) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        },
    };
    let headers = response.headers_mut();
    for (name, value) in ALWAYS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    if verdict == Verdict::Newcomer
        && let Ok(cookie) = HeaderValue::from_str(&app.guard.cookie())
    {
        headers.insert(SET_COOKIE, cookie);
    }
    response
}

fn missing() -> Response {
    (StatusCode::NOT_FOUND, "there is no such run").into_response()
}

fn is_json(value: &Value) -> Response {
    ([(CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

/// Work that reads files, on a thread for that. A fault in it is an answer, not an end.
async fn read<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Response> {
    let failed = |_| (StatusCode::INTERNAL_SERVER_ERROR, "the folder could not be read").into_response();
    tokio::task::spawn_blocking(work).await.map_err(failed)
}

/// An item by its name in an address.
#[derive(Deserialize)]
struct Which {
    #[serde(default)]
    id: String,
    #[serde(default)]
    name: String,
    after: Option<u64>,
    /// Whether the history is left out.
    brief: Option<u8>,
    spacing: Option<u64>,
}

/// Reads something of an item; `None` if there is no such item, or no such thing.
async fn of_item<T: Send + 'static>(
    app: Arc<App>,
    id: String,
    work: impl FnOnce(&Item) -> Option<T> + Send + 'static,
) -> Result<T, Response> {
    read(move || app.library.item(&id).and_then(|item| work(&item))).await?.ok_or_else(missing)
}

async fn runs(State(app): Shared) -> Result<Response, Response> {
    let list = read(move || {
        let shorts: Vec<_> = app.library.items().iter().map(|item| app.library.short(item)).collect();
        json!({ "folders": app.library.folders(), "runs": shorts })
    });
    Ok(is_json(&list.await?))
}

async fn whole(State(app): Shared, Query(which): Query<Which>) -> Result<Response, Response> {
    Ok(is_json(&of_item(app, which.id, move |item| Some(run::whole(item, which.brief.is_none()))).await?))
}

async fn history(State(app): Shared, Query(which): Query<Which>) -> Result<Response, Response> {
    let (after, spacing) = (which.after, which.spacing.unwrap_or(0));
    let history = of_item(app, which.id, move |item| {
        let history = History::of(&item.path);
        Some(after.map_or(history.clone(), |step| history.after(step as f64, spacing)))
    });
    Ok(is_json(&json!(history.await?)))
}

async fn swarm(State(app): Shared, Query(which): Query<Which>) -> Result<Response, Response> {
    let after = which.after.zip(which.spacing);
    let bytes = of_item(app, which.id, move |item| run::swarm(item, after)).await?;
    Ok(([(CONTENT_TYPE, "application/octet-stream")], bytes).into_response())
}

async fn picture(State(app): Shared, Query(which): Query<Which>) -> Result<Response, Response> {
    let name = which.name;
    let bytes = of_item(app, which.id, move |item| outputs::picture(item, &name)).await?;
    Ok(([(CONTENT_TYPE, "image/png")], bytes).into_response())
}

async fn page(
    State(app): Shared,
    Query(which): Query<Which>,
    Query(question): Query<Question>,
) -> Result<Response, Response> {
    let page = of_item(app, which.id, move |item| Some(evaluations::page(&item.path, &question)));
    Ok(match page.await? {
        Ok(page) => is_json(&page),
        Err(error) => (StatusCode::NOT_FOUND, error.to_string()).into_response(),
    })
}

async fn export(
    State(app): Shared,
    Query(which): Query<Which>,
    Query(question): Query<Question>,
) -> Result<Response, Response> {
    // An export that nobody takes in keeps its thread: others must not wait for that.
    let Ok(place) = Arc::clone(&app.exports).try_acquire_owned() else {
        return Ok((StatusCode::SERVICE_UNAVAILABLE, "too many exports are under way; wait for one").into_response());
    };
    let store = of_item(app, which.id, |item| Some(evaluations::open(&item.path))).await?;
    let store = store.map_err(|error| (StatusCode::NOT_FOUND, error.to_string()).into_response())?;
    let (sender, receiver) = mpsc::channel::<Bytes>(4);
    tokio::task::spawn_blocking(move || {
        let _place = place;
        let (mut part, mut begun) = (String::new(), false);
        let send = |part: &mut String| sender.blocking_send(Bytes::from(std::mem::take(part))).map_err(drop);
        // Whoever reads sees an export that breaks off, if the store does.
        let _ = store.each_that(&question.filter(), evaluations::MOST, &mut |row| {
            if !std::mem::replace(&mut begun, true) {
                part += &evaluations::head(row.point.len());
            }
            part += &evaluations::line(&row);
            if part.len() > PART { send(&mut part) } else { Ok(()) }
        });
        let _ = send(&mut part);
    });
    let head = [
        (CONTENT_TYPE, "text/csv; charset=utf-8"),
        (CONTENT_DISPOSITION, "attachment; filename=\"evaluations.csv\""),
        (CACHE_CONTROL, "no-store"),
    ];
    Ok((head, Body::from_stream(ReceiverStream::new(receiver).map(Ok::<_, Infallible>))).into_response())
}

async fn news(State(app): Shared, Query(which): Query<Which>) -> Result<Response, Response> {
    if which.id.is_empty() {
        return Ok(live::stream(app, None).await);
    }
    let item = of_item(Arc::clone(&app), which.id, |item| Some(item.clone())).await?;
    Ok(live::stream(app, Some(item)).await)
}
