// The API reference as files: the printed document and the small page that draws it. Knows no HTTP; the mount serves them.
import { readFileSync } from "node:fs";
import { api } from "#contract/index.ts";
import { printOpenApi } from "#contract/openapi.ts";

export interface DocsFile {
  readonly type: string;
  readonly body: string;
}

const FILES: Readonly<Record<string, readonly [file: URL, type: string]>> = {
  "/api/docs": [new URL("./docs/index.html", import.meta.url), "text/html; charset=utf-8"],
  "/api/docs/docs.css": [new URL("./docs/docs.css", import.meta.url), "text/css; charset=utf-8"],
  "/api/docs/docs.js": [new URL("./docs/docs.js", import.meta.url), "text/javascript; charset=utf-8"],
};

/** Paths that are answered, without a slash at the end. */
export const docsPaths: readonly string[] = ["/api/openapi.json", ...Object.keys(FILES)];

/** What the page may load: its own script and style, its own document, nothing else (requirements H03, V11). */
export const DOCS_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

const made = new Map<string, DocsFile>();

/** The file of one of `docsPaths`; made once. */
export function docsFile(path: string, version: string): DocsFile {
  const known = made.get(path);
  if (known) return known;
  const file = makeFile(path, version);
  made.set(path, file);
  return file;
}

function makeFile(path: string, version: string): DocsFile {
  const entry = FILES[path];
  if (!entry) {
    const body = JSON.stringify(printOpenApi(api, version));
    return { type: "application/json; charset=utf-8", body };
  }
  const [file, type] = entry;
  return { type, body: readFileSync(file, "utf8") };
}
