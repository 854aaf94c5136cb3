// Keeps the limits of output in a body within what was set aside, whatever rules do (requirements C35): those that rules write are lowered,
// those that went away with what they stood in come back. Pure.
import type { RewriteAction } from "#contract/rewrite.ts";
import { folded, isLength, isLengthIn, isLengthName, isLimit, segmentsOf } from "#contract/rewrite-law.ts";
import { asObject } from "#server/upstream/json/values.ts";
import { type Body, putBack, removePlaces } from "./rewrite-body.ts";

/** What limits of output stand in, beside the body itself, in the formats of all wires; names are folded. */
const HOMES: readonly (readonly string[])[] = [
  ["generationconfig"],
  ["options"],
  ["parameters"],
  ["inferenceconfig"],
  ["parameter", "chat"],
];
const TOPS = new Set(HOMES.map(([top]) => top));

/** A value that a rule has carried to another place. */
export interface Move {
  readonly from: readonly string[];
  readonly to: readonly string[];
}

type Place = readonly string[];

/** The most output that an action may ask for; 0 = it asks for none. */
export function raisedBy(action: RewriteAction): number {
  if (!("value" in action) || !("path" in action) || action.op === "cap") return 0;
  if (isLength(segmentsOf(action.path) ?? [])) return isLimit(action.value) ? action.value : 0;
  return Math.max(0, ...limitsIn(action.value));
}

function limitsIn(value: unknown): readonly number[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    isLengthIn(name, inner) ? (isLimit(inner) ? [inner] : []) : limitsIn(inner),
  );
}

/** Whether an action may take a limit away, or put one where a client's value becomes it. */
export function mayMoveLimits(action: RewriteAction): boolean {
  if (!("path" in action)) return false;
  return [action.path, "to" in action ? action.to : action.path].some((path) => {
    const top = segmentsOf(path)?.[0] ?? "";
    return TOPS.has(folded(top)) || isLengthName(top);
  });
}

/** What a rule may set where a limit stands that was `before`; undefined = nothing. `most` was set aside. */
export function within(value: unknown, before: unknown, most: number): number | undefined {
  if (!isLimit(value)) return undefined;
  if (isLimit(before) && value <= before) return value;
  return most > 0 ? Math.min(value, most) : undefined;
}

/** A member of a rule's value, within what was set aside; undefined = it is left out. */
export function memberWithin(name: string, value: unknown, most: number): unknown {
  return isLengthIn(name, value) ? within(value, undefined, most) : value;
}

/** Puts the limits of a body right after all rules; `moves` in their order. */
export function keepLimits(body: Body, moves: readonly Move[], most: number): void {
  const first = body.first;
  const kept = placesIn(first)
    .filter((place) => isLimit(first.read(place)))
    .map((place) => ({ place, now: movedTo(place, moves), value: first.read(place) }));
  // A client may name thousands of them.
  const carried = new Set(kept.map(({ now, value }) => JSON.stringify([now, value])));
  for (const place of placesIn(body)) {
    const [value, before] = [body.read(place), first.read(place)];
    // What the client has asked for stays, whatever it is.
    const isFirst = JSON.stringify(value) === JSON.stringify(before);
    if (isFirst || carried.has(JSON.stringify([place, value]))) continue;
    const right = within(value, before, most) ?? before;
    if (right === undefined) removePlaces(body, body.places(place, false));
    else putBack(body, place, right, first.get(place[0] ?? ""));
  }
  for (const { place, now, value } of kept) {
    // A rule may say what a limit is called at an upstream of another format.
    const isNamed = moves.some(({ to }) => isSame(to, now));
    const isThere = isLimit(body.read(now)) && (isSame(place, now) || isHome(now) || isNamed);
    if (!isThere) putBack(body, place, value, first.get(place[0] ?? ""));
  }
}

interface Readable {
  names(): readonly string[];
  read(segments: Place): unknown;
}

/** Where limits of output stand in a body. */
export function placesIn(body: Readable): readonly Place[] {
  const tops = body.names().filter(isLengthName);
  return [...tops.map((name) => [name]), ...HOMES.flatMap((home) => placesAt(body, home))];
}

function placesAt(body: Readable, home: readonly string[]): readonly Place[] {
  let parents: Place[] = [[]];
  for (const name of home)
    parents = parents.flatMap((parent) =>
      namesAt(body, parent)
        .filter((one) => folded(one) === name)
        .map((one) => [...parent, one]),
    );
  return parents.flatMap((parent) =>
    namesAt(body, parent)
      .filter(isLengthName)
      .map((name) => [...parent, name]),
  );
}

function namesAt(body: Readable, parent: Place): readonly string[] {
  return parent.length === 0 ? body.names() : Object.keys(asObject(body.read(parent)) ?? {});
}

function isHome(place: Place): boolean {
  const parents = place.slice(0, -1).map(folded).join("/");
  return isLength(place) && (parents === "" || HOMES.some((home) => home.join("/") === parents));
}

function movedTo(place: Place, moves: readonly Move[]): Place {
  return moves.reduce(
    (at: Place, { from, to }) =>
      isSame(at.slice(0, from.length), from) ? [...to, ...at.slice(from.length)] : at,
    place,
  );
}

function isSame(one: Place, other: Place): boolean {
  return one.length === other.length && one.every((name, at) => name === other[at]);
}
