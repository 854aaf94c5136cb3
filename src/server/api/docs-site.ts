// The API reference as files: the printed document and the small page that draws it. Knows no HTTP; the mount serves them.
import { readFileSync } from "node:fs";
import { api } from "#contract/index.ts";
import type { Language } from "#contract/language.ts";
import { printOpenApi } from "#contract/openapi.ts";
import { say } from "#server/locale/sentences.ts";

export interface DocsFile {
  readonly type: string;
  readonly body: string;
}

const PAGES: Readonly<Record<Language, URL>> = {
  zh: new URL("./docs/index.html", import.meta.url),
  en: new URL("./docs/index.en.html", import.meta.url),
};
const FILES: Readonly<Record<string, readonly [file: URL | typeof PAGES, type: string]>> = {
  "/api/docs": [PAGES, "text/html; charset=utf-8"],
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

/** The file of one of `docsPaths` in a language; made once. */
export function docsFile(path: string, version: string, language: Language): DocsFile {
  const known = made.get(`${language} ${path}`);
  if (known) return known;
  const file = makeFile(path, version, language);
  made.set(`${language} ${path}`, file);
  return file;
}

function makeFile(path: string, version: string, language: Language): DocsFile {
  const entry = FILES[path];
  if (!entry) {
    const inLanguage = (_key: string, value: unknown) =>
      typeof value === "string" ? say(value, language) : value;
    const body = JSON.stringify(printOpenApi(api, version), inLanguage);
    return { type: "application/json; charset=utf-8", body };
  }
  const [file, type] = entry;
  return { type, body: readFileSync("zh" in file ? file[language] : file, "utf8") };
}
