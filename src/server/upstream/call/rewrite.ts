// What a channel's rules make of a request before it is signed and sent (requirements C32, C33, C35, C36). Compiled once, for each reach of
// rules; loaded only where a channel has rules. The same code makes the preview. Pure.
import type { Rewrite, RewriteAction, RewriteWhen, StatusMap } from "#contract/rewrite.ts";
import { isLength, mayAsk, segmentsOf } from "#contract/rewrite-law.ts";
import { localFault, type RelayFault } from "#server/upstream/errors/fault.ts";
import type { Reach, Rewriter, Ruled, Subject, Unruled } from "./call.ts";
import { Body, readPlace, removePlaces, setPlace } from "./rewrite-body.ts";
import { globOf } from "./rewrite-glob.ts";
import { keepLimits, type Move, mayMoveLimits, memberWithin, raisedBy, within } from "./rewrite-lengths.ts";
import { reaches } from "./rewrite-reach.ts";
import { addSystem } from "./rewrite-system.ts";
import { type Fillers, fillersOf } from "./rewrite-templates.ts";
import { editText } from "./rewrite-texts.ts";

export interface RewriterParts {
  readonly channelId: number;
  readonly rewrite: Rewrite | undefined;
  readonly statusMap: StatusMap | undefined;
  /** A keyed hash. */
  readonly hash: (text: string) => string;
}

/** What a rule sees of a request. */
interface Scene extends Fillers {
  readonly subject: Subject;
  readonly format: string | undefined;
  /** undefined = there is none, or it is no JSON object. */
  readonly body: Body | undefined;
  /** The most output that rules may ask for: what was set aside, or all that they ask for. */
  readonly most: number;
  /** What rules have carried so far. */
  readonly moves: Move[];
}

type HeaderEdit = (headers: string[]) => string[];
type Test = (scene: Scene) => boolean;
/** A fault ends the request. */
type Act = (scene: Scene, edits: HeaderEdit[]) => RelayFault | undefined;

interface Rule {
  readonly id: string;
  readonly applies: Test;
  readonly acts: readonly Act[];
}

export interface Rewritten {
  readonly outcome: Ruled | RelayFault;
  /** The rules that applied, in their order. */
  readonly fired: readonly string[];
}

export class CompiledRules implements Rewriter {
  readonly raisesTo: number;
  readonly #mayMoveLimits: boolean;
  readonly #rules: Readonly<Record<Reach, readonly Rule[]>>;
  readonly #statuses: ReadonlyMap<number, number>;
  readonly #parts: RewriterParts;

  constructor(parts: RewriterParts) {
    const { rewrite, statusMap = {} } = parts;
    const rules = rewrite?.rules ?? [];
    this.#parts = parts;
    this.#rules = {
      request: compiled(rules, "request"),
      opening: compiled(rules, "opening"),
      session: compiled(rules, "session"),
      control: compiled(rules, "control"),
    };
    const actions = rules.flatMap((rule) => rule.do);
    this.raisesTo = Math.max(0, ...actions.map(raisedBy));
    this.#mayMoveLimits = actions.some(mayMoveLimits);
    this.#statuses = new Map(Object.entries(statusMap).map(([from, to]) => [Number(from), to]));
  }

  statusFor(status: number): number | undefined {
    return this.#statuses.get(status);
  }

  apply(subject: Subject, unruled: Unruled): Ruled | RelayFault {
    return this.run(subject, unruled).outcome;
  }

  run(subject: Subject, unruled: Unruled): Rewritten {
    try {
      return this.#run(subject, unruled);
    } catch (error) {
      // Clients choose the texts that rules make longer, and how deep lists are in each other.
      if (!(error instanceof RangeError)) throw error;
      return {
        outcome: localFault(413, "request_too_large", "渠道的改写规则使请求体过大或嵌套过深"),
        fired: [],
      };
    }
  }

  #run(subject: Subject, { reach, body: bytes, format }: Unruled): Rewritten {
    const rules = this.#rules[reach];
    // A channel may have a table of statuses alone.
    if (rules.length === 0) return { outcome: { kind: "ruled", body: bytes }, fired: [] };
    const body = bytes && Body.of(bytes);
    const most = subject.facts?.maxTokens || this.raisesTo;
    const scene: Scene = { subject, format, body, most, moves: [], ...fillersOf(this.#parts, subject) };
    const edits: HeaderEdit[] = [];
    const fired: string[] = [];
    for (const rule of rules) {
      if (!rule.applies(scene)) continue;
      fired.push(rule.id);
      for (const act of rule.acts) {
        const refused = act(scene, edits);
        if (refused !== undefined) return { outcome: refused, fired };
      }
    }
    if (body !== undefined && this.#mayMoveLimits) keepLimits(body, scene.moves, most);
    const rehead = (headers: readonly string[]) => edits.reduce((list, edit) => edit(list), [...headers]);
    const outcome = {
      kind: "ruled",
      body: body?.bytes() ?? bytes,
      rehead: edits.length > 0 ? rehead : undefined,
    } as const;
    return { outcome, fired };
  }
}

/** The rules as far as they reach. */
function compiled(rules: Rewrite["rules"], reach: Reach): readonly Rule[] {
  return rules.flatMap((rule) => {
    const actions = rule.do.filter((action) => reaches(rule, action, reach));
    if (actions.length === 0) return [];
    return [{ id: rule.id, applies: testOf(rule.when), acts: actions.map(actOf) }];
  });
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
    tests.push(({ subject }) => globs.some((isLike) => isLike(subject.originModel) || isLike(subject.model)));
  }
  if (formats !== undefined) {
    const names: ReadonlySet<string> = new Set(formats);
    tests.push(({ subject }) => names.has(subject.endpoint));
  }
  if (stream !== undefined) tests.push(({ subject }) => subject.isStream === stream);
  if (attempt !== undefined)
    tests.push(({ subject }) => (attempt === "first") === (subject.facts?.attempt ?? 1) <= 1);
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
    // Stored rules may ask about others: those that were saved before it was refused.
    const isAsked = mayAsk(name);
    tests.push(({ subject }) => {
      const value = isAsked ? subject.facts?.header(name.toLowerCase()) : undefined;
      return value !== undefined && isLike(value);
    });
  }
  return tests;
}

/** Of what has no JSON body nothing can be said, not even that it lacks a field. */
function valueTest(path: string, test: (value: unknown) => boolean): Test {
  const segments = segmentsOf(path) ?? [];
  return ({ body }) => body !== undefined && test(body.read(segments));
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
      return ({ fillHeader }, edits) => {
        // No server sees the blanks around a value.
        const value = fillHeader(action.value)
          .replace(/[^\t\x20-\x7e]/g, "")
          .trim();
        edits.push((headers) => [...without(headers, action.name), action.name, value]);
        return undefined;
      };
    case "removeHeader":
      return (_scene, edits) => {
        edits.push((headers) => without(headers, action.name));
        return undefined;
      };
    case "passHeader":
      return ({ subject }, edits) => {
        const value = subject.facts?.header(action.name.toLowerCase())?.replace(/[^\t\x20-\x7e]/g, "");
        if (value !== undefined)
          edits.push((headers) => [...without(headers, action.name), action.name, value]);
        return undefined;
      };
    case "refuse":
      return ({ fill }) =>
        localFault(action.status, action.code, fill(action.message), { type: "invalid_request_error" });
    case "system":
      return onBody((body, { format, fill }) =>
        addSystem(body, fill(action.text), { format, isBefore: action.before === true }),
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
    return onBody((body, { moves }) => {
      if (action.op === "rename") moves.push({ from: segments, to });
      carry(body, segments, { to, isCopy: action.op === "copy" });
    });
  }
  const isBounded = isLength(segments);
  const make = makerOf(action);
  const creates = action.op !== "cap" && action.op !== "floor" && action.op !== "text";
  return onBody((body, scene) => {
    for (const place of body.places(segments, creates)) {
      const before = readPlace(place);
      const made = make(before, scene);
      const value = isBounded ? within(made, before, scene.most) : made;
      if (value !== undefined) setPlace(body, place, value);
    }
  });
}

type Make = (before: unknown, scene: Scene) => unknown;

/** What an action makes of a value; undefined = it stays. */
function makerOf(action: Exclude<BodyAction, { readonly op: "remove" | "rename" | "copy" }>): Make {
  if (action.op === "text") {
    const { how, value = "", with: other = "" } = action;
    return (before) => (typeof before === "string" ? editText(how, before, { value, other }) : undefined);
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

/** A value of a rule, new each time: what follows may change it. */
function valueMaker(value: unknown): (scene: Scene) => unknown {
  const json = JSON.stringify(value);
  if (typeof value !== "object" && !json.includes("{{")) return () => value;
  return ({ fill, most }) =>
    JSON.parse(json, (name, inner: unknown) =>
      memberWithin(name, typeof inner === "string" ? fill(inner) : inner, most),
    );
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
