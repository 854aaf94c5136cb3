// What is said in Chinese and not in English, and the other way round.
import {
  catalogPath,
  catalogsOf,
  englishFor,
  type Part,
  roomOf,
  type Translate,
  textsOf,
} from "./catalog.ts";

const PARTS: readonly Part[] = ["console", "contract", "server"];

/** Texts without English and the files that say them, by the catalog of their room. */
export function untranslated(): Map<string, Map<string, Set<string>>> {
  const missing = new Map<string, Map<string, Set<string>>>();
  for (const part of PARTS) {
    const known = new Map<string, Translate>();
    for (const { file, text } of textsOf(part)) {
      const catalog = catalogPath(part, roomOf(file).room);
      const translate = known.get(catalog) ?? englishFor(file);
      known.set(catalog, translate);
      if (translate(text.key)) continue;
      const texts = missing.get(catalog) ?? new Map<string, Set<string>>();
      missing.set(catalog, texts);
      texts.set(text.key, (texts.get(text.key) ?? new Set()).add(file));
    }
  }
  return missing;
}

/** Entries of catalogs that no source of theirs says, by catalog. */
export function unused(): Map<string, string[]> {
  const stale = new Map<string, string[]>();
  for (const part of PARTS) {
    const said = new Map<string, Set<string>>([["common", new Set()]]);
    for (const { file, text } of textsOf(part)) {
      const { room } = roomOf(file);
      said.set(room, (said.get(room) ?? new Set()).add(text.key));
      said.get("common")?.add(text.key);
    }
    for (const [room, catalog] of catalogsOf(part)) {
      const keys = Object.keys(catalog).filter((key) => said.get(room)?.has(key) !== true);
      if (keys.length > 0) stale.set(catalogPath(part, room), keys);
    }
  }
  return stale;
}
