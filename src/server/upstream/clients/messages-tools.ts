// The tools of a Messages request → the hub: functions, Anthropic's own client tools as functions with a fixed schema, and the web
// search (requirements T18.3).

import { type HubTool, type HubToolChoice, Unmappable } from "#server/upstream/hub/request.ts";
import { asList, asObject, asText, type JsonRecord } from "#server/upstream/json/values.ts";
import { cacheMark } from "./client.ts";

const text = { type: "string" } as const;
const count = { type: "integer" } as const;
const point = { type: "array", items: count, minItems: 2, maxItems: 2 } as const;

interface ClientTool {
  readonly description: string;
  readonly parameters: JsonRecord;
}

/** Tools that the client runs but Anthropic defines; other models get their schema. Source: requirements T18.3, vendor docs. */
const CLIENT_TOOLS: readonly (readonly [prefix: string, tool: ClientTool])[] = [
  [
    "bash_",
    {
      description: "Runs a command in a persistent bash session and returns its output.",
      parameters: {
        type: "object",
        properties: {
          command: { ...text, description: "The command to run." },
          restart: { type: "boolean", description: "Restarts the session instead of running a command." },
        },
      },
    },
  ],
  [
    "text_editor_",
    {
      description: "Views, creates and edits text files.",
      parameters: {
        type: "object",
        properties: {
          command: { ...text, enum: ["view", "create", "str_replace", "insert"] },
          path: { ...text, description: "Absolute path of a file or directory." },
          file_text: { ...text, description: "Content of the file; for create." },
          old_str: { ...text, description: "Text to replace, found exactly once; for str_replace." },
          new_str: { ...text, description: "Text that stands instead; for str_replace." },
          insert_line: {
            ...count,
            description: "Line after which to insert, 0 = before the first; for insert.",
          },
          insert_text: { ...text, description: "Text to insert; for insert." },
          view_range: {
            type: "array",
            items: count,
            description: "First and last line, -1 = to the end; for view.",
          },
        },
        required: ["command", "path"],
      },
    },
  ],
  [
    "memory_",
    {
      description: "Keeps files under /memories over conversations.",
      parameters: {
        type: "object",
        properties: {
          command: { ...text, enum: ["view", "create", "str_replace", "insert", "delete", "rename"] },
          path: text,
          file_text: text,
          old_str: text,
          new_str: text,
          insert_line: count,
          insert_text: text,
          old_path: text,
          new_path: text,
          view_range: { type: "array", items: count },
        },
        required: ["command"],
      },
    },
  ],
  [
    "computer_",
    {
      description: "Uses the mouse and the keyboard of a computer, and takes screenshots.",
      parameters: {
        type: "object",
        properties: {
          action: {
            ...text,
            enum: [
              ..."key hold_key type cursor_position mouse_move left_mouse_down left_mouse_up left_click".split(
                " ",
              ),
              ..."left_click_drag right_click middle_click double_click triple_click scroll wait".split(" "),
              "screenshot",
            ],
          },
          coordinate: point,
          start_coordinate: point,
          text,
          scroll_direction: { ...text, enum: ["up", "down", "left", "right"] },
          scroll_amount: count,
          duration: { type: "number" },
        },
        required: ["action"],
      },
    },
  ],
];

/** Settings of a tool that are only hints; its other members are mapped. */
const TOOL_HINTS = [
  "input_examples",
  "allowed_callers",
  "max_characters",
  "eager_input_streaming",
  "defer_loading",
];

/** `drop` gets the names of dropped hints. Throws: Unmappable. */
export function parseTools(value: unknown, drop: (name: string) => void): readonly HubTool[] | undefined {
  if (!Array.isArray(value)) return undefined;
  return value.flatMap((item: unknown) => {
    const tool = asObject(item);
    if (tool === undefined) return [];
    for (const name of TOOL_HINTS) if (tool[name] !== undefined) drop(`tools[].${name}`);
    return [parseTool(tool)];
  });
}

function parseTool(tool: JsonRecord): HubTool {
  const type = asText(tool["type"]) ?? "custom";
  if (type === "custom") return functionTool(tool, undefined);
  if (type.startsWith("web_search_")) return { kind: "web-search", options: searchOptions(tool) };
  const known = CLIENT_TOOLS.find(([prefix]) => type.startsWith(prefix))?.[1];
  if (known !== undefined) return functionTool(tool, known);
  throw new Unmappable("tools[].type", `该渠道不支持内置工具 ${type.slice(0, 60)}`);
}

function functionTool(tool: JsonRecord, known: ClientTool | undefined): HubTool {
  const name = asText(tool["name"]);
  if (name === undefined || name === "") throw new Unmappable("tools[].name", "工具缺少名称");
  const strict = tool["strict"];
  return {
    kind: "function",
    name,
    description: asText(tool["description"]) ?? known?.description,
    parameters: asObject(tool["input_schema"]) ?? known?.parameters,
    ...(typeof strict === "boolean" && { strict }),
    cache: cacheMark(tool),
  };
}

/** OpenAI's search options; the number of searches and domains keep names of their own. */
function searchOptions(tool: JsonRecord): JsonRecord {
  const allowed = asList(tool["allowed_domains"]);
  const blocked = asList(tool["blocked_domains"]);
  const { type: _, ...place } = asObject(tool["user_location"]) ?? {};
  const uses = tool["max_uses"];
  return {
    ...(typeof uses === "number" && { max_uses: uses }),
    ...(allowed.length + blocked.length > 0 && {
      filters: {
        ...(allowed.length > 0 && { allowed_domains: allowed }),
        ...(blocked.length > 0 && { blocked_domains: blocked }),
      },
    }),
    ...(Object.keys(place).length > 0 && { user_location: { type: "approximate", approximate: place } }),
  };
}

export function parseToolChoice(value: unknown): {
  readonly toolChoice: HubToolChoice | undefined;
  readonly parallelToolCalls: boolean | undefined;
} {
  const choice = asObject(value);
  const parallelToolCalls = choice?.["disable_parallel_tool_use"] === true ? false : undefined;
  return { toolChoice: choice && choiceOf(choice), parallelToolCalls };
}

function choiceOf({ type, name }: JsonRecord): HubToolChoice | undefined {
  if (type === "auto" || type === "none" || type === "any") return { kind: type };
  if (type === "tool" && typeof name === "string") return { kind: "tool", name };
  throw new Unmappable("tool_choice.type", "无法识别的取值");
}
