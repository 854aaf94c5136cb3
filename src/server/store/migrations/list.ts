// All migrations in order. Append only: a released one never changes and never moves.
import { init } from "./0001-init.ts";
import { partner } from "./0002-partner.ts";
import { logins } from "./0003-logins.ts";
import { operations } from "./0004-operations.ts";
import { openings } from "./0005-openings.ts";
import { recentLogs } from "./0006-recent-logs.ts";
import { survivors } from "./0007-survivors.ts";
import { traffic } from "./0008-traffic.ts";
import { logTrail } from "./0009-log-trail.ts";
import { journal } from "./0010-journal.ts";
import { mailboxes } from "./0011-mailboxes.ts";
import { names } from "./0012-names.ts";
import { channelProxy } from "./0013-channel-proxy.ts";
import { factors } from "./0014-factors.ts";
import { payments } from "./0015-payments.ts";
import { limits } from "./0016-limits.ts";
import { signOn } from "./0017-sign-on.ts";
import { priceVersions } from "./0018-price-versions.ts";
import { channelKeys } from "./0019-channel-keys.ts";
import { teams } from "./0020-teams.ts";
import { alerts } from "./0021-alerts.ts";
import { keys } from "./0022-keys.ts";
import { plans } from "./0023-plans.ts";
import { statements } from "./0024-statements.ts";
import { channelTimes } from "./0025-channel-times.ts";
import { payouts } from "./0026-payouts.ts";
import { invitations } from "./0027-invitations.ts";
import { staffSets } from "./0028-staff-sets.ts";
import { tokenGroups } from "./0029-token-groups.ts";
import { mailDomains } from "./0030-mail-domains.ts";
import { language } from "./0031-language.ts";
import { channelCost } from "./0032-channel-cost.ts";
import { factorResets } from "./0033-factor-resets.ts";
import { callCosts } from "./0034-call-costs.ts";
import { modelNotices } from "./0035-model-notices.ts";
import { invoices } from "./0037-invoices.ts";
import { planReminders } from "./0038-plan-reminders.ts";
import { channelProbes } from "./0040-channel-probes.ts";
import { modelLists } from "./0041-model-lists.ts";
import { tasks } from "./0043-tasks.ts";
import { storedResponses } from "./0044-stored-responses.ts";
import { serviceAccounts } from "./0049-service-accounts.ts";
import { teamProjects } from "./0050-team-projects.ts";
import { grantedSet } from "./0052-granted-set.ts";
import { batches } from "./0059-batches.ts";
import { logProject } from "./0063-log-project.ts";
import { planRenewals } from "./0066-plan-renewals.ts";
import { commissionDebt } from "./0067-commission-debt.ts";
import { paymentDays } from "./0070-payment-days.ts";
import { orderLists } from "./0071-order-lists.ts";
import { logMembers } from "./0072-log-members.ts";
import { keyTimes } from "./0074-key-times.ts";
import { keyBalances } from "./0075-key-balances.ts";
import { taskTrails } from "./0076-task-trails.ts";
import { logPriceVersions } from "./0077-log-price-versions.ts";
import { orderSorts } from "./0078-order-sorts.ts";
import { teamAudit } from "./0079-team-audit.ts";
import { priceDrafts } from "./0080-price-drafts.ts";
import { givenQuotas } from "./0081-given-quota.ts";
import { listSources } from "./0082-list-sources.ts";
import { commissionBounds } from "./0083-commission-bounds.ts";
import { netMargins } from "./0084-net-margins.ts";
import { tokenKinds } from "./0085-token-kinds.ts";
import { logTokens } from "./0087-log-tokens.ts";
import { statementNames } from "./0088-statement-names.ts";
import { refusedNotices } from "./0089-refused-notices.ts";
import { logTeamMembers } from "./0090-log-team-members.ts";
import type { Migration } from "./migration.ts";

export const MIGRATIONS: readonly Migration[] = [
  init,
  partner,
  logins,
  operations,
  openings,
  recentLogs,
  survivors,
  traffic,
  logTrail,
  journal,
  mailboxes,
  names,
  channelProxy,
  factors,
  payments,
  limits,
  signOn,
  priceVersions,
  channelKeys,
  teams,
  alerts,
  keys,
  plans,
  statements,
  channelTimes,
  payouts,
  invitations,
  staffSets,
  tokenGroups,
  mailDomains,
  language,
  channelCost,
  factorResets,
  callCosts,
  modelNotices,
  invoices,
  planReminders,
  channelProbes,
  modelLists,
  tasks,
  storedResponses,
  serviceAccounts,
  teamProjects,
  grantedSet,
  batches,
  logProject,
  planRenewals,
  commissionDebt,
  paymentDays,
  orderLists,
  logMembers,
  keyTimes,
  keyBalances,
  taskTrails,
  logPriceVersions,
  teamAudit,
  priceDrafts,
  commissionBounds,
  netMargins,
  tokenKinds,
  // Numbered before these, and made after them.
  givenQuotas,
  listSources,
  logTokens,
  orderSorts,
  statementNames,
  refusedNotices,
  logTeamMembers,
];
