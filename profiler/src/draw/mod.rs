//! Draws flame graphs and pictures, and completes the pages that hold them.

pub mod flame;
pub mod label;
pub mod pages;
pub mod picture;
