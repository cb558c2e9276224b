//! News of a run, or of all of them, as server-sent events.

use super::App;
use crate::find::Item;
use crate::run::{self, Short};
use axum::body::Body;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use cbo_runs::folder::{LOG, STEPS, SWARM};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;

/// How often to look at one run, and at all of them.
const ONE: Duration = Duration::from_millis(250);
const ALL: Duration = Duration::from_millis(1000);

/// A line that says nothing is sent so often, so that a browser that has gone is noticed.
const ALIVE: Duration = Duration::from_secs(10);

/// The stream for a run, or without one for the overview.
pub async fn stream(app: Arc<App>, item: Option<Item>) -> Response {
    let Ok(place) = Arc::clone(&app.streams).try_acquire_owned() else {
        return (StatusCode::SERVICE_UNAVAILABLE, "too many pages are open; close some").into_response();
    };
    let (sender, receiver) = mpsc::channel::<String>(4);
    tokio::spawn(async move {
        let _place = place;
        let mut watch = Watch { item, before: HashMap::new() };
        let mut last = Instant::now();
        if sender.send("retry: 1000\nevent: hello\ndata: {}\n\n".into()).await.is_err() {
            return;
        }
        loop {
            let every = if watch.item.is_some() { ONE } else { ALL };
            let asked = Arc::clone(&app);
            let Ok((back, news)) = tokio::task::spawn_blocking(move || watch.look(&asked)).await else { return };
            watch = back;
            for news in news {
                last = Instant::now();
                if sender.send(format!("event: change\ndata: {news}\n\n")).await.is_err() {
                    return;
                }
            }
            if last.elapsed() > ALIVE {
                last = Instant::now();
                if sender.send(": alive\n\n".into()).await.is_err() {
                    return;
                }
            }
            tokio::time::sleep(every).await;
            if sender.is_closed() {
                return;
            }
        }
    });
    let body = Body::from_stream(ReceiverStream::new(receiver).map(Ok::<_, Infallible>));
    ([(CONTENT_TYPE, "text/event-stream")], body).into_response()
}

/// What was seen before.
struct Watch {
    item: Option<Item>,
    before: HashMap<String, (Vec<(u64, u64)>, Short)>,
}

impl Watch {
    /// What has changed.
    fn look(mut self, app: &App) -> (Self, Vec<Value>) {
        let items = match &self.item {
            Some(item) => Some(item.clone()).filter(Item::is_there).into_iter().collect(),
            None => app.library.items(),
        };
        let mut news = Vec::new();
        for item in &items {
            let stamp = run::stamp(item);
            if self.before.get(&item.id).is_none_or(|(before, _)| *before != stamp) {
                let short = app.library.short(item);
                let parts = [STEPS, SWARM, LOG].map(|name| crate::read::stamp(&item.path.join(name)));
                news.push(json!({ "short": short, "steps": parts[0], "swarm": parts[1], "log": parts[2] }));
                self.before.insert(item.id.clone(), (stamp, short));
            }
        }
        let gone: Vec<String> =
            self.before.keys().filter(|id| !items.iter().any(|item| item.id == **id)).cloned().collect();
        for id in gone {
            self.before.remove(&id);
            news.push(json!({ "gone": id }));
        }
        (self, news)
    }
}
