// A JSON body that rules read and change: only the members of the top that a rule touches are parsed, every other one keeps its bytes.
// Pure.
import { type JsonObject, wholeObject } from "#server/upstream/json/object.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";

interface Entry {
  readonly name: string;
  /** The whole member as it came; undefined = it is new. */
  readonly span: readonly [start: number, valueStart: number, end: number] | undefined;
  value: unknown;
  isParsed: boolean;
  isChanged: boolean;
}

/** A place in the body: a container and the name or index in it; at the top the container is the body itself. */
export interface Place {
  /** Name of the member of the top that it is in. */
  readonly top: string;
  readonly container: Body | JsonRecord | unknown[];
  readonly name: string;
}

export class Body {
  readonly #bytes: Buffer;
  readonly #object: JsonObject;
  #entries: Entry[];
  #isChanged = false;

  private constructor(bytes: Buffer, object: JsonObject) {
    this.#bytes = bytes;
    this.#object = object;
    this.#entries = object.members.map(({ name, keyStart, valueStart, valueEnd }) => ({
      name,
      span: [keyStart, valueStart, valueEnd],
      value: undefined,
      isParsed: false,
      isChanged: false,
    }));
  }

  /** undefined = the bytes are no JSON object. */
  static of(bytes: Uint8Array): Body | undefined {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const object = wholeObject(buffer);
    return object === undefined ? undefined : new Body(buffer, object);
  }

  /** The body as it came. */
  get first(): Body {
    return new Body(this.#bytes, this.#object);
  }

  /** The value at a pointer without `*`; undefined = there is none. */
  read(segments: readonly string[]): unknown {
    const [top = "", ...rest] = segments;
    let value = this.get(top);
    for (const name of rest) {
      if (value === undefined) return undefined;
      value = inside(value, name);
    }
    return value;
  }

  /** Of the members of the top. */
  names(): readonly string[] {
    return this.#entries.map(({ name }) => name);
  }

  get(name: string): unknown {
    const entry = this.#entries.findLast((one) => one.name === name);
    if (entry === undefined) return undefined;
    if (!entry.isParsed && entry.span !== undefined) {
      entry.value = JSON.parse(this.#bytes.toString("utf8", entry.span[1], entry.span[2]));
      entry.isParsed = true;
    }
    return entry.value;
  }

  put(name: string, value: unknown): void {
    this.#isChanged = true;
    const entry = this.#entries.findLast((one) => one.name === name);
    if (entry === undefined) {
      this.#entries.push({ name, span: undefined, value, isParsed: true, isChanged: true });
      return;
    }
    entry.value = value;
    entry.isParsed = true;
    entry.isChanged = true;
  }

  drop(name: string): void {
    const left = this.#entries.filter((one) => one.name !== name);
    if (left.length < this.#entries.length) this.#isChanged = true;
    this.#entries = left;
  }

  /** Something inside of this member has changed. */
  touch(name: string): void {
    this.put(name, this.get(name));
  }

  /** The places that a pointer names; `*` names all of a list or an object. `creates` = objects on the way are made. */
  places(segments: readonly string[], creates: boolean): readonly Place[] {
    const [top = "", ...rest] = segments;
    let places: Place[] = [{ top, container: this, name: top }];
    for (const name of rest) places = places.flatMap((place) => within(place, name, creates));
    return places;
  }

  /** The bytes as they are now; those that came when nothing has changed. */
  bytes(): Buffer {
    if (!this.#isChanged) return this.#bytes;
    const parts: Buffer[] = [];
    for (const { name, span, value, isChanged } of this.#entries) {
      parts.push(Buffer.from(parts.length === 0 ? "{" : ","));
      if (span !== undefined && !isChanged) parts.push(this.#bytes.subarray(span[0], span[2]));
      else parts.push(Buffer.from(`${JSON.stringify(name)}:${JSON.stringify(value)}`));
    }
    parts.push(Buffer.from(parts.length === 0 ? "{}" : "}"));
    return Buffer.concat(parts);
  }
}

function isRecord(value: unknown): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The index that a name means; a negative one counts from the end. undefined = none. */
function indexIn(list: readonly unknown[], name: string): number | undefined {
  if (!/^-?\d{1,6}$/.test(name)) return undefined;
  const index = Number(name);
  const real = index < 0 ? list.length + index : index;
  return real < 0 || real > list.length ? undefined : real;
}

function inside(value: unknown, name: string): unknown {
  if (Array.isArray(value)) {
    const index = indexIn(value, name);
    return index === undefined ? undefined : value[index];
  }
  return isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function within(place: Place, name: string, creates: boolean): Place[] {
  let value = readPlace(place);
  if (value === undefined && creates) {
    value = {};
    writePlace(place, value);
  }
  const { top } = place;
  if (Array.isArray(value)) {
    if (name === "*") return value.map((_one, index) => ({ top, container: value, name: String(index) }));
    const index = name === "-" ? value.length : indexIn(value, name);
    return index === undefined ? [] : [{ top, container: value, name: String(index) }];
  }
  if (!isRecord(value)) return [];
  const container = value;
  if (name === "*") return Object.keys(container).map((key) => ({ top, container, name: key }));
  return [{ top, container, name }];
}

export function readPlace({ container, name }: Place): unknown {
  return container instanceof Body ? container.get(name) : inside(container, name);
}

function writePlace({ container, name }: Place, value: unknown): void {
  if (container instanceof Body) container.put(name, value);
  else if (Array.isArray(container)) container[Number(name)] = value;
  // An object of the body, which is this body's own.
  else (container as Record<string, unknown>)[name] = value;
}

/** Sets the value of a place. */
export function setPlace(body: Body, place: Place, value: unknown): void {
  writePlace(place, value);
  if (place.container !== body) body.touch(place.top);
}

/** Puts a value back where it stood; where that is there no more, with the `whole` member of the top. */
export function putBack(body: Body, segments: readonly string[], value: unknown, whole: unknown): void {
  for (const place of body.places(segments, true)) setPlace(body, place, value);
  if (JSON.stringify(body.read(segments)) !== JSON.stringify(value)) body.put(segments[0] ?? "", whole);
}

/** Takes places out, those behind first, so that the indexes of the others stay. */
export function removePlaces(body: Body, places: readonly Place[]): void {
  for (const { container, name, top } of places.toReversed()) {
    if (container instanceof Body) {
      container.drop(name);
      continue;
    }
    if (readPlace({ container, name, top }) === undefined) continue;
    if (Array.isArray(container)) container.splice(Number(name), 1);
    else delete (container as Record<string, unknown>)[name];
    body.touch(top);
  }
}
