// Searches the text of the pages, also from the file system: ranks the pages of an index, and adds a field for it to each page.

// The pages that have every term of a query, the best first: {page, section, terms}. Text in quotation marks is one term.
function rankedPages(index, query) {
    const words = query.toLowerCase().match(/"[^"]+"|\S+/g) ?? [];
    const terms = [...new Set(words.map((word) => word.replaceAll('"', "").trim()))].filter(Boolean);
    if (!terms.length) return [];
    const whole = terms.join(" ");
    const wanted = terms.length > 1 ? [...terms, whole] : terms;
    const counts = index.map((page) => wanted.map((term) => occurrences(page, term)));
    // A term that few pages have says more about a page.
    const weights = wanted.map((_, n) => Math.log(1 + index.length / (1 + counts.filter((count) => count[n]).length)));
    const score = (page, count) => {
        const found = count.reduce((sum, one, n) => sum + weights[n] * one, 0);
        const isNamed = page[0].toLowerCase().replace(/\(.*/, "") === whole;
        return found * (IMPORTANCE[page[1]] ?? 0.3) * (isNamed ? TYPE.test(page[1]) ? 12 : 3 : 1);
    };
    const seen = new Set();
    return index.map((page, n) => ({ page, terms, score: score(page, counts[n]), count: counts[n] }))
        .filter(({ count }) => terms.every((_, n) => count[n]))
        .sort((a, b) => b.score - a.score)
        // Products share declarations.
        .filter(({ page }) => !seen.has(page[0] + page[3][0][2]) && seen.add(page[0] + page[3][0][2]))
        .map((found) => ({ ...found, section: bestSection(found.page, terms) }));
}

// What a reader seeks first; declarations come last, but for a type whose name is the query.
const IMPORTANCE = { Guide: 1, Contents: 0.7, Program: 0.7, About: 0.5 };
const TYPE = /Class|Structure|Enumeration|Protocol|Framework/;

// How much a page says of a term, 0 to 5: in its title, in the section that says most, where long ones count less, and in all.
function occurrences(page, term) {
    let most = 0, all = 0;
    for (const [, heading, text] of page[3]) {
        const inside = count(text, term);
        const above = 3 * Math.min(1, count(heading, term)) + (heading.toLowerCase() === term ? 3 : 0);
        most = Math.max(most, above + inside / (0.5 + text.length / 1000));
        all += inside;
    }
    return 2 * Math.min(1, count(page[0], term)) + 2 * most / (most + 3) + all / (all + 10);
}

function count(text, term) {
    const lower = text.toLowerCase();
    let sum = 0;
    for (let at = lower.indexOf(term); at >= 0; at = lower.indexOf(term, at + term.length)) {
        const isWord = at === 0 || !/[\p{L}\p{N}]/u.test(lower[at - 1]) || /[A-Z]/.test(text[at]);
        sum += isWord ? 1 : 0.1;
    }
    return sum;
}

// The section of a page that has most of the terms.
function bestSection(page, terms) {
    const value = ([, heading, text]) => terms.reduce((sum, term) => sum + 3 * count(heading, term) + Math.min(3, count(text, term)), 0);
    return page[3].reduce((best, section) => value(section) > value(best) ? section : best, page[3][0]);
}

if (typeof document !== "undefined") (function () {
    const root = new URL(".", document.currentScript.src).href;
    const home = "documentation/swift-bluetooth-le";
    const address = (path) => root + path.replace(/^\//, "") + (location.protocol === "file:" ? "/index.html" : "/");

    // The index is loaded when it is needed.
    let index;
    const loaded = () => index ??= new Promise((resolve, reject) => {
        window.passIndex = resolve;
        const script = document.createElement("script");
        script.src = root + "search-index.js";
        script.onerror = () => reject(new Error("there is no index"));
        document.head.append(script);
    });

    const element = (name, properties, ...children) => {
        const made = Object.assign(document.createElement(name), properties);
        made.append(...children);
        return made;
    };

    // A result: the title, what it is, and the text around the first term.
    const result = ({ page: [title, kind, path], section: [anchor, heading, text], terms }) => {
        const places = [terms.join(" "), ...terms].map((term) => text.toLowerCase().indexOf(term));
        const at = Math.max(0, places.find((place) => place >= 0) ?? 0);
        const excerpt = (at > 60 ? "…" : "") + text.slice(Math.max(0, at - 60), at + 120) + (at + 120 < text.length ? "…" : "");
        const link = element("a", { href: address(path) + (anchor && `#${anchor}`) },
            element("strong", {}, title), element("span", {}, ` ${heading ? `› ${heading} ` : ""}· ${kind}`), element("br"), excerpt);
        return element("li", {}, link);
    };

    const show = async (field, list) => {
        const query = field.value.trim();
        try {
            const found = query.length > 1 ? rankedPages(await loaded(), query).slice(0, 20) : [];
            if (query !== field.value.trim()) return;
            list.replaceChildren(...found.map(result));
            if (query.length > 1 && !found.length) list.replaceChildren(element("li", {}, "No page has these words."));
            list.hidden = query.length < 2;
        } catch (error) {
            list.replaceChildren(element("li", {}, String(error)));
        }
    };

    document.addEventListener("DOMContentLoaded", () => {
        const field = element("input", { type: "search", placeholder: "Search all pages", ariaLabel: "Search all pages" });
        const list = element("ol", { hidden: true });
        const form = element("form", { id: "search", role: "search" }, element("a", { href: address(home) }, "swift-bluetooth-le"), field, list);
        field.addEventListener("input", () => show(field, list));
        form.addEventListener("submit", (event) => {
            event.preventDefault();
            list.querySelector("a")?.click();
        });
        document.addEventListener("keydown", (event) => { if (event.key === "Escape") list.hidden = true; });
        document.addEventListener("click", (event) => { if (!form.contains(event.target)) list.hidden = true; });
        document.head.append(element("style", {}, `
            #search { position: relative; display: flex; gap: 1em; align-items: center; padding: 6px 20px; font: 15px sans-serif;
                background: var(--color-fill-secondary, #eee); color: var(--color-text, #000); }
            #search > a { color: inherit; font-weight: 600; }
            #search input { flex: 1; max-width: 30em; padding: 4px 8px; font: inherit; color: inherit; background: var(--color-fill, #fff);
                border: 1px solid var(--color-grid, #888); border-radius: 4px; }
            #search ol { position: absolute; top: 100%; left: 0; right: 0; z-index: 10000; max-height: 75vh; overflow: auto; margin: 0;
                padding: 8px 20px; list-style: none; background: var(--color-fill, #fff); border-bottom: 1px solid var(--color-grid, #888); }
            #search ol[hidden] { display: none; }
            #search li { padding: 6px 0; overflow-wrap: anywhere; }
            #search li a { display: block; color: inherit; text-decoration: none; }
            #search li span { opacity: 0.7; }
            #search li a:hover, #search li a:focus { background: var(--color-fill-secondary, #eee); }`));
        document.body.prepend(form);
    });
})();
