// The English of what the server says, by the room that says it. Made by hand; `node scripts/untranslated.ts` names what is missing.
import { contractEnglish } from "#contract/locale/english.ts";
import accounts from "./en/accounts.json" with { type: "json" };
import alerts from "./en/alerts.json" with { type: "json" };
import api from "./en/api.json" with { type: "json" };
import app from "./en/app.json" with { type: "json" };
import channels from "./en/channels.json" with { type: "json" };
import egress from "./en/egress.json" with { type: "json" };
import imports from "./en/import.json" with { type: "json" };
import jobs from "./en/jobs.json" with { type: "json" };
import limits from "./en/limits.json" with { type: "json" };
import money from "./en/money.json" with { type: "json" };
import payments from "./en/payments.json" with { type: "json" };
import pdf from "./en/pdf.json" with { type: "json" };
import relay from "./en/relay.json" with { type: "json" };
import server from "./en/server.json" with { type: "json" };
import store from "./en/store.json" with { type: "json" };
import tasks from "./en/tasks.json" with { type: "json" };
import upstream from "./en/upstream.json" with { type: "json" };

/** Chinese text → English text; what a text is composed of stands as `{0}`, `{1}`, … in both. */
export const catalogs: readonly Readonly<Record<string, string>>[] = [
  contractEnglish,
  ...[accounts, alerts, api, app, channels, egress, imports, jobs, limits, money, payments],
  ...[pdf, relay, server, store, tasks, upstream],
];
