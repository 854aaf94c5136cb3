// The operator's notice: asked for at start, before the files of any page, and kept in local storage, so that it stands there before the page
// that it would push down.
import { type QueryClient, useQuery } from "@tanstack/react-query";
import { statusApi } from "#contract/status.ts";
import { call, query } from "./call.ts";
import { readStored, writeStored } from "./storage.ts";

const noticeQuery = {
  ...query(statusApi.notice, {}),
  staleTime: 300_000,
  meta: { silent: true },
  queryFn: async ({ signal }: { readonly signal: AbortSignal }): Promise<string> => {
    const text = await call(statusApi.notice, {}, signal);
    writeStored("notice", text);
    return text;
  },
};

/** Asks for the notice. A failure is told by nothing: the page comes without it. */
export function loadNotice(client: QueryClient): Promise<void> {
  return client.prefetchQuery(noticeQuery);
}

/** The notice as last known, "" = none; undefined before the very first answer. */
export function useNotice(): string | undefined {
  const { data, isError } = useQuery({ ...noticeQuery, placeholderData: () => readStored("notice") });
  return data ?? (isError ? "" : undefined);
}
