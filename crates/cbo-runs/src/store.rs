//! Every finished evaluation in a SQLite file.
