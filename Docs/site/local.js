// Lets the pages of a DocC site open from the file system. On a web server it does nothing.
(function () {
    if (location.protocol !== "file:") return;
    const root = new URL(".", document.currentScript.src).href;

    // The path that the site's router sees: that of a server, where a folder stands for its page.
    window.pagePath = location.pathname.replace(/\/(index\.html)?$/, "");

    // A page of the file system cannot fetch files, but can load scripts: each file of data has a twin that passes it on.
    const waiting = new Map();
    window.passData = (path, text) => {
        for (const resolve of waiting.get(path) ?? []) resolve(text);
        waiting.delete(path);
    };
    const load = (path) => new Promise((resolve, reject) => {
        if (waiting.has(path)) return waiting.get(path).push(resolve);
        waiting.set(path, [resolve]);
        const script = document.createElement("script");
        script.src = `${root}${path}.js`;
        script.onerror = () => { waiting.delete(path); reject(new TypeError(`no ${path}`)); };
        document.head.append(script);
    });
    const fetch = window.fetch;
    window.fetch = async (input, options) => {
        const url = new URL(input.url ?? input, location.href).href;
        if (!url.startsWith(root) || !url.endsWith(".json")) return fetch(input, options);
        return new Response(await load(decodeURI(url.slice(root.length))), { status: 200 });
    };

    // Nor can it change its own address, so each page is loaded anew.
    history.pushState = history.replaceState = () => {};
    document.addEventListener("click", (event) => {
        const link = event.target.closest?.("a[href]");
        if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
        const url = new URL(link.href);
        if (!url.href.startsWith(root) || /\.\w+$/.test(url.pathname)) return;
        const path = url.pathname.replace(/\/$/, "");
        event.preventDefault();
        event.stopImmediatePropagation();
        if (path === window.pagePath && url.hash) location.hash = url.hash;
        else location.href = `file://${path}/index.html${url.hash}`;
    }, true);
})();
