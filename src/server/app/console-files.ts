// The built console as answers: which file, compressed how, cached how long. Knows no routes and no users.
import { readdir, readFile, stat } from "node:fs/promises";
import { extname, join, sep } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { Language } from "#contract/language.ts";

export interface FileAnswer {
  readonly status: 200 | 304 | 404;
  readonly headers: Record<string, string>;
  readonly body: Uint8Array<ArrayBuffer> | null;
}

export interface ConsoleFiles {
  /** The file at a path, else the console's page in the client's language; undefined when the console was never built. */
  answer(
    path: string,
    request: { language: Language; acceptEncoding: string; ifNoneMatch: string },
  ): Promise<FileAnswer | undefined>;
}

interface Entry {
  readonly path: string;
  readonly etag: string;
}

type Encoding = "br" | "gzip" | "identity";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".webmanifest": "application/manifest+json",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
};
const COMPRESSIBLE = /^(text\/|application\/(json|manifest)|image\/svg)/;
const RESCAN_MS = 1000;
/** The page of the console: built once for each language. */
const PAGES: Readonly<Record<Language, string>> = { zh: "/index.html", en: "/index.en.html" };

const compressBrotli = promisify(brotliCompress);
const compressGzip = promisify(gzip);

/** Files whose names carry a hash of their content: they never change. */
export function isAsset(path: string): boolean {
  return path.startsWith("/assets/");
}

/** Opens a folder of built files. They are listed at the first request, and again when the build has changed. */
export function createConsoleFiles(root: string, now: () => number): ConsoleFiles {
  let entries = new Map<string, Entry>();
  let scannedMs = Number.NEGATIVE_INFINITY;
  let scanning: Promise<void> | undefined;
  /** Bodies by ETag and encoding: each file is read and compressed once. */
  const bodies = new Map<string, Promise<Uint8Array<ArrayBuffer>>>();

  async function scan(): Promise<void> {
    scannedMs = now();
    try {
      const found = await list(root);
      if ([...found.values()].some((entry) => entries.get(entry.path)?.etag !== entry.etag)) bodies.clear();
      entries = found;
    } finally {
      scanning = undefined;
    }
  }

  /** The file of that name, else the page; in Chinese where an older build is served, which had no other. */
  function entryFor(path: string, language: Language): Entry | undefined {
    const file = isPage(path) ? undefined : entries.get(path);
    return file ?? entries.get(PAGES[language]) ?? entries.get(PAGES.zh);
  }

  function body(entry: Entry, encoding: Encoding): Promise<Uint8Array<ArrayBuffer>> {
    const key = `${entry.etag} ${entry.path} ${encoding}`;
    const known = bodies.get(key);
    if (known !== undefined) return known;
    const reading = readEncoded(join(root, entry.path), encoding);
    bodies.set(key, reading);
    reading.catch(() => bodies.delete(key));
    return reading;
  }

  return {
    async answer(path, request) {
      // Also after a step back of the clock (requirements F08).
      if (Math.abs(now() - scannedMs) > RESCAN_MS) scanning ??= scan();
      // Whichever request began it: before the first has ended nothing is known.
      await scanning;
      // A chunk of an older build is gone; the console then offers to reload. A newer build's may come: no cache keeps the answer.
      if (isAsset(path) && !entries.has(path))
        return { status: 404, headers: { "Cache-Control": "no-store" }, body: null };
      const entry = entryFor(path, request.language);
      if (!entry) return undefined;
      const type = TYPES[extname(entry.path)] ?? "application/octet-stream";
      const headers = {
        "Content-Type": type,
        "Cache-Control": cacheRule(entry.path),
        ETag: entry.etag,
        Vary: isPage(entry.path) ? "Accept-Encoding, Accept-Language, Cookie" : "Accept-Encoding",
      };
      if (request.ifNoneMatch === entry.etag) return { status: 304, headers, body: null };
      const encoding = pickEncoding(type, request.acceptEncoding);
      const bytes = await body(entry, encoding);
      const encoded = encoding === "identity" ? headers : { ...headers, "Content-Encoding": encoding };
      return { status: 200, headers: encoded, body: bytes };
    },
  };
}

function isPage(path: string): boolean {
  return path === PAGES.zh || path === PAGES.en;
}

/** The page names the assets and is asked for again each time. */
function cacheRule(path: string): string {
  if (isAsset(path)) return "public, max-age=31536000, immutable";
  return isPage(path) ? "no-cache" : "public, max-age=604800";
}

function pickEncoding(type: string, acceptEncoding: string): Encoding {
  if (!COMPRESSIBLE.test(type)) return "identity";
  if (/\bbr\b/.test(acceptEncoding)) return "br";
  return /\bgzip\b/.test(acceptEncoding) ? "gzip" : "identity";
}

async function readEncoded(file: string, encoding: Encoding): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = await readFile(file);
  if (encoding === "br") {
    return Uint8Array.from(await compressBrotli(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } }));
  }
  return Uint8Array.from(encoding === "gzip" ? await compressGzip(bytes) : bytes);
}

/** Every file below the folder by its URL path; hidden files are not served. Empty when the folder is not there. */
async function list(root: string): Promise<Map<string, Entry>> {
  const names = await readdir(root, { recursive: true, withFileTypes: true }).catch(() => []);
  const found = new Map<string, Entry>();
  for (const name of names) {
    if (!name.isFile() || name.name.startsWith(".")) continue;
    const file = join(name.parentPath, name.name);
    const { size, mtimeMs } = await stat(file);
    const path = `/${file.slice(root.length).split(sep).filter(Boolean).join("/")}`;
    found.set(path, { path, etag: `W/"${size.toString(36)}-${Math.floor(mtimeMs).toString(36)}"` });
  }
  return found;
}
