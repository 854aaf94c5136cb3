// The tables of the audit log.

/** An administrator's act. Append-only; triggers refuse UPDATE and DELETE. */
export interface AuditTable {
  /** Without gaps, from 1. */
  id: number;
  created_at: number;
  /** 0 = the server itself. */
  actor_id: number;
  actor_name: string;
  /** `resource.verb`, e.g. `channel.update`. */
  action: string;
  target: string;
  /** JSON text, or "". */
  detail: string;
  address: string;
  request_id: string;
  previous_hash: string;
  hash: string;
}

/** The one row that says where the trail ends; writers queue at it. */
export interface AuditHeadTable {
  /** Always 1. */
  one: number;
  last_id: number;
  last_hash: string;
}

/** The acts that stand in the list of a team too. */
export interface TeamAuditTable {
  team_id: number;
  audit_id: number;
}

export interface AuditTables {
  audit: AuditTable;
  team_audit: TeamAuditTable;
  audit_head: AuditHeadTable;
}
