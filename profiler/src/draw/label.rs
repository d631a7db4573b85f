//! Frame names as text: shortened to fit, and escaped.

/// The longest form of a name with at most `room` characters: whole, without its package, or cut.
pub fn label(name: &str, room: usize) -> String {
    const ROOM_MIN: usize = 5;
    let short = without_package(name);
    if name.chars().count() <= room {
        name.to_owned()
    } else if short.chars().count() <= room {
        short.to_owned()
    } else if room >= ROOM_MIN {
        short.chars().take(room - 2).chain("..".chars()).collect()
    } else {
        String::new()
    }
}

/// At most `length` characters. A text that is cut ends with `…`.
pub fn cut(text: &str, length: usize) -> String {
    if text.chars().count() <= length {
        return text.to_owned();
    }
    text.chars().take(length - 1).chain(['…']).collect()
}

/// `java/util/HashMap.get` → `HashMap.get`, `java.lang.String` → `String`, `ns::Class::method(int)` unchanged.
fn without_package(name: &str) -> &str {
    if name.contains("::") || name.contains('(') {
        return name;
    }
    if let Some(slash) = name.rfind('/') {
        return &name[slash + 1..];
    }
    let class = name.trim_end_matches("[]");
    match class.rfind('.') {
        // A class with its package ends an allocation's stack; `Main.run` has a single dot, and the kernel's
        // `finish_task_switch.isra.0` is no class
        Some(dot) if class[..dot].contains('.') && class[dot + 1..].starts_with(char::is_uppercase) => &name[dot + 1..],
        _ => name,
    }
}

/// Escapes a text for XML and HTML, attributes included.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The name as text in an SVG, with the spaces that were replaced for inferno.
pub fn unescape(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&apos;", "'")
        .replace("&amp;", "&")
        .replace('\u{a0}', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_drops_the_package_before_it_is_cut() {
        let name = "java/util/concurrent/locks/ReentrantLock.lock";
        assert_eq!(label(name, 60), name);
        assert_eq!(label(name, 30), "ReentrantLock.lock");
        assert_eq!(label(name, 10), "Reentran..");
        assert_eq!(label(name, 2), "");
        assert_eq!(label("java.lang.String[]", 10), "String[]");
        assert_eq!(label("Main.run", 8), "Main.run");
        assert_eq!(label("JavaThread::run()", 8), "JavaTh..");
        assert_eq!(label("finish_task_switch.isra.0", 9), "finish_..");
    }

    #[test]
    fn escaped_text_reads_back() {
        for text in ["a<b>&\"c\"", "&amp;", "plain"] {
            assert_eq!(unescape(&escape(text)), text);
        }
    }
}
