//! Protocol scenarios over the simulator.
