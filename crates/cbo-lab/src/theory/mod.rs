//! What the theorem says: its assumptions, its constants, its advice.

pub mod mass;
pub mod mollifier;
