// Gemini's tools and tool choice → the hub (vendors/gemini-clients, requirements T18.6). Pure.

import { type HubTool, type HubToolChoice, Unmappable } from "#server/upstream/hub/request.ts";
import { asText, type JsonRecord } from "#server/upstream/json/values.ts";
import { camel, member, objectMember, objectsMember } from "./generate-fields.ts";
import { jsonSchema } from "./generate-schema.ts";

/** Names of the web search tool in all API versions. */
const SEARCHES: ReadonlySet<string> = new Set([
  "googleSearch",
  "googleSearchRetrieval",
  "enterpriseWebSearch",
]);

/** Throws: Unmappable, for tools that only Google runs. */
export function toolsOf(tools: readonly JsonRecord[]): HubTool[] {
  return tools.flatMap((tool) =>
    Object.keys(tool).flatMap((given): HubTool[] => {
      const name = camel(given);
      if (tool[given] === null || tool[given] === undefined) return [];
      if (name === "functionDeclarations") return objectsMember(tool, name).map(functionOf);
      if (SEARCHES.has(name)) return [{ kind: "web-search", options: {} }];
      throw new Unmappable(`tools[].${given}`, "该渠道不支持此内置工具");
    }),
  );
}

function functionOf(declaration: JsonRecord): HubTool {
  const own = objectMember(declaration, "parameters");
  return {
    kind: "function",
    name: asText(declaration["name"]) ?? "",
    description: asText(declaration["description"]),
    parameters: objectMember(declaration, "parametersJsonSchema") ?? (own && jsonSchema(own)),
  };
}

export function toolChoiceOf(config: JsonRecord | undefined): HubToolChoice | undefined {
  const calling = config && objectMember(config, "functionCallingConfig");
  if (calling === undefined) return undefined;
  const allowed = member(calling, "allowedFunctionNames");
  const names = Array.isArray(allowed) ? allowed.filter((name) => typeof name === "string") : [];
  const [only] = names;
  switch (asText(calling["mode"])?.toUpperCase()) {
    case "NONE":
      return { kind: "none" };
    case "ANY":
      if (only === undefined) return { kind: "any" };
      return names.length === 1 ? { kind: "tool", name: only } : { kind: "subset", names, isRequired: true };
    case "AUTO":
    case "VALIDATED":
      return names.length === 0 ? { kind: "auto" } : { kind: "subset", names, isRequired: false };
    default:
      return undefined;
  }
}
