// Tools of the Responses format → the hub, and their calls back (requirements T18.5): functions are flat, custom tools take text, OpenAI's
// shell and patch tools become functions with a fixed schema, namespaces are flattened.

import {
  type HubTool,
  type HubToolCall,
  type HubToolChoice,
  Unmappable,
} from "#server/upstream/hub/request.ts";
import { asObject, type JsonRecord, readJson } from "#server/upstream/json/values.ts";
import { flagIn, objectsIn, textIn } from "./client.ts";

/** A tool that OpenAI's models know by its type: a function for other models, with calls in the client's format. */
interface BuiltIn {
  readonly description: string;
  readonly parameters: JsonRecord;
  /** Type of its call items. */
  readonly item: string;
  /** Member of the item with the arguments. */
  readonly member: string;
  /** More members of its call items. */
  readonly more?: JsonRecord;
}

const text = { type: "string" } as const;
const texts = { type: "array", items: text } as const;

const BUILT_INS: Readonly<Record<string, BuiltIn>> = {
  local_shell: {
    description: "Runs a command on the user's machine and returns its output.",
    parameters: {
      type: "object",
      properties: { command: texts, working_directory: text, timeout_ms: { type: "integer" } },
      required: ["command"],
    },
    item: "local_shell_call",
    member: "action",
  },
  shell: {
    description: "Runs shell commands on the user's machine and returns their output.",
    parameters: {
      type: "object",
      properties: {
        commands: texts,
        timeout_ms: { type: "integer" },
        max_output_length: { type: "integer" },
      },
      required: ["commands"],
    },
    item: "shell_call",
    member: "action",
  },
  apply_patch: {
    description:
      "Creates, updates or deletes one file. `diff` is in the V4A format; it is left out to delete.",
    parameters: {
      type: "object",
      properties: {
        type: { type: "string", enum: ["create_file", "update_file", "delete_file"] },
        path: text,
        diff: text,
      },
      required: ["type", "path"],
    },
    item: "apply_patch_call",
    member: "operation",
  },
  // Codex defers many tools and has the model search for them; it describes the search itself.
  tool_search: {
    description: "Searches for more tools that can be called from then on.",
    parameters: {
      type: "object",
      properties: { query: text, limit: { type: "integer" } },
      required: ["query"],
    },
    item: "tool_search_call",
    member: "arguments",
    more: { execution: "client" },
  },
};

const SEARCH = "tool_search";

/** Separator of a namespace and a tool name. */
const SEPARATOR = "__";

function flatName(name: string, namespace: string | undefined): string {
  return namespace === undefined ? name : namespace + SEPARATOR + name;
}

/** The tools of a body as hub tools, and how their calls are rendered. */
export interface ToolBook {
  readonly tools: readonly HubTool[];
  /** Tools that only OpenAI can run; they are dropped. */
  readonly dropped: readonly string[];
  /** Flat names of tools in namespaces. */
  readonly namespaced: ReadonlyMap<string, { readonly namespace: string; readonly name: string }>;
  /** The function names of built-in tools. */
  readonly builtIns: ReadonlySet<string>;
}

/** Codex sends tools in an input item; on other wires only their position in the history is lost. */
export const ADDED_TOOLS = "additional_tools";
/** Tools found by a tool search can be called afterwards. */
export const FOUND_TOOLS = "tool_search_output";

/** A tool search that OpenAI ran itself, or its result: on other wires all tools of the body are offered from the start. */
export function isHostedSearch(item: JsonRecord): boolean {
  const isSearch = item["type"] === FOUND_TOOLS || item["type"] === "tool_search_call";
  return isSearch && (item["execution"] === "server" || textIn(item, "call_id") === undefined);
}

/** The result of a tool search as text. */
export function foundTools(item: JsonRecord): string {
  const names = toolBook({ tools: item["tools"] }).tools.flatMap((tool) =>
    "name" in tool ? [tool.name] : [],
  );
  return names.length === 0 ? "No tools found." : `These tools can be called now: ${names.join(", ")}`;
}

/** Reads the tools of a body, and those that its input adds. */
export function toolBook(body: JsonRecord): ToolBook {
  const tools: HubTool[] = [];
  const dropped: string[] = [];
  const namespaced = new Map<string, { namespace: string; name: string }>();
  const builtIns = new Set<string>();
  const added = objectsIn(body, "input").filter(({ type }) => type === ADDED_TOOLS || type === FOUND_TOOLS);
  for (const tool of [body, ...added].flatMap((giver) => objectsIn(giver, "tools"))) {
    const type = textIn(tool, "type") ?? "function";
    const builtIn = BUILT_INS[type];
    if (builtIn !== undefined && (type !== SEARCH || tool["execution"] === "client")) {
      builtIns.add(type);
      tools.push({ kind: "function", name: type, ...described(builtIn, tool) });
    } else if (type === "namespace") tools.push(...innerTools(tool, namespaced));
    else {
      const plain = plainTool(tool, textIn(tool, "name") ?? "");
      if (plain.length === 0) dropped.push(`tools[].${type}`);
      tools.push(...plain);
    }
  }
  return { tools: withoutTwins(tools), dropped, namespaced, builtIns };
}

/** A client describes only its tool search. */
function described({ description, parameters }: BuiltIn, tool: JsonRecord) {
  return {
    description: textIn(tool, "description") ?? description,
    parameters: asObject(tool["parameters"]) ?? parameters,
  };
}

/** A tool may be found twice; vendors refuse duplicate names. */
function withoutTwins(tools: readonly HubTool[]): readonly HubTool[] {
  const names = new Set<string>();
  return tools.filter((tool) => {
    if (!("name" in tool)) return true;
    const isNew = !names.has(tool.name);
    names.add(tool.name);
    return isNew;
  });
}

/** The tools of a namespace under flat names, which are recorded. */
function innerTools(tool: JsonRecord, names: Map<string, { namespace: string; name: string }>): HubTool[] {
  const namespace = textIn(tool, "name") ?? "";
  return objectsIn(tool, "tools").flatMap((inner) => {
    const name = textIn(inner, "name") ?? "";
    const flat = flatName(name, namespace);
    names.set(flat, { namespace, name });
    return plainTool(inner, flat);
  });
}

function plainTool(tool: JsonRecord, name: string): HubTool[] {
  const type = textIn(tool, "type") ?? "function";
  const description = textIn(tool, "description");
  if (type === "function")
    return [
      {
        kind: "function",
        name,
        description,
        parameters: asObject(tool["parameters"]),
        strict: flagIn(tool, "strict"),
      },
    ];
  if (type === "custom") return [{ kind: "custom", name, description, format: asObject(tool["format"]) }];
  if (!type.startsWith("web_search")) return [];
  const { type: _, ...options } = tool;
  return [{ kind: "web-search", options }];
}

/** Throws: Unmappable when a tool is demanded that only OpenAI can run. */
export function toolChoice(body: JsonRecord): HubToolChoice | undefined {
  const choice = body["tool_choice"];
  if (choice === "auto" || choice === "none") return { kind: choice };
  if (choice === "required") return { kind: "any" };
  const object = asObject(choice);
  if (object === undefined) return undefined;
  const type = textIn(object, "type") ?? "";
  if (type === "allowed_tools") {
    const names = objectsIn(object, "tools").map(
      (tool) => textIn(tool, "name") ?? textIn(tool, "type") ?? "",
    );
    return { kind: "subset", names, isRequired: object["mode"] === "required" };
  }
  const name = textIn(object, "name") ?? (type in BUILT_INS ? type : undefined);
  if (name === undefined)
    throw new Unmappable("tool_choice", `该渠道不支持强制使用工具 ${type.slice(0, 40)}`);
  return { kind: "tool", name: flatName(name, textIn(object, "namespace")) };
}

/** A call in a client's history; undefined = the item is no call. */
export function callOfItem(item: JsonRecord): HubToolCall | undefined {
  const type = textIn(item, "type") ?? "";
  const id = textIn(item, "call_id") ?? textIn(item, "id") ?? "";
  const name = flatName(textIn(item, "name") ?? "", textIn(item, "namespace"));
  if (type === "function_call") return { id, name, arguments: textIn(item, "arguments") || "{}" };
  if (type === "custom_tool_call")
    return { id, name, arguments: textIn(item, "input") ?? "", isCustom: true };
  for (const [tool, builtIn] of Object.entries(BUILT_INS)) {
    if (builtIn.item !== type || isHostedSearch(item)) continue;
    const { type: kind, ...action } = asObject(item[builtIn.member]) ?? {};
    const values = tool === "apply_patch" ? { type: kind, ...action } : action;
    return { id, name: tool, arguments: JSON.stringify(values) };
  }
  return undefined;
}

/** A finished call as an output item of the client's kind. `id` is the item's. */
export function itemOfCall(call: HubToolCall, id: string, book: ToolBook): JsonRecord {
  const shared = { id, call_id: call.id, status: "completed" };
  const builtIn = book.builtIns.has(call.name) ? BUILT_INS[call.name] : undefined;
  if (builtIn !== undefined) {
    const values = readJson(call.arguments) ?? {};
    const action = call.name === "local_shell" ? { type: "exec", env: {}, ...values } : values;
    return { type: builtIn.item, ...shared, ...builtIn.more, [builtIn.member]: action };
  }
  const known = book.namespaced.get(call.name);
  const named = known === undefined ? { name: call.name } : { name: known.name, namespace: known.namespace };
  return call.isCustom === true
    ? { type: "custom_tool_call", ...shared, ...named, input: call.arguments }
    : { type: "function_call", ...shared, ...named, arguments: call.arguments };
}

/** Whether a call's arguments can be streamed. */
export function isStreamed(name: string, book: ToolBook): boolean {
  return !book.builtIns.has(name);
}
