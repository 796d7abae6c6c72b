//! The comparison as one page without anything from elsewhere: bars, figures and pictures.

use std::fmt::Write as _;

use fanfare_lab::HarnessCell;

use super::plot::{of, radios};

const HEAD: &str = "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
    <meta name=\"viewport\" content=\"width=device-width\">\n\
    <title>Group communication over one radio</title>\n<style>\n\
    body { font: 15px sans-serif; max-width: 80em; margin: 2em auto; padding: 0 1em; }\n\
    table { border-collapse: collapse; width: 100%; }\n\
    th, td { text-align: right; padding: .2em .6em; border-bottom: 1px solid #ddd; }\n\
    th:first-child, td:first-child { text-align: left; }\n\
    .bar { display: block; height: .5em; background: #0072b2; }\n\
    .ours { background: #fdf1e8; } .ours .bar { background: #d55e00; }\n\
    svg { max-width: 100%; height: auto; }\n</style>\n";

/// The page; `pictures` are SVG.
pub(super) fn page(cells: &[HarnessCell], about: &str, pictures: &[String]) -> String {
    let mut out = String::from(HEAD);
    let _ = write!(out, "<h1>Group communication over one radio</h1>\n<p>{about}</p>\n");
    for radio in radios(cells) {
        let _ = writeln!(out, "<h2>Radio: {radio}</h2>");
        out += "<table><thead><tr><th>System<th>Within 5 s, %<th>Within 10 s, %<th>At the end, %\
                <th>Mean within 5 s, ms<th>95 % within 5 s, ms<th>Sensor, %<th>Documents, %\
                <th>On the air, kB<th>CPU, s<th>Memory, MiB</thead>\n<tbody>\n";
        of(cells, radio).into_iter().for_each(|cell| row(&mut out, cell));
        out += "</tbody></table>\n";
    }
    for picture in pictures {
        // Within a page a picture has no declaration of its own.
        let begin = picture.find("<svg").unwrap_or(0);
        let _ = writeln!(out, "<figure>{}</figure>", &picture[begin..]);
    }
    out + "</html>\n"
}

fn row(out: &mut String, cell: &HarnessCell) {
    let class = if cell.is_ours() { " class=\"ours\"" } else { "" };
    let broken = match cell.broken {
        0 => String::new(),
        count => format!(" (a program ended in {count} of {})", cell.shares[0].runs),
    };
    let HarnessCell { system, shares, means, p95s, long, .. } = cell;
    let _ = write!(
        out,
        "<tr{class}><td>{system}{broken}<td>{}<span class=\"bar\" style=\"width: {:.1}%\"></span>",
        shares[0].text(1),
        shares[0].median
    );
    let kilobytes = format!("{:.0}", cell.bytes.median / 1e3);
    let figures = [
        shares[1].text(1),
        shares[2].text(1),
        means[0].text(0),
        p95s[0].text(0),
        long[0].text(0),
        long[1].text(0),
        kilobytes,
        cell.cpu.text(1),
        cell.memory.text(0),
    ];
    figures.iter().for_each(|figure| _ = write!(out, "<td>{figure}"));
    out.push('\n');
}
