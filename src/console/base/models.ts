// Model names by channel type: asked once, kept in memory and in local storage (requirements B7, `channel_models`).
import { useQuery } from "@tanstack/react-query";
import { statusApi } from "#contract/status.ts";
import { call, query } from "./call.ts";
import { readStored, writeStored } from "./storage.ts";

type ModelsByType = Readonly<Record<string, readonly string[]>>;

const modelsQuery = {
  ...query(statusApi.models, {}),
  staleTime: 10 * 60_000,
  gcTime: Number.POSITIVE_INFINITY,
  queryFn: async ({ signal }: { readonly signal: AbortSignal }) => {
    const models = await call(statusApi.models, {}, signal);
    writeStored("channel_models", models);
    return models;
  },
};

/** Channel type → model names; the stored map until the server has answered. */
export function useModelsByType(): ModelsByType {
  const { data } = useQuery({ ...modelsQuery, placeholderData: () => readStored("channel_models") });
  return data ?? {};
}
