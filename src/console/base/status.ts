// The public status: loaded at start, kept in local storage, the source of name, logo, footer and quota display.
import { type QueryClient, useQuery } from "@tanstack/react-query";
import type { QuotaDisplay } from "#contract/quota.ts";
import { type Status, statusApi } from "#contract/status.ts";
import { withoutEndSlashes } from "#contract/wire.ts";
import { call, query } from "./call.ts";
import { messages } from "./faults.ts";
import { readStored, writeStored } from "./storage.ts";
import { setLook } from "./theme-mode.ts";
import { toast } from "./toast.ts";

const DEFAULT_NAME = "Tollgate";
const DEFAULT_UNIT = 500_000;

function remember(status: Status): void {
  setLook(status.theme);
  writeStored("status", status);
  writeStored("quota_per_unit", status.quota_per_unit);
  writeStored("display_in_currency", status.display_in_currency);
  writeStored("system_name", status.system_name);
  writeStored("logo", status.logo);
  writeStored("footer_html", status.footer_html);
  writeStored("chat_link", status.chat_link);
}

/** Asked again when the page is come back to, so that pages left open follow the options too; once a minute at most. */
const statusQuery = {
  ...query(statusApi.status, {}),
  staleTime: 60_000,
  refetchOnWindowFocus: true,
  meta: { silent: true },
  queryFn: async ({ signal }: { readonly signal: AbortSignal }): Promise<Status> => {
    const status = await call(statusApi.status, {}, signal);
    remember(status);
    return status;
  },
};

/** Whether the server runs another version than this console; development builds say v0.0.0 (requirements W3.2). */
export function isOtherVersion(server: string, own: string): boolean {
  const plain = (version: string) => version.trim().replace(/^v/, "");
  return plain(server) !== "" && plain(server) !== "0.0.0" && plain(server) !== plain(own);
}

/** Loads the status once at start, writes the start-up keys and tells about a new version or an unreachable server (requirements B1). */
export async function loadStatus(client: QueryClient, ownVersion: string): Promise<void> {
  try {
    const { version } = await client.fetchQuery(statusQuery);
    if (isOtherVersion(version, ownVersion)) {
      toast.notice(`新版本可用：${version}，请使用快捷键 Shift + F5 刷新页面`);
    }
  } catch {
    toast.error(messages.unreachable);
  }
}

/** Asks for the status again after an option was changed, so that name, logo, footer and quota display follow at once. */
export async function refreshStatus(client: QueryClient): Promise<void> {
  await client.invalidateQueries({ queryKey: statusQuery.queryKey });
}

/** The status as it is now. */
export function freshStatus(client: QueryClient): Promise<Status> {
  return client.fetchQuery({ ...statusQuery, staleTime: 0 });
}

/** Takes the warning down after the password was changed: the server's own look at it may be a moment behind. */
export function forgetDefaultPassword(client: QueryClient): void {
  client.setQueryData<Status>(
    statusQuery.queryKey,
    (status) => status && { ...status, default_password: false },
  );
}

/** The status as last known; undefined before the very first answer. */
export function useStatus(): Status | undefined {
  const { data } = useQuery({ ...statusQuery, placeholderData: () => readStored("status") });
  return data;
}

/** How quota is shown here. */
export function useQuotaDisplay(): QuotaDisplay {
  const status = useStatus();
  return {
    quotaPerUnit: status?.quota_per_unit ?? readStored("quota_per_unit") ?? DEFAULT_UNIT,
    inCurrency: status?.display_in_currency ?? readStored("display_in_currency") ?? true,
  };
}

export function useSystemName(): string {
  const status = useStatus();
  return status?.system_name || readStored("system_name") || DEFAULT_NAME;
}

/** Address of the logo, or undefined for the built-in mark, which also lies at the spec's default path. */
export function useLogo(): string | undefined {
  const logo = useStatus()?.logo ?? readStored("logo") ?? "";
  // Only addresses an image may have here; stored text is untrusted (requirements H06).
  return /^(https?:\/\/|\/(?![/\\]))/.test(logo) && logo !== "/fakelogo.png" ? logo : undefined;
}

/** Base address of the relay for clients, e.g. `https://api.example.com`. */
export function useServerAddress(): string {
  const address = withoutEndSlashes(useStatus()?.server_address ?? "");
  return address === "" ? window.location.origin : address;
}
