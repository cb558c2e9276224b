//! The figures of the paper as numbers: measured beside expected.
