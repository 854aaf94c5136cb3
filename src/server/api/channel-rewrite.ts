// Handler: what a channel's rules would make of a request (requirements C32). Nothing is sent or stored; the key is not shown.
import type { channelApi } from "#contract/channel.ts";
import { readMapping } from "#server/channels/candidates.ts";
import { faults } from "#server/errors.ts";
import type { ClientBody } from "#server/upstream/call/body.ts";
import { previewCall } from "#server/upstream/call/preview.ts";
import { CompiledRules } from "#server/upstream/call/rewrite.ts";
import { Cancellation } from "#server/upstream/cancellation.ts";
import { readMember, wholeObject } from "#server/upstream/json/object.ts";
import type { Handlers } from "./call.ts";
import { sourceOf } from "./channel-runs.ts";

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
  const rules = new CompiledRules({
    channelId: asked.id ?? 0,
    rewrite: asked.rewrite,
    statusMap: undefined,
    hash: ctx.secrets.hash,
  });
  const { clock, egress, options } = ctx;
  const made = await previewCall(
    { now: clock.now, egress, optionText: (name) => options.get(name) },
    {
      target,
      endpoint: asked.format,
      body,
      model: mapping.get(model) ?? model,
      originModel: model,
      isStream: readMember(body.bytes, body.object, "stream") === true,
      isArray: false,
      apiVersion: "",
      passHeaders: [],
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
  );
  if (made.kind === "fault") throw faults.refused(`这个请求发不出去：${made.publicMessage}`);
  const { refused, url, before, after, fired, isSignedLate } = made;
  const pairs = Array.from({ length: made.headers.length / 2 }, (_, index) => ({
    name: made.headers[2 * index] ?? "",
    value: made.headers[2 * index + 1] ?? "",
  }));
  return {
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

function bodyOf(text: string): ClientBody {
  const bytes = Buffer.from(text);
  const object = wholeObject(bytes);
  if (object === undefined) throw faults.refused("示例请求必须是 JSON 对象");
  return { bytes, object, model: readMember(bytes, object, "model") };
}
