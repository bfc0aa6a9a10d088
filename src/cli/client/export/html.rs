//! A folder with a page for each code, which any server of files serves: `CODE/index.html`, and `HOST/CODE/index.html` at other hosts.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use shunt::domain::io_reason;

use super::{Failure, Lasting, LastingLink, LastingLinks, Way};

/// The mode of a folder that everyone may read.
const PUBLIC_FOLDER: u32 = 0o755;

/// Checks that nothing is there which would be served, too, or lost.
pub(super) fn check_folder(folder: &Path) -> Result<(), Failure> {
    let refused = |why: &str| Err(Failure::Failed(format!("{} {why}", folder.display())));
    match fs::read_dir(folder) {
        Ok(mut entries) => match entries.next() {
            Some(_) => refused("is not empty; name a new folder"),
            None => Ok(()),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(fault(folder, &error)),
    }
}

/// Writes the whole folder, or leaves nothing.
pub(super) fn write(all: &LastingLinks, folder: &Path) -> Result<(), Failure> {
    let parent = folder
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let draft = tempfile::Builder::new()
        .prefix(".shunt-links.")
        .suffix(".unfinished")
        .tempdir_in(parent.unwrap_or(Path::new(".")))
        .map_err(|error| fault(folder, &error))?;
    write_to(all, draft.path())?;
    let moved = fs::set_permissions(draft.path(), Permissions::from_mode(PUBLIC_FOLDER))
        .and_then(|()| fs::rename(draft.path(), folder));
    moved.map_err(|error| fault(folder, &error))?;
    // It has another name now, and there is nothing left to remove.
    let _ = draft.keep();
    Ok(())
}

/// What this form cannot say.
pub(super) fn notes(all: &LastingLinks) -> Vec<String> {
    let mut notes = Vec::new();
    for host in &all.hosts {
        let mut seen = HashSet::new();
        let links = host.links.iter();
        let same = links.filter(|link| !seen.insert(link.code.to_ascii_lowercase()));
        let same: Vec<_> = same.map(|link| &*link.code).take(20).collect();
        if !same.is_empty() {
            notes.push(format!(
                "codes of {} differ from others by case only ({}); serve the folder from a file system that tells capital letters from small letters",
                host.host,
                same.join(", ")
            ));
        }
    }
    notes
}

fn write_to(all: &LastingLinks, folder: &Path) -> Result<(), Failure> {
    write_strangers_page(folder)?;
    for host in &all.hosts {
        let folder = if host.is_own {
            folder.to_owned()
        } else {
            let folder = folder.join(folder_name(host));
            fs::create_dir(&folder).map_err(|error| fault(&folder, &error))?;
            write_strangers_page(&folder)?;
            folder
        };
        for link in &host.links {
            let folder = folder.join(&link.code);
            match fs::create_dir(&folder) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    return Err(Failure::Failed(format!(
                        "the file system does not tell capital letters from small letters, and {} differs from another code by case only",
                        link.code
                    )));
                }
                made => made.map_err(|error| fault(&folder, &error))?,
            }
            write_file(&folder.join("index.html"), &page(link))?;
        }
    }
    Ok(())
}

/// A host's folder. No code has a dot, so that none has its name; a host without one gets another byte that no code has.
fn folder_name(host: &Lasting) -> String {
    let port = host.port.map(|port| format!("_{port}")).unwrap_or_default();
    let name = format!(
        "{}{port}",
        host.host.replace(['[', ']'], "").replace(':', ".")
    );
    if name.contains('.') {
        name
    } else {
        format!("@{name}")
    }
}

/// What a server shows at the top, instead of a list of all links, and for unknown codes.
fn write_strangers_page(folder: &Path) -> Result<(), Failure> {
    for name in ["index.html", "404.html"] {
        write_file(&folder.join(name), STRANGERS_PAGE)?;
    }
    Ok(())
}

fn write_file(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| fault(path, &error))
}

fn page(link: &LastingLink) -> String {
    let location = escaped(&link.location);
    let title = escaped(link.title.as_deref().unwrap_or(&link.code));
    let robots = if link.noindex {
        "<meta name=\"robots\" content=\"noindex\">\n"
    } else {
        ""
    };
    let script = script(link);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n{robots}{script}\
         <meta http-equiv=\"refresh\" content=\"0; url={location}\">\n<link rel=\"canonical\" href=\"{location}\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n</head>\n<body>\n\
         <p>This link leads to <a href=\"{location}\">{location}</a>.</p>\n</body>\n</html>\n"
    )
}

/// Adds a visitor's query; it runs before the page leads on by itself.
fn script(link: &LastingLink) -> String {
    let Way::After(separator) = link.way() else {
        return String::new();
    };
    let (base, fragment) = link.parts();
    // A location has no `<`, no quotes and no backslash: nothing ends the text or the script.
    format!(
        "<script>\nvar query = location.search.replace(/^[?&]+|&+$/g, \"\");\n\
         if (query) location.replace(\"{base}{separator}\" + query + \"{fragment}\");\n</script>\n"
    )
}

/// A text that is neither markup nor the end of an attribute.
fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"', '\'']) {
        return text.into();
    }
    let text = text.chars().fold(String::new(), |mut escaped, char| {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
        escaped
    });
    text.into()
}

fn fault(path: &Path, error: &io::Error) -> Failure {
    Failure::Failed(format!("{}: {}", path.display(), io_reason(error)))
}

const STRANGERS_PAGE: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
    <meta name=\"robots\" content=\"noindex\">\n<title>Short links</title>\n</head>\n<body>\n\
    <p>There is no link at this address.</p>\n</body>\n</html>\n";
