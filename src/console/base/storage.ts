// Every local-storage key of the console with its schema (requirements B3). What is read is untrusted (requirements H04):
// garbage yields undefined and never throws.
import { z } from "zod";
import { Status } from "#contract/status.ts";
import { User } from "#contract/user.ts";

function json<T extends z.ZodType>(schema: T) {
  return z.codec(z.string(), schema, {
    // What JSON.parse gives is judged by `schema` right after.
    decode: (text) => JSON.parse(text) as z.input<T>,
    encode: (value) => JSON.stringify(value),
  });
}

const flag = z.codec(z.enum(["true", "false"]), z.boolean(), {
  decode: (text) => text === "true",
  encode: (value) => (value ? "true" : "false"),
});
const positive = z.codec(z.string(), z.number().positive(), { decode: Number, encode: String });

/** How one table is shown. */
const TableLook = z.object({ size: z.int().min(1).max(100), hidden: z.array(z.string()) });
export type TableLook = z.output<typeof TableLook>;

const slots = {
  /** The signed-in user as the server last told; a hint for menus, never a right. */
  user: json(User),
  status: json(Status),
  /** Affiliate code of /register?aff=. */
  aff: z.string(),
  quota_per_unit: positive,
  display_in_currency: flag,
  system_name: z.string(),
  logo: z.string(),
  footer_html: z.string(),
  notice: z.string(),
  chat_link: z.string(),
  /** Channel type → model names. */
  channel_models: json(z.record(z.string(), z.array(z.string()))),
  theme_mode: z.enum(["light", "dark"]),
  sider_collapsed: flag,
  table_looks: json(z.record(z.string(), TableLook)),
};
type Slots = typeof slots;
export type StorageKey = keyof Slots;
export type Stored<K extends StorageKey> = z.output<Slots[K]>;

function readText(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    // Storage may be forbidden by the browser; the console works without.
    return null;
  }
}

function writeText(key: string, text: string): void {
  try {
    localStorage.setItem(key, text);
  } catch {
    // Full or forbidden storage loses a convenience, nothing else.
  }
}

/** Reads one key; undefined when it is absent or not of its form. */
export function readStored<K extends StorageKey>(key: K): Stored<K> | undefined {
  const text = readText(key);
  if (text === null) return undefined;
  const schema: z.ZodType = slots[key];
  try {
    const result = schema.safeDecode(text);
    // `slots[key]` is the schema of `Stored<K>` by definition.
    return result.success ? (result.data as Stored<K>) : undefined;
  } catch {
    // JSON.parse inside a codec throws on broken text.
    return undefined;
  }
}

/** Writes one key in its stored form. */
export function writeStored<K extends StorageKey>(key: K, value: Stored<K>): void {
  const schema: z.ZodType = slots[key];
  writeText(key, String(schema.encode(value)));
}

export function removeStored(key: StorageKey): void {
  try {
    localStorage.removeItem(key);
  } catch {
    // Nothing was stored where storage is forbidden.
  }
}

/** Whether the prompt of this name was dismissed before (requirements B4, "recorded as seen"). */
export function isSeen(prompt: string): boolean {
  return readText(`seen_${prompt}`) === "true";
}

export function markSeen(prompt: string): void {
  writeText(`seen_${prompt}`, "true");
}
