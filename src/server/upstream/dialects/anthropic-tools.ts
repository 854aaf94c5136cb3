// Tools and tool choice in Anthropic's format (vendors/claude-request, requirements T18.2).

import { type HubRequest, type HubTool, Unmappable } from "#server/upstream/hub/request.ts";
import { asObject, type JsonRecord } from "#server/upstream/json/values.ts";
import { cacheControl } from "./anthropic-turns.ts";

/** Number of searches by the requested context size. Source: vendors/claude-request (New API). */
const SEARCH_USES: Readonly<Record<string, number>> = { low: 1, medium: 5, high: 10 };

/** The members `tools` and `tool_choice`; none where there are no tools. `forces`: a call may be forced. Throws: Unmappable. */
export function toolsOf(request: HubRequest, nameOf: (name: string) => string, forces: boolean): JsonRecord {
  const choice = request.toolChoice;
  // The wire has no choice among several tools: the other tools are dropped.
  const offered = (request.tools ?? []).filter(
    (tool) => choice?.kind !== "subset" || tool.kind === "web-search" || choice.names.includes(tool.name),
  );
  if (offered.length === 0) {
    if (choice !== undefined && choice.kind !== "auto" && choice.kind !== "none")
      throw new Unmappable("tool_choice", "没有可用的工具");
    return {};
  }
  const toolChoice = choiceOf(request, nameOf, forces);
  return {
    tools: offered.map((tool) => toolOf(tool, nameOf)),
    ...(toolChoice !== undefined && { tool_choice: toolChoice }),
  };
}

function toolOf(tool: HubTool, nameOf: (name: string) => string): JsonRecord {
  switch (tool.kind) {
    case "function":
      return {
        name: nameOf(tool.name),
        ...(tool.description !== undefined && { description: tool.description }),
        input_schema: { ...tool.parameters, type: "object" },
        ...(tool.strict !== undefined && { strict: tool.strict }),
        ...cacheControl(tool.cache),
      };
    case "custom":
      return {
        name: nameOf(tool.name),
        description: [tool.description ?? "", grammarOf(tool.format)]
          .filter((text) => text !== "")
          .join("\n\n"),
        input_schema: { type: "object", properties: { input: { type: "string" } }, required: ["input"] },
      };
    case "web-search":
      return searchOf(tool.options);
    default:
      throw new Error(`unknown tool ${JSON.stringify(tool satisfies never)}`);
  }
}

/** A grammar cannot be enforced on this wire; it is put into the description. */
function grammarOf(format: JsonRecord | undefined): string {
  const grammar = asObject(format?.["grammar"]) ?? format;
  const definition = grammar?.["definition"];
  return typeof definition === "string" ? `The input must match this grammar:\n${definition}` : "";
}

function searchOf(options: JsonRecord): JsonRecord {
  const size = options["search_context_size"];
  const uses = options["max_uses"] ?? (typeof size === "string" ? SEARCH_USES[size] : undefined);
  const place = asObject(options["user_location"]);
  const filters = asObject(options["filters"]);
  const allowed = filters?.["allowed_domains"];
  const blocked = filters?.["blocked_domains"];
  return {
    type: "web_search_20250305",
    name: "web_search",
    ...(typeof uses === "number" && { max_uses: uses }),
    ...(Array.isArray(allowed) && { allowed_domains: allowed }),
    ...(Array.isArray(blocked) && { blocked_domains: blocked }),
    // OpenAI's location is nested one level deeper.
    ...(place !== undefined && {
      user_location: { type: "approximate", ...(asObject(place["approximate"]) ?? place) },
    }),
  };
}

function choiceOf(
  request: HubRequest,
  nameOf: (name: string) => string,
  forces: boolean,
): JsonRecord | undefined {
  const { toolChoice, parallelToolCalls } = request;
  const alone = parallelToolCalls === false ? { disable_parallel_tool_use: true } : {};
  switch (toolChoice?.kind) {
    case undefined:
      return parallelToolCalls === false ? { type: "auto", ...alone } : undefined;
    case "none":
      return { type: "none" };
    case "auto":
      return { type: "auto", ...alone };
    case "any":
      return { type: forces ? "any" : "auto", ...alone };
    case "tool":
      return forces ? { type: "tool", name: nameOf(toolChoice.name), ...alone } : { type: "auto", ...alone };
    case "subset":
      return { type: forces && toolChoice.isRequired ? "any" : "auto", ...alone };
    default:
      throw new Error(`unknown choice ${JSON.stringify(toolChoice satisfies never)}`);
  }
}
