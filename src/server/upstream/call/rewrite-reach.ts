// Which actions of a rule are for which kind of request. Pure.
import type { RewriteAction, RewriteRule, RewriteWhen } from "#contract/rewrite.ts";
import type { Reach } from "./call.ts";

const ON_HEADERS: ReadonlySet<RewriteAction["op"]> = new Set(["setHeader", "removeHeader", "passHeader"]);

/** Whether an action of a rule is for requests that rules reach so far. */
export function reaches(rule: RewriteRule, action: RewriteAction, reach: Reach): boolean {
  if (reach === "request") return true;
  if (reach === "control") return ON_HEADERS.has(action.op);
  if (reach === "opening") return ON_HEADERS.has(action.op) || action.op === "refuse";
  // What says nothing of a session is for bodies of another shape.
  if (action.op === "refuse") return placesAsked(rule.when).some(isInSession);
  return placesOf(action).length > 0 && placesOf(action).every(isInSession);
}

function isInSession(path: string): boolean {
  return path.startsWith("/session/");
}

function placesOf(action: RewriteAction): readonly string[] {
  if (!("path" in action)) return [];
  return "to" in action ? [action.path, action.to] : [action.path];
}

function placesAsked(when: RewriteWhen | undefined): readonly string[] {
  return [when ?? {}, ...(when?.any ?? [])].flatMap(({ has = [], lacks = [], equals = {}, like = {} }) => [
    ...has,
    ...lacks,
    ...Object.keys(equals),
    ...Object.keys(like),
  ]);
}
