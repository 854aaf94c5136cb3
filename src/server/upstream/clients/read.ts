// Reads members of parsed bodies: a value of the wrong type counts as absent, as in tolerant servers. Pure.

import type { CacheMark } from "#server/upstream/hub/request.ts";
import { asObject, type JsonRecord } from "#server/upstream/json/values.ts";

export function textIn(record: JsonRecord | undefined, name: string): string | undefined {
  const value = record?.[name];
  return typeof value === "string" ? value : undefined;
}

export function numberIn(record: JsonRecord | undefined, name: string): number | undefined {
  const value = record?.[name];
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

export function flagIn(record: JsonRecord | undefined, name: string): boolean | undefined {
  const value = record?.[name];
  return typeof value === "boolean" ? value : undefined;
}

export function listIn(record: JsonRecord | undefined, name: string): readonly unknown[] {
  const value = record?.[name];
  return Array.isArray(value) ? value : [];
}

/** The objects of a list; other items are skipped. */
export function objectsIn(record: JsonRecord | undefined, name: string): JsonRecord[] {
  return listIn(record, name).flatMap((item) => {
    const object = asObject(item);
    return object === undefined ? [] : [object];
  });
}

/** A text, or the texts of a list. */
export function textsIn(record: JsonRecord, name: string): string[] | undefined {
  const value = record[name];
  if (typeof value === "string") return [value];
  if (!Array.isArray(value)) return undefined;
  return value.filter((item) => typeof item === "string");
}

/** Anthropic's `cache_control`, which other formats have adopted. */
export function cacheMark(record: JsonRecord): CacheMark | undefined {
  const mark = asObject(record["cache_control"]);
  if (mark === undefined) return undefined;
  const ttl = mark["ttl"];
  return { ttl: ttl === "1h" || ttl === "5m" ? ttl : undefined };
}
