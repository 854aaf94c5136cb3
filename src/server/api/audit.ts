// Handlers: the audit log of administrators' acts.
import type { auditApi } from "#contract/audit.ts";
import { countAudit, listAudit, verifyAudit } from "#server/store/audit.ts";
import type { Handlers } from "./call.ts";
import { madeOf, totalBeside } from "./list-query.ts";
import { sortedPage } from "./page.ts";

export const audit: Handlers<{ audit: typeof auditApi }>["audit"] = {
  async list({ db }, { query }) {
    const filter = {
      actorId: query.actor_id,
      actorName: query.username,
      action: query.action,
      target: query.target,
      ...madeOf(query),
    };
    const data = await listAudit(db, filter, sortedPage({ ...query, order: "" }));
    const total = await totalBeside(query, () => countAudit(db, filter));
    if (!query.verify) return { data, ...total };
    const { checked, brokenId } = await verifyAudit(db);
    return { data, ...total, chain: { checked, broken_id: brokenId } };
  },
};
