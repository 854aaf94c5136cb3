// One of New API's operations on a request as actions of ours.
import type { TEXT_EDITS } from "#contract/rewrite.ts";
import { literal } from "#contract/rewrite-law.ts";
import { asObject, asText, type JsonRecord } from "#server/upstream/json/values.ts";
import { headerText, plainValue, settingActions } from "./rule-values.ts";

export type Operated =
  /** `needs` = a place without which the call ends there. */
  { readonly actions: readonly unknown[]; readonly needs?: string } | { readonly unsaid: string };

/** A path with dots as a JSON Pointer; undefined = it has words that a pointer lacks. */
export function pointerOf(path: string): string | undefined {
  if (path === "" || /[#|@()?!<>=]/.test(path)) return undefined;
  // A backslash takes the next character as it is.
  const parts = [...path.matchAll(/((?:\\.|[^.\\])*)(\.|$)/g)].map(([, part = ""]) => part);
  const names = path.endsWith(".") ? parts : parts.slice(0, -1);
  if (names.length === 0 || names.includes("")) return undefined;
  return names
    .map((name) => `/${name.replace(/\\(.)/g, "$1").replaceAll("~", "~0").replaceAll("/", "~1")}`)
    .join("");
}

const TEXTS: Readonly<Record<string, (typeof TEXT_EDITS)[number]>> = {
  trim_prefix: "trimPrefix",
  trim_suffix: "trimSuffix",
  ensure_prefix: "ensurePrefix",
  ensure_suffix: "ensureSuffix",
  trim_space: "trimSpace",
  to_lower: "toLower",
  to_upper: "toUpper",
};

/** What an operation does; whether it applies is another matter. */
export function operationOf(operation: JsonRecord): Operated {
  const mode = asText(operation["mode"]) ?? "";
  const { value } = operation;
  if (mode === "return_error") return refusalOf(value);
  if (mode.includes("header")) return headerOf(mode, operation);
  if (mode === "move" || mode === "copy") return carryOf(mode, operation);
  const written = asText(operation["path"]) ?? "";
  const path = pointerOf(written);
  if (path === undefined) return { unsaid: `路径 ${written}` };
  return bodyOf(mode, path, operation);
}

function bodyOf(mode: string, path: string, operation: JsonRecord): Operated {
  const { value } = operation;
  const keeps = operation["keep_origin"] === true;
  const plain = plainValue(value ?? null);
  if (mode === "set")
    return { actions: keeps ? [{ op: "default", path, value: plain }] : settingActions(path, value ?? null) };
  if (mode === "delete") return { actions: [{ op: "remove", path }] };
  if (mode === "append" || mode === "prepend") {
    // Objects are merged alike by both; only `keep_origin` says who wins.
    const isObject = asObject(value) !== undefined;
    const op = isObject ? (keeps ? "prepend" : "append") : mode;
    return { actions: [{ op, path, value: plain }] };
  }
  return textOf(mode, path, operation);
}

function textOf(mode: string, path: string, { value, from, to }: JsonRecord): Operated {
  if (mode === "replace") {
    const action = { op: "text", path, how: "replace", value: asText(from) ?? "", with: asText(to) ?? "" };
    return { actions: [action] };
  }
  const how = TEXTS[mode];
  if (how === undefined) return { unsaid: `操作 ${mode}` };
  return { actions: [{ op: "text", path, how, ...(typeof value === "string" && { value }) }] };
}

function carryOf(mode: "move" | "copy", { from, to }: JsonRecord): Operated {
  const path = pointerOf(asText(from) ?? "");
  const target = pointerOf(asText(to) ?? "");
  if (path === undefined || target === undefined) return { unsaid: `路径 ${String(from)} → ${String(to)}` };
  return { actions: [{ op: mode === "move" ? "rename" : "copy", path, to: target }], needs: path };
}

function refusalOf(value: unknown): Operated {
  const said = asObject(value) ?? { message: value };
  const { message, status_code: status = 400, code = "invalid_request" } = said;
  if (typeof message !== "string" || message === "") return { unsaid: "没有文字的拒绝" };
  return { actions: [{ op: "refuse", status, code, message: literal(message) }] };
}

function headerOf(mode: string, { path, value }: JsonRecord): Operated {
  const name = asText(path) ?? "";
  if (mode === "delete_header") return { actions: [{ op: "removeHeader", name }] };
  if (mode === "set_header" && typeof value === "string")
    return { actions: [{ op: "setHeader", name, value: headerText(value) }] };
  if (mode === "pass_headers" && Array.isArray(value))
    return { actions: value.map((one: unknown) => ({ op: "passHeader", name: String(one) })) };
  return { unsaid: `操作 ${mode}` };
}
