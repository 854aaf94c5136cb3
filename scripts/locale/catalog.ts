// The English of the texts: one file for each room of the source, and one for what several rooms say.
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Text, textsIn } from "./texts.ts";

/** Chinese words, and not punctuation alone. */
const WORDS = /[\u3400-\u9fff]/;

const ROOT = join(import.meta.dirname, "../..");

/** Chinese text → English text. */
export type Catalog = Readonly<Record<string, string>>;

/** English of a Chinese text; undefined = there is none. */
export type Translate = (key: string) => string | undefined;

export type Part = "console" | "contract" | "server";

/** What the texts of a file belong to: its part of the source, and within it the room whose catalog has them. */
export function roomOf(file: string): { readonly part: Part; readonly room: string } {
  const [, part = "", ...rest] = file.split("/");
  if (part === "contract") return { part, room: "contract" };
  if (part === "server") return { part, room: rest.length > 1 ? (rest[0] ?? "") : "server" };
  const [folder = "", room = ""] = rest;
  if (folder === "pages") return { part: "console", room: rest.length > 2 ? room : "guests" };
  return { part: "console", room: folder === "ui" ? "ui" : "base" };
}

export function catalogPath(part: Part, room: string): string {
  return `src/${part}/locale/en/${room}.json`;
}

function read(part: Part, room: string): Catalog {
  const path = join(ROOT, catalogPath(part, room));
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as Catalog) : {};
}

/** English of the texts of a file: its room's first, else what several rooms of its part say. */
export function englishFor(file: string): Translate {
  const { part, room } = roomOf(file);
  const own = read(part, room);
  const common = read(part, "common");
  return (key) => own[key] ?? common[key];
}

/** Every text of a part of the source with the files that say it. The server puts sentences into English whole (locale/sentences.ts), with what joins them. */
export function textsOf(part: Part): { readonly file: string; readonly text: Text }[] {
  const files = globSync(`src/${part}/**/*.{ts,tsx}`, { cwd: ROOT }).sort();
  return files
    .filter((file) => !file.includes(".test."))
    .flatMap((file) => textsIn(file, readFileSync(join(ROOT, file), "utf8")).map((text) => ({ file, text })))
    .filter(({ text }) => part !== "server" || WORDS.test(text.key));
}

/** Every catalog of a part by its room. */
export function catalogsOf(part: Part): Map<string, Catalog> {
  const files = globSync(`src/${part}/locale/en/*.json`, { cwd: ROOT });
  const rooms = files.map((file) => file.replace(/^.*[\\/]|\.json$/g, ""));
  return new Map(rooms.map((room) => [room, read(part, room)]));
}
