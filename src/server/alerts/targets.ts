// Targets of alerts as their rows tell: opened, checked, sealed. Addresses that are secrets leave this file towards the target alone.
import { type AlertKind, type AlertTargetDraft, alertDraftFault, alertKinds } from "#contract/alert.ts";
import { type AlertEvent, isAlertEvent } from "#contract/alert-events.ts";
import type { Language } from "#contract/language.ts";
import { faults } from "#server/errors.ts";
import type { AlertTargetRow } from "#server/store/alerts.ts";
import type { Tools } from "#server/tools.ts";

/** What the column holds. */
export interface TargetSettings {
  readonly events: readonly AlertEvent[];
  readonly tells_end: boolean;
  readonly language: Language;
  readonly quiet_from: string;
  readonly quiet_to: string;
  readonly to: string;
}

/** A target with all it needs. */
export interface Target extends TargetSettings {
  readonly id: number;
  readonly kind: AlertKind;
  readonly name: string;
  readonly address: string;
  readonly secret: string;
}

const CONTEXTS = { address: "alert_targets.address", secret: "alert_targets.secret" } as const;

export function settingsOf({ settings }: Pick<AlertTargetRow, "settings">): TargetSettings {
  // Written by targetColumns alone.
  const stored = JSON.parse(settings) as TargetSettings;
  // Targets that were set up before there were languages speak Chinese.
  const { language = "zh" } = stored as Partial<TargetSettings>;
  return { ...stored, language, events: stored.events.filter(isAlertEvent) };
}

function openSealed({ secrets }: Pick<Tools, "secrets">, row: AlertTargetRow, part: "address" | "secret") {
  const sealed = row[`${part}_sealed`];
  return sealed === "" ? "" : secrets.open(sealed, CONTEXTS[part]);
}

export function openTarget(tools: Pick<Tools, "secrets">, row: AlertTargetRow): Target {
  return {
    ...settingsOf(row),
    id: row.id,
    // The column holds kinds only.
    kind: row.kind as AlertKind,
    name: row.name,
    address: openSealed(tools, row, "address"),
    secret: openSealed(tools, row, "secret"),
  };
}

/** What a browser may see of an address: of one that is a secret its host alone. */
export function shownAddress({ kind, address }: Pick<Target, "kind" | "address">): string {
  if (address === "" || alertKinds[kind].address !== "secret-address") return address;
  return new URL(address).host;
}

/** The columns that a draft writes; an address or secret that is "" stays. */
export function targetColumns({ secrets, clock }: Pick<Tools, "secrets" | "clock">, draft: AlertTargetDraft) {
  const { name, is_enabled, address, secret, events, tells_end, language, quiet_from, quiet_to, to } = draft;
  const settings: TargetSettings = { events, tells_end, language, quiet_from, quiet_to, to };
  return {
    name,
    is_enabled: is_enabled ? 1 : 0,
    settings: JSON.stringify(settings),
    ...(address === "" ? {} : { address_sealed: secrets.seal(address, CONTEXTS.address) }),
    ...(secret === "" ? {} : { secret_sealed: secrets.seal(secret, CONTEXTS.secret) }),
    updated_at: clock.seconds(),
  };
}

/**
 * What each kind cannot do without, addresses that nothing may go to, and a secret that was for another host (requirements S06, I54).
 * Throws: AppError.
 */
export function checkTarget(
  { egress }: Pick<Tools, "egress">,
  kind: AlertKind,
  draft: AlertTargetDraft,
  known?: Pick<Target, "address" | "secret">,
): void {
  const { address: before = "", secret: hidden = "" } = known ?? {};
  const fault = alertDraftFault(kind, draft, { hasAddress: before !== "", hasSecret: hidden !== "" });
  if (fault !== undefined) throw faults.invalid(fault);
  if (draft.address === "") return;
  const judged = egress.judge(draft.address);
  if ("refusal" in judged) throw faults.refused(judged.refusal);
  const isElsewhere = before !== "" && originOf(before) !== originOf(draft.address);
  if (isElsewhere && hidden !== "" && draft.secret === "")
    throw faults.refused("地址换了主机，请重新填写密钥");
}

function originOf(address: string): string {
  return new URL(address).origin;
}
