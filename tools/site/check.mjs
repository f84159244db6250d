// Check the built site: links and anchors of all pages; accessibility (axe), and pages that are too wide, at three
// widths in light and dark colours. Usage: node check.mjs SITE [PAGE ...]; CHROMIUM names the browser.
import { readFileSync, readdirSync, statSync, existsSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname, join, resolve } from "node:path";
import puppeteer from "puppeteer-core";

const site = resolve(process.argv[2] ?? "site");
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const WIDTHS = [400, 900, 1440];
const TYPES = { ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml",
  ".json": "application/json" };
let problems = 0;
function report(problem) {
  problems += 1;
  console.log(problem);
}

function files(folder) {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? files(path) : [path];
  });
}

// Links: every target is a file, and every fragment an id in it.
const ids = new Map();
function idsOf(path) {
  if (!ids.has(path)) {
    const text = readFileSync(path, "utf8");
    ids.set(path, new Set([...text.matchAll(/\s(?:id|name)="([^"]*)"/g)].map((match) => match[1])));
  }
  return ids.get(path);
}

const pages = files(site).filter((path) => path.endsWith(".html") && !path.endsWith("404.html"));
let links = 0;
for (const path of pages) {
  const base = new URL(path.slice(site.length), "http://site");
  for (const [, link] of readFileSync(path, "utf8").matchAll(/\s(?:href|src)="([^"]*)"/g)) {
    const url = new URL(link.replaceAll("&amp;", "&"), base);
    if (url.host !== "site") continue;
    links += 1;
    let target = join(site, decodeURIComponent(url.pathname));
    if (existsSync(target) && statSync(target).isDirectory()) target = join(target, "index.html");
    const fragment = decodeURIComponent(url.hash.slice(1));
    if (!existsSync(target)) report(`${base.pathname}: no page ${link}`);
    else if (fragment && target.endsWith(".html") && !fragment.startsWith("__") && !idsOf(target).has(fragment))
      report(`${base.pathname}: no anchor ${link}`);
  }
}

// Accessibility and layout.
const server = createServer((request, response) => {
  let path = join(site, decodeURIComponent(new URL(request.url, "http://site").pathname));
  if (existsSync(path) && statSync(path).isDirectory()) path = join(path, "index.html");
  if (!existsSync(path)) return response.writeHead(404).end();
  response.writeHead(200, { "content-type": TYPES[extname(path)] ?? "application/octet-stream" });
  response.end(readFileSync(path));
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const origin = `http://127.0.0.1:${server.address().port}/`;
const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});
const wanted = process.argv.length > 3 ? process.argv.slice(3)
  : pages.map((path) => path.slice(site.length + 1).replace(/index\.html$/, ""));
const page = await browser.newPage();
for (const name of wanted) {
  await page.goto(origin + name, { waitUntil: "load" });
  await page.addStyleTag({ content: "* { transition: none !important; animation: none !important; }" });
  await page.evaluate(axe);
  for (const width of WIDTHS) {
    await page.setViewport({ width, height: 900 });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    if (wide > 1) report(`/${name} (${width} px): ${wide} px wider than the window`);
    for (const scheme of ["default", "slate"]) {
      const violations = await page.evaluate(async (scheme) => {
        document.body.setAttribute("data-md-color-scheme", scheme);
        const found = await axe.run(document.querySelector(".md-container"), {
          runOnly: ["wcag2a", "wcag2aa"],
          resultTypes: ["violations"], // a fifth of the time on long pages
          // The theme makes code that scrolls focusable when it first comes into view.
          rules: { "scrollable-region-focusable": { enabled: false } },
        });
        return found.violations;
      }, scheme);
      for (const { id, help, nodes } of violations)
        report(`/${name} (${width} px, ${scheme}): ${id}: ${help}, ${nodes.length} times, such as ` +
          `${nodes[0].html.slice(0, 160)} (${nodes[0].any[0]?.message ?? ""})`);
    }
  }
}
await browser.close();
server.close();
console.log(`${links} links; ${wanted.length} pages at ${WIDTHS.length} widths, light and dark: ${problems} problems`);
process.exitCode = problems ? 1 : 0;
