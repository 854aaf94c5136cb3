// Handler: what a channel's rules would make of a request (requirements C32). Nothing is sent or stored; the key is not shown.
import type { channelApi } from "#contract/channel.ts";
import { readMapping } from "#server/channels/candidates.ts";
import { faults } from "#server/errors.ts";
import type { ClientBody } from "#server/upstream/call/body.ts";
import { Cancellation } from "#server/upstream/cancellation.ts";
import { type RelayFault, unmappableFault } from "#server/upstream/errors/fault.ts";
import { Unmappable } from "#server/upstream/hub/request.ts";
import { readMember, wholeObject } from "#server/upstream/json/object.ts";
import { isBackground, previewRequest } from "#server/upstream/preview.ts";
import { BadOrder } from "#server/upstream/video/order.ts";
import type { Handlers } from "./call.ts";
import { rulesOf, sourceOf } from "./channel-runs.ts";

type Preview = Handlers<{ channel: typeof channelApi }>["channel"]["previewRewrite"];

/** In place of the key of a channel that is being written and has none yet. */
const NO_KEY = "sk-0000000000000000";

export const previewRewrite: Preview = async (ctx, { body: asked, actor }) => {
  const isUnkeyed = asked.id === undefined && asked.key.trim() === "";
  const target = await sourceOf(ctx, isUnkeyed ? { ...asked, key: NO_KEY } : asked);
  const body = bodyOf(asked.body);
  const { model: named } = body;
  const model = typeof named === "string" && named !== "" ? named : "model";
  const mapping = readMapping(asked.model_mapping ?? "");
  const headers = new Map(
    Object.entries(asked.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const rules = rulesOf(ctx, asked);
  const { clock, egress, options } = ctx;
  const keepsState = options.get("ResponsesStateEnabled");
  if (!keepsState && isBackground(asked.format, body))
    throw faults.refused("后台响应须先开启“允许上游保存 Responses”");
  const made = await shown(() =>
    previewRequest(
      { now: clock.now, egress, optionText: (name) => options.get(name) },
      asked.format,
      {
        target,
        body,
        model: mapping.get(model) ?? model,
        originModel: model,
        isStream: readMember(body.bytes, body.object, "stream") === true,
        isArray: false,
        apiVersion: "",
        passHeaders: [],
        isStored: keepsState && readMember(body.bytes, body.object, "store") !== false,
        seed: "preview",
        facts: {
          header: (name) => headers.get(name),
          attempt: 1,
          userId: actor.id,
          maxTokens: undefined,
          nowMs: clock.now(),
        },
        cancellation: new Cancellation(),
        trace: { firstByteMs: 0, isSent: false },
      },
      rules,
    ),
  );
  if (made.kind === "fault") throw faults.refused(`这个请求发不出去：${made.publicMessage}`);
  const { refused, reach, method, url, before, after, fired, isSignedLate } = made;
  const pairs = Array.from({ length: made.headers.length / 2 }, (_, index) => ({
    name: made.headers[2 * index] ?? "",
    value: made.headers[2 * index + 1] ?? "",
  }));
  return {
    reach,
    method,
    url,
    headers: pairs,
    before,
    after,
    fired: [...fired],
    refused: refused === undefined ? "" : `${refused.status} ${refused.code}：${refused.publicMessage}`,
    signed_late: isSignedLate,
    raises_to: rules.raisesTo,
  };
};

/** Throws: AppError where the example is no request that could be sent. */
async function shown<Made>(make: () => Promise<Made> | Made): Promise<Made | RelayFault> {
  try {
    return await make();
  } catch (error) {
    if (error instanceof BadOrder) throw faults.refused("示例请求不是完整的视频请求：须有 model 和 prompt");
    if (error instanceof Unmappable) return unmappableFault(error.what, error.reason);
    throw error;
  }
}

function bodyOf(text: string): ClientBody {
  const bytes = Buffer.from(text);
  const object = wholeObject(bytes);
  if (object === undefined) throw faults.refused("示例请求必须是 JSON 对象");
  return { bytes, object, model: readMember(bytes, object, "model") };
}
