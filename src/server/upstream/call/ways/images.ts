// Image generation on a wire of the dialect's own.

import { valuesOf } from "#server/upstream/call/body.ts";
import type { Call, Plan, Prepared, Way } from "#server/upstream/call/call.ts";
import { imageList, imageRequest } from "#server/upstream/handlers/images.ts";
import { known, prepared } from "./told-whole.ts";

export const imagesWay: Way = {
  name: "images",
  prepare: ({ now }, call, plan) => drawn(now, call, plan),
  mayBeTask: true,
};

function drawn(now: () => number, { body, model, seed }: Call, plan: Plan): Prepared {
  const { wire, target } = plan;
  const images = known(plan.dialect.images);
  const asked = imageRequest(valuesOf(body), model, images.formats);
  const encoded = images.encode(asked.request, { wire, target });
  return prepared(plan, encoded, asked.dropped, (reply) => {
    const found = images.decode(reply, { wire, model, seed });
    if (found.kind === "error") return found;
    if (found.kind === "pending") {
      const next = images.taskAddress?.(found.task, target);
      return next === undefined ? undefined : { kind: "told", body: {}, usage: undefined, next };
    }
    if (found.images.length === 0) return undefined;
    return { kind: "told", body: imageList(found, Math.trunc(now() / 1000)), usage: found.usage };
  });
}
