//! The pages and scripts, built from `web` and compiled in: nothing is ever fetched from elsewhere.

/// The script of all pages.
pub const SCRIPT: &str = include_str!("../assets/app.js");

/// Their style.
pub const STYLE: &str = include_str!("../assets/app.css");

/// The page of the server, which asks for the two.
#[cfg(feature = "server")]
pub const PAGE: &str = include_str!("../assets/index.html");
