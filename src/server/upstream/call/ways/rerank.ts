// Rerank on a wire of the dialect's own.

import { valuesOf } from "#server/upstream/call/body.ts";
import type { Call, Plan, Prepared, Way } from "#server/upstream/call/call.ts";
import { rerankList, rerankRequest } from "#server/upstream/handlers/rerank.ts";
import { known, prepared } from "./told-whole.ts";

export const rerankWay: Way = {
  name: "rerank",
  prepare: (_tools, call, plan) => ranked(call, plan),
};

function ranked({ body, model, originModel, seed }: Call, plan: Plan): Prepared {
  const { wire, target } = plan;
  const rerank = known(plan.dialect.rerank);
  const { request, dropped } = rerankRequest(valuesOf(body), model);
  return prepared(plan, rerank.encode(request, { wire, target }), dropped, (reply) => {
    const found = rerank.decode(reply, { wire, model, seed });
    if (found.kind === "error") return found;
    return { kind: "told", body: rerankList(found, request, originModel), usage: found.usage };
  });
}
