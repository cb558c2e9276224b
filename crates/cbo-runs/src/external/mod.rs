//! Programs as objectives.
