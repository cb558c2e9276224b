//! What runs in folders must survive, on the program itself: kills, signals, faulty workers, full disks, damaged files.

#![cfg(unix)]

mod budget;
mod changes;
mod damage;
mod disk;
mod input;
mod kill;
mod locks;
mod midway;
mod signals;
mod taken;
mod workers;
