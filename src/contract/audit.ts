// The audit log (requirements P05): what administrators changed, logins and refused logins, keys that were opened. Administrators may
// read it; no call changes it.
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { InBlocks, ListBeside, ListQuery, MadeBetween, query } from "./wire.ts";

export const AuditEntry = z.object({
  /** Without gaps, from 1. */
  id: z.int(),
  created_at: z.int(),
  /** 0 = no known user. */
  actor_id: z.int(),
  actor_name: z.string(),
  /** `resource.verb`, e.g. `channel.update`. */
  action: z.string(),
  target: z.string(),
  /** JSON text, or "". Of fields that were changed it holds the new values, and in `before` those that they replaced. */
  detail: z.string(),
  address: z.string(),
  request_id: z.string(),
  /** SHA-256 over the hash of the entry before and the fields of this one. */
  hash: z.string(),
});
export type AuditEntry = z.output<typeof AuditEntry>;

/** What a check of the whole chain found; `broken_id` is the first entry that is not as it was written, 0 = none. */
export const AuditChain = z.object({ checked: z.int(), broken_id: z.int() });

export const auditApi = {
  list: endpoint({
    method: "GET",
    path: "/api/audit/",
    level: "admin",
    permission: "audit.read",
    masks: { address: "log.address.read" },
    summary:
      "管理操作审计记录，可按操作者、操作、对象与时间（秒，含两端，0 为不限）筛选；verify=true 时另外校验整条哈希链；export 时成批返回，用于导出",
    query: ListQuery.omit({ order: true, desc: true }).extend({
      actor_id: query.count,
      /** The actor's name at the time. */
      username: query.text,
      /** A whole action, or its head up to a dot. */
      action: query.text,
      target: query.text,
      ...MadeBetween,
      verify: query.flag,
      ...InBlocks,
    }),
    data: z.array(AuditEntry),
    beside: ListBeside.extend({ chain: AuditChain.optional() }),
  }),
};
