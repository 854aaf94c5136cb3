// OpenAI's newer models refuse in Chat what they take in Responses: tools together with reasoning, and the effort `max`. Other vendors'
// Responses refuse tools that their chat takes as functions. Decides which requests use the other format, and on which wire. Pure.
import { modelEdits, type Wire } from "#contract/provider.ts";
import { clients } from "#server/upstream/clients/index.ts";
import { toolBook } from "#server/upstream/clients/responses-tools.ts";
import { type Effort, effortOf, effortWord } from "#server/upstream/hub/request.ts";
import { readMember } from "#server/upstream/json/scan.ts";
import { valuesOf } from "./body.ts";
import type { Call } from "./call.ts";
import { splitEffort } from "./effort-name.ts";

interface Wish {
  readonly hasTools: boolean;
  readonly effort: Effort | undefined;
}

type Asked = Pick<Call, "target" | "endpoint" | "body" | "model" | "isStream">;

const BEYOND_CHAT = { isBeyondChat: true } as const;
const BEYOND_RESPONSES = { isBeyondResponses: true } as const;

/** Whether a request would be refused in the format its plan begins with, and accepted in the other one. */
export function beyond(asked: Asked): typeof BEYOND_CHAT | typeof BEYOND_RESPONSES | undefined {
  if (asked.endpoint === "responses") return isBeyondResponses(asked) ? BEYOND_RESPONSES : undefined;
  return isBeyondChat(asked) ? BEYOND_CHAT : undefined;
}

/** Whether the request has tool types that this vendor's own Responses do not know. */
function isBeyondResponses({ target, body, model }: Asked): boolean {
  const rule = target.provider.quirks?.functionToolsOnly;
  if (rule === undefined || rule.but.some((prefix) => model.startsWith(prefix))) return false;
  try {
    const { tools, namespaced, builtIns } = toolBook(valuesOf(body));
    return namespaced.size > 0 || builtIns.size > 0 || tools.some(({ kind }) => kind === "custom");
  } catch {
    return false;
  }
}

/** Whether the model would refuse a request in Chat that it takes in Responses. Source: decision 032. */
function isBeyondChat(asked: Asked): boolean {
  const { quirks } = asked.target.provider;
  const rules = quirks?.forModels && modelEdits(quirks, asked.model);
  const wish = rules?.chatToolsAt && wishOf(asked);
  if (wish === undefined) return false;
  const effort = splitEffort(quirks, asked.model).effort ?? wish.effort;
  if (effort === "max" && rules?.noMaxInChat === true) return true;
  return wish.hasTools && rules?.chatToolsAt?.includes(effort ?? "") === false;
}

/** undefined = the endpoint is never sent as Chat, or the request cannot be parsed. */
function wishOf({ endpoint, body, model, isStream }: Asked): Wish | undefined {
  if (endpoint === "chat") {
    const said = (name: string) => readMember(body.bytes, body.object, name);
    const isFilled = (list: unknown) => Array.isArray(list) && list.length > 0;
    const hasTools = isFilled(said("tools")) || isFilled(said("functions"));
    return { hasTools, effort: effortOf(said("reasoning_effort")) };
  }
  if (endpoint !== "messages" && endpoint !== "generate") return undefined;
  try {
    const { tools = [], reasoning } = clients[endpoint].parse(valuesOf(body), { model, isStream });
    return { hasTools: tools.length > 0, effort: reasoning?.effort ?? (reasoning && effortWord(reasoning)) };
  } catch {
    // A request that cannot be parsed is refused when it is encoded.
    return undefined;
  }
}

/** The Responses path as a wire of its own; undefined = there is none. */
export function responsesWire({ paths, quirks, ...wire }: Wire): Wire | undefined {
  if (paths.responses === undefined) return undefined;
  const { effortInName } = quirks ?? {};
  return {
    ...wire,
    dialect: "responses",
    paths: { chat: paths.responses },
    quirks: {
      dropFields: ["temperature", "top_p"],
      ...(effortInName !== undefined && { effortInName }),
    },
  };
}
