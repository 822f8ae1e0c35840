"""The colours of the pictures, for a light and a dark page."""

FORMS = {
    'light': {
        'page': '#ffffff', 'ground': '#f6f8fa', 'border': '#d1d9e0', 'text': '#1f2328', 'faint': '#59636e',
        'red': '#cf222e', 'green': '#116329', 'yellow': '#7d4e00', 'blue': '#0550ae', 'magenta': '#8250df', 'cyan': '#1b6b72',
        'first': '#0969da', 'second': '#bc4c00', 'third': '#8250df', 'selected': '#cfe6ff',
        'tint1': '#ddf4ff', 'tint2': '#dafbe1', 'tint3': '#fff1e5', 'tint4': '#eaeef2', 'tint5': '#fbefff',
    },
    'dark': {
        'page': '#0d1117', 'ground': '#0d1117', 'border': '#3d444d', 'text': '#f0f6fc', 'faint': '#9198a1',
        'red': '#ff7b72', 'green': '#56d364', 'yellow': '#e3b341', 'blue': '#79c0ff', 'magenta': '#d2a8ff', 'cyan': '#56d4dd',
        'first': '#58a6ff', 'second': '#f0883e', 'third': '#d2a8ff', 'selected': '#1c4066',
        'tint1': '#12283f', 'tint2': '#12301c', 'tint3': '#3a2413', 'tint4': '#21262d', 'tint5': '#2c1d3f',
    },
}
# The suffix of a file's name: DocC shows NAME~dark.svg in its dark mode.
SUFFIXES = {'light': '', 'dark': '~dark'}
MONOSPACED = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace"
SANS = "system-ui,-apple-system,'Segoe UI',Helvetica,Arial,'DejaVu Sans',sans-serif"
