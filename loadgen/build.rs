//! Exports Lua's functions from the command, so that a script can load Lua's C modules, which take them from there.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-link-arg-bins=-rdynamic");
}
