//! The mean-field law: the Fokker-Planck equation on a grid that follows it.
