// Finds a Chromium for the browser tests: CHROMIUM, the one that npm brings, unpacked once into node_modules/.cache, or the
// machine's own. Also the fonts: Chinese text must be readable in screenshots on a machine without any.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { brotliDecompressSync } from "node:zlib";

const MODULES = join(import.meta.dirname, "../../node_modules");
const SYSTEM_CHROMIUM = "/usr/bin/chromium";
/** What a shell, and so a program's loader, answers when a library is missing. */
const EXIT_NOT_STARTED = 127;
const TAR_BLOCK_BYTES = 512;

interface Chromium {
  readonly path: string;
  /** Added to the environment: where its libraries and its fonts are. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Finds or unpacks the browser. npm's is the shell without windows: it takes half the processor of the machine's own. Throws: when CHROMIUM
 * names no file, or none starts.
 */
export function findChromium(): Chromium {
  const cache = join(MODULES, ".cache/tollgate");
  mkdirSync(cache, { recursive: true });
  const fonts = { FONTCONFIG_FILE: writeFontConfig(cache) };
  const wanted = process.env.CHROMIUM || undefined;
  if (wanted && !existsSync(wanted)) throw new Error(`CHROMIUM is ${wanted}, but there is no such file`);
  if (wanted) return { path: wanted, env: fonts };
  const brought = unpack(cache);
  if (brought) return { path: brought.path, env: { ...fonts, ...brought.libraries } };
  if (existsSync(SYSTEM_CHROMIUM)) return { path: SYSTEM_CHROMIUM, env: fonts };
  throw new Error("no Chromium starts here: install one and name it in CHROMIUM");
}

/** Unpacks the browser of the npm package, and its libraries where the machine lacks them; undefined = it does not start on this machine. */
function unpack(cache: string): { path: string; libraries: Record<string, string> } | undefined {
  if (process.platform !== "linux" || process.arch !== "x64") return undefined;
  const bin = join(packageDir("@sparticuz/chromium"), "bin");
  const { version } = JSON.parse(readFileSync(join(bin, "../package.json"), "utf8"));
  const dir = join(cache, `chromium-${version}`);
  const path = join(dir, "chromium");
  once(dir, (draft) => {
    writeFileSync(join(draft, "chromium"), unbrotli(join(bin, "chromium.br")), { mode: 0o755 });
    untar(unbrotli(join(bin, "al2023.tar.br")), draft);
  });
  const bundled = { LD_LIBRARY_PATH: join(dir, "lib") };
  const libraries = [{}, bundled].find((env) => starts(path, env));
  return libraries && { path, libraries };
}

function starts(path: string, env: Record<string, string>): boolean {
  const { status, error } = spawnSync(path, ["--version", "--no-sandbox"], {
    env: { ...process.env, ...env },
  });
  return !error && status !== EXIT_NOT_STARTED;
}

/** Fills a directory so that it appears complete or not at all, also when another process does the same. */
function once(dir: string, fill: (draft: string) => void): void {
  if (existsSync(dir)) return;
  const draft = `${dir}.${process.pid}`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft);
  fill(draft);
  try {
    renameSync(draft, dir);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    if (!existsSync(dir)) throw error;
  }
}

function unbrotli(path: string): Buffer {
  return brotliDecompressSync(readFileSync(path));
}

/** Writes the plain files of a tar archive (ustar: name at 0, size in octal at 124, kind at 156). */
function untar(archive: Buffer, target: string): void {
  for (let at = 0; archive[at]; ) {
    const header = archive.subarray(at, at + TAR_BLOCK_BYTES).toString("latin1");
    const name = header.slice(0, 100).replace(/\0.*$/s, "");
    const bytes = Number.parseInt(header.slice(124, 136), 8);
    const body = at + TAR_BLOCK_BYTES;
    if (header[156] === "0") {
      mkdirSync(dirname(join(target, name)), { recursive: true });
      writeFileSync(join(target, name), archive.subarray(body, body + bytes), { mode: 0o755 });
    }
    at = body + Math.ceil(bytes / TAR_BLOCK_BYTES) * TAR_BLOCK_BYTES;
  }
}

/** The same fonts on every machine: the Chinese ones of npm first, then what the machine has. */
function writeFontConfig(cache: string): string {
  const path = join(cache, "fonts.conf");
  const chinese = join(packageDir("@embedpdf/fonts-sc"), "fonts");
  const families = ["sans-serif", "system-ui"].map(
    (family) =>
      `<alias binding="strong"><family>${family}</family><prefer><family>Noto Sans S Chinese</family></prefer></alias>`,
  );
  const text = [
    '<?xml version="1.0"?>',
    "<fontconfig>",
    `<dir>${chinese}</dir>`,
    '<include ignore_missing="yes">/etc/fonts/fonts.conf</include>',
    `<cachedir>${join(cache, "fontconfig")}</cachedir>`,
    ...families,
    "</fontconfig>",
  ].join("\n");
  if (!existsSync(path) || readFileSync(path, "utf8") !== text) writeFileSync(path, text);
  return path;
}

/** The folder of an installed package, whatever its `exports` show. */
function packageDir(name: string): string {
  const folders = createRequire(import.meta.url).resolve.paths(name) ?? [];
  const found = folders
    .map((folder) => join(folder, name))
    .find((folder) => existsSync(join(folder, "package.json")));
  if (!found) throw new Error(`the package ${name} is not installed; run npm ci`);
  return found;
}
