// What a channel's rules make of a request before it is signed and sent (requirements C32, C33, C35, C36). Compiled once; loaded only where a
// channel has rules. The same code makes the preview. Pure.
import {
  isLength,
  type Rewrite,
  type RewriteAction,
  type RewriteWhen,
  type StatusMap,
  segmentsOf,
  type TEXT_EDITS,
} from "#contract/rewrite.ts";
import { localFault } from "#server/upstream/errors/fault.ts";
import type { Call, Outcome, Plan, Prepared, Rewriter } from "./call.ts";
import { Body, readPlace, removePlaces, setPlace } from "./rewrite-body.ts";
import { addSystem } from "./rewrite-system.ts";

export interface RewriterParts {
  readonly channelId: number;
  readonly rewrite: Rewrite | undefined;
  readonly statusMap: StatusMap | undefined;
  /** A keyed hash. */
  readonly hash: (text: string) => string;
}

/** What a rule sees of a call. */
interface Scene {
  readonly call: Call;
  readonly plan: Plan;
  /** undefined = the body is no JSON object. */
  readonly body: Body | undefined;
  readonly fill: (text: string) => string;
}

type HeaderEdit = (headers: string[]) => string[];
type Test = (scene: Scene) => boolean;
/** A text ends the call: the code of a refusal is in the outcome. */
type Act = (scene: Scene, edits: HeaderEdit[]) => Outcome | undefined;

interface Rule {
  readonly id: string;
  readonly applies: Test;
  readonly acts: readonly Act[];
}

export interface Rewritten {
  readonly outcome: Outcome;
  /** The rules that applied, in their order. */
  readonly fired: readonly string[];
}

export class CompiledRules implements Rewriter {
  readonly raisesTo: number;
  readonly #rules: readonly Rule[];
  readonly #statuses: ReadonlyMap<number, number>;
  readonly #parts: RewriterParts;

  constructor(parts: RewriterParts) {
    const { rewrite, statusMap = {} } = parts;
    this.#parts = parts;
    this.#rules = (rewrite?.rules ?? []).map((rule) => ({
      id: rule.id,
      applies: testOf(rule.when),
      acts: rule.do.map(actOf),
    }));
    const raised = (rewrite?.rules ?? []).flatMap((rule) => rule.do.map(raisedBy));
    this.raisesTo = Math.max(0, ...raised);
    this.#statuses = new Map(Object.entries(statusMap).map(([from, to]) => [Number(from), to]));
  }

  statusFor(status: number): number | undefined {
    return this.#statuses.get(status);
  }

  apply(call: Call, plan: Plan, prepared: Prepared): Outcome {
    return this.run(call, plan, prepared).outcome;
  }

  run(call: Call, plan: Plan, prepared: Prepared): Rewritten {
    const body = prepared.contentType === undefined ? Body.of(prepared.bytes) : undefined;
    const scene = { call, plan, body, fill: this.#filler(call) };
    const edits: HeaderEdit[] = [];
    const fired: string[] = [];
    for (const rule of this.#rules) {
      if (!rule.applies(scene)) continue;
      fired.push(rule.id);
      for (const act of rule.acts) {
        const refused = act(scene, edits);
        if (refused !== undefined) return { outcome: refused, fired };
      }
    }
    const outcome = {
      ...prepared,
      bytes: body?.bytes() ?? prepared.bytes,
      ...(edits.length > 0 && {
        rehead: (headers: readonly string[]) => edits.reduce((list, edit) => edit(list), [...headers]),
      }),
    };
    return { outcome, fired };
  }

  #filler({ seed, facts, originModel, model, target }: Call): (text: string) => string {
    const { channelId, hash } = this.#parts;
    const short = (text: string) => Buffer.from(hash(text), "base64url").toString("hex").slice(0, 16);
    const values = new Map<string, () => string>(
      Object.entries({
        request_id: () => seed,
        model: () => originModel,
        upstream_model: () => model,
        channel_id: () => String(channelId),
        key_hash: () => short(target.key),
        user_hash: () => (facts === undefined ? "" : short(`user ${facts.userId}`)),
        date: () => new Date(facts?.nowMs ?? 0).toISOString().slice(0, 10),
        key: () => target.key,
      }),
    );
    return (text) =>
      text.replace(/\{\{([^{}]*)\}\}/g, (whole: string, name: string) => {
        if (name.startsWith("header:")) return facts?.header(name.slice(7).toLowerCase()) ?? "";
        return values.get(name)?.() ?? whole;
      });
  }
}

/** The length of output that an action may ask for; 0 = it raises none. */
function raisedBy(action: RewriteAction): number {
  if (action.op !== "set" && action.op !== "default" && action.op !== "floor") return 0;
  const isRaise = isLength(segmentsOf(action.path) ?? []) && typeof action.value === "number";
  return isRaise ? Number(action.value) : 0;
}

/** `*` stands for anything, the rest for itself. */
function globOf(pattern: string): (text: string) => boolean {
  const parts = pattern.split("*").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  // No alternatives and no nested repeats: it cannot take long.
  const regex = new RegExp(`^${parts.join("[^]*?")}$`);
  return (text) => regex.test(text);
}

function testOf(when: RewriteWhen | undefined): Test {
  if (when === undefined) return () => true;
  const { any, ...all } = when;
  const tests = testsOf(all);
  if (any !== undefined) {
    const branches = any.map((one) => testsOf(one));
    tests.push((scene) => branches.some((branch) => branch.every((test) => test(scene))));
  }
  return (scene) => tests.every((test) => test(scene));
}

function testsOf(when: Omit<RewriteWhen, "any">): Test[] {
  const tests: Test[] = [];
  const {
    models,
    formats,
    stream,
    attempt,
    has = [],
    lacks = [],
    equals = {},
    like = {},
    header = {},
  } = when;
  if (models !== undefined) {
    const globs = models.map(globOf);
    tests.push(({ call }) => globs.some((isLike) => isLike(call.originModel) || isLike(call.model)));
  }
  if (formats !== undefined) {
    const names: ReadonlySet<string> = new Set(formats);
    tests.push(({ call }) => names.has(call.endpoint));
  }
  if (stream !== undefined) tests.push(({ call }) => call.isStream === stream);
  if (attempt !== undefined)
    tests.push(({ call }) => (attempt === "first") === (call.facts?.attempt ?? 1) <= 1);
  for (const path of has) tests.push(valueTest(path, (value) => value !== undefined));
  for (const path of lacks) tests.push(valueTest(path, (value) => value === undefined));
  for (const [path, wanted] of Object.entries(equals))
    tests.push(valueTest(path, (value) => value === wanted));
  for (const [path, pattern] of Object.entries(like)) {
    const isLike = globOf(pattern);
    tests.push(valueTest(path, (value) => typeof value === "string" && isLike(value)));
  }
  for (const [name, pattern] of Object.entries(header)) {
    const isLike = globOf(pattern);
    tests.push(({ call }) => {
      const value = call.facts?.header(name.toLowerCase());
      return value !== undefined && isLike(value);
    });
  }
  return tests;
}

function valueTest(path: string, test: (value: unknown) => boolean): Test {
  const segments = segmentsOf(path) ?? [];
  return ({ body }) => test(body?.read(segments));
}

/** What an action on the body does; nothing where the body is no JSON. */
function onBody(act: (body: Body, scene: Scene) => void): Act {
  return (scene) => {
    if (scene.body !== undefined) act(scene.body, scene);
    return undefined;
  };
}

type BodyAction = Extract<RewriteAction, { readonly path: string }>;

function actOf(action: RewriteAction): Act {
  switch (action.op) {
    case "setHeader":
      return ({ fill }, edits) => {
        const value = fill(action.value).replace(/[^\t\x20-\x7e]/g, "");
        edits.push((headers) => [...without(headers, action.name), action.name, value]);
        return undefined;
      };
    case "removeHeader":
      return (_scene, edits) => {
        edits.push((headers) => without(headers, action.name));
        return undefined;
      };
    case "passHeader":
      return ({ call }, edits) => {
        const value = call.facts?.header(action.name.toLowerCase())?.replace(/[^\t\x20-\x7e]/g, "");
        if (value !== undefined)
          edits.push((headers) => [...without(headers, action.name), action.name, value]);
        return undefined;
      };
    case "refuse":
      return ({ fill }) =>
        localFault(action.status, action.code, fill(action.message), { type: "invalid_request_error" });
    case "system":
      return onBody((body, { plan, call, fill }) =>
        addSystem(body, fill(action.text), { action, plan, call }),
      );
    default:
      return bodyAct(action);
  }
}

function without(headers: readonly string[], name: string): string[] {
  const lower = name.toLowerCase();
  return headers.filter((_text, index) => headers[index - (index % 2)]?.toLowerCase() !== lower);
}

function bodyAct(action: BodyAction): Act {
  const segments = segmentsOf(action.path) ?? [];
  if (action.op === "remove") return onBody((body) => removePlaces(body, body.places(segments, false)));
  if (action.op === "rename" || action.op === "copy") {
    const to = segmentsOf(action.to) ?? [];
    return onBody((body) => carry(body, segments, { to, isCopy: action.op === "copy" }));
  }
  const bounded = isLength(segments) ? boundedBy : (value: unknown) => value;
  const make = makerOf(action);
  const creates = action.op !== "cap" && action.op !== "floor" && action.op !== "text";
  return onBody((body, scene) => {
    for (const place of body.places(segments, creates)) {
      const value = bounded(make(readPlace(place), scene), scene);
      if (value !== undefined) setPlace(body, place, value);
    }
  });
}

/** No rule asks for more output than was set aside (requirements C35). */
function boundedBy(value: unknown, { call }: Scene): unknown {
  const most = call.facts?.maxTokens;
  return typeof value === "number" && most !== undefined && most > 0 ? Math.min(value, most) : value;
}

type Make = (before: unknown, scene: Scene) => unknown;

/** What an action makes of a value; undefined = it stays. */
function makerOf(action: Exclude<BodyAction, { readonly op: "remove" | "rename" | "copy" }>): Make {
  if (action.op === "text") {
    const { how, value = "", with: other = "" } = action;
    return (before) => (typeof before === "string" ? TEXTS[how](before, value, other) : undefined);
  }
  if (action.op === "cap" || action.op === "floor") {
    const limit = action.op === "cap" ? Math.min : Math.max;
    return (before) => (typeof before === "number" ? limit(before, action.value) : undefined);
  }
  const fresh = valueMaker(action.value);
  if (action.op === "set") return (_before, scene) => fresh(scene);
  if (action.op === "default") return (before, scene) => (before === undefined ? fresh(scene) : undefined);
  const isAfter = action.op === "append";
  return (before, scene) => joined(before, fresh(scene), isAfter);
}

type TextEdit = (text: string, value: string, other: string) => string;

const TEXTS: Readonly<Record<(typeof TEXT_EDITS)[number], TextEdit>> = {
  trimPrefix: (text, value) => (text.startsWith(value) ? text.slice(value.length) : text),
  trimSuffix: (text, value) => (value !== "" && text.endsWith(value) ? text.slice(0, -value.length) : text),
  ensurePrefix: (text, value) => (text.startsWith(value) ? text : value + text),
  ensureSuffix: (text, value) => (text.endsWith(value) ? text : text + value),
  trimSpace: (text) => text.trim(),
  toLower: (text) => text.toLowerCase(),
  toUpper: (text) => text.toUpperCase(),
  replace: (text, value, other) => (value === "" ? text : text.replaceAll(value, () => other)),
};

/** A value of a rule, new each time: what follows may change it. */
function valueMaker(value: unknown): (scene: Scene) => unknown {
  const json = JSON.stringify(value);
  if (!json.includes("{{")) return typeof value === "object" ? () => JSON.parse(json) : () => value;
  return ({ fill }) =>
    JSON.parse(json, (_name, inner: unknown) => (typeof inner === "string" ? fill(inner) : inner));
}

/** Texts are joined, lists get more elements (a list is spread), objects more members. */
function joined(before: unknown, value: unknown, isAfter: boolean): unknown {
  if (before === undefined || before === null) return value;
  if (typeof before === "string") {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return isAfter ? before + text : text + before;
  }
  if (Array.isArray(before)) {
    const more: unknown[] = Array.isArray(value) ? value : [value];
    return isAfter ? [...before, ...more] : [...more, ...before];
  }
  const isBoth = typeof before === "object" && typeof value === "object" && !Array.isArray(value);
  if (!isBoth) return undefined;
  return isAfter ? { ...before, ...value } : { ...value, ...before };
}

/** Moves or copies a value; without one nothing happens. */
function carry(
  body: Body,
  from: readonly string[],
  { to, isCopy }: { readonly to: readonly string[]; readonly isCopy: boolean },
): void {
  const value = body.read(from);
  if (value === undefined) return;
  if (!isCopy) removePlaces(body, body.places(from, false));
  const carried: unknown = isCopy ? structuredClone(value) : value;
  for (const place of body.places(to, true)) setPlace(body, place, carried);
}
