// Tools and tool choice in Gemini's format (vendors/gemini-request). Pure.

import {
  type HubRequest,
  type HubTool,
  type HubToolChoice,
  Unmappable,
} from "#server/upstream/hub/request.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";
import { cleanParameters, type SchemaBudget, toolsBudget } from "./gemini-schema.ts";
import { generationOf } from "./gemini-thinking.ts";

export interface ToolBox {
  readonly tools: readonly JsonRecord[] | undefined;
  readonly toolConfig: JsonRecord | undefined;
}

type FunctionTool = HubTool & { kind: "function" };

/** Functions of these names request Gemini's built-in tools (a convention of One API). Source: vendors/gemini-request. */
const BUILT_IN: ReadonlySet<string> = new Set(["googleSearch", "codeExecution", "urlContext"]);

/** Throws: Unmappable. */
export function toolBox(request: HubRequest, wireName: (name: string) => string): ToolBox {
  const { tools = [], toolChoice } = request;
  if (tools.length === 0) return { tools: undefined, toolConfig: undefined };
  const builtIn: JsonRecord[] = [];
  const declarations: JsonRecord[] = [];
  const budget = toolsBudget();
  for (const tool of tools) {
    if (tool.kind === "web-search") builtIn.push({ googleSearch: {} });
    else if (isBuiltIn(tool)) builtIn.push({ [tool.name]: {} });
    else if (isOffered(tool.name, toolChoice)) declarations.push(declared(tool, wireName, budget));
  }
  if (builtIn.length > 0 && declarations.length > 0 && generationOf(request.model) < 3)
    throw new Unmappable("tools", "该模型不能同时使用内置工具与函数工具");
  if (declarations.length === 0)
    return { tools: builtIn.length > 0 ? builtIn : undefined, toolConfig: undefined };
  // The mode that enforces the schema of arguments. Older models do not know it.
  const isStrict =
    generationOf(request.model) >= 2.5 && tools.some((tool) => "strict" in tool && tool.strict === true);
  return {
    tools: [...builtIn, { functionDeclarations: declarations }],
    toolConfig: configOf(toolChoice, isStrict, wireName),
  };
}

function isBuiltIn(tool: HubTool): tool is FunctionTool {
  return (
    tool.kind === "function" && BUILT_IN.has(tool.name) && cleanParameters(tool.parameters) === undefined
  );
}

/** With a free choice among a subset, the other tools are not sent. */
function isOffered(name: string, choice: HubToolChoice | undefined): boolean {
  return choice?.kind !== "subset" || choice.isRequired || choice.names.includes(name);
}

function declared(
  tool: Exclude<HubTool, { kind: "web-search" }>,
  wireName: (name: string) => string,
  budget: SchemaBudget,
): JsonRecord {
  const parameters = tool.kind === "custom" ? CUSTOM_INPUT : cleanParameters(tool.parameters, budget);
  return {
    name: wireName(tool.name),
    ...(tool.description !== undefined && { description: tool.description }),
    ...(parameters !== undefined && { parameters }),
  };
}

/** A custom tool becomes a function with one text. */
const CUSTOM_INPUT = { type: "object", properties: { input: { type: "string" } }, required: ["input"] };

function configOf(
  choice: HubToolChoice | undefined,
  isStrict: boolean,
  wireName: (name: string) => string,
): JsonRecord | undefined {
  const config = (mode: string, names?: readonly string[]) => ({
    functionCallingConfig: {
      mode,
      ...(names !== undefined && { allowedFunctionNames: names.map(wireName) }),
    },
  });
  switch (choice?.kind) {
    case undefined:
      return isStrict ? config("VALIDATED") : undefined;
    case "auto":
      return config(isStrict ? "VALIDATED" : "AUTO");
    case "none":
      return config("NONE");
    case "any":
      return config("ANY");
    case "tool":
      return config("ANY", [choice.name]);
    case "subset":
      return choice.isRequired ? config("ANY", choice.names) : config("AUTO");
  }
}
