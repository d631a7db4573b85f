//! What pages and pictures are made of.

pub mod flame;
pub mod label;
pub mod pages;
pub mod picture;
