// Whose statements a page shows: one's own, a team's, or those of a user whom an administrator looks into. It stands in the address, so that
// two windows cannot mix.
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { useSearchParams } from "react-router";
import { query, useCall } from "#console/base/call.ts";
import { pathIn, useTeam } from "#console/ui/team-context.ts";
import { type Statement, type StatementFile, type StatementList, statementApi } from "#contract/statement.ts";

export interface Whose {
  readonly kind: "own" | "team" | "user";
  /** Of the team or user; 0 = one's own. */
  readonly id: number;
}

/** What the address of the page says. */
export function useWhose(): Whose {
  const team = useTeam();
  const [params] = useSearchParams();
  if (team !== 0) return { kind: "team", id: team };
  const user = Number(params.get("user") ?? 0);
  return Number.isSafeInteger(user) && user > 0 ? { kind: "user", id: user } : { kind: "own", id: 0 };
}

/** The page of an account, or of one of its months. */
export function statementPath({ kind, id }: Whose, month = ""): string {
  const path = month === "" ? "/statement" : `/statement/${month}`;
  if (kind === "team") return pathIn(id, path);
  return kind === "own" ? path : `${path}?user=${id}`;
}

/** The months of an account. */
export function useMonths({ kind, id }: Whose): UseQueryResult<StatementList> {
  const params = { id };
  const meta = { silent: true };
  const own = useQuery({ ...query(statementApi.list, {}), enabled: kind === "own", meta });
  const ofTeam = useQuery({ ...query(statementApi.listOfTeam, { params }), enabled: kind === "team", meta });
  const ofUser = useQuery({ ...query(statementApi.listOfUser, { params }), enabled: kind === "user", meta });
  return { own, team: ofTeam, user: ofUser }[kind];
}

/** One month of an account. */
export function useMonth({ kind, id }: Whose, month: string): UseQueryResult<Statement> {
  const meta = { silent: true };
  const params = { id, month };
  const own = useQuery({ ...query(statementApi.get, { params: { month } }), enabled: kind === "own", meta });
  const ofTeam = useQuery({ ...query(statementApi.getOfTeam, { params }), enabled: kind === "team", meta });
  const ofUser = useQuery({ ...query(statementApi.getOfUser, { params }), enabled: kind === "user", meta });
  return { own, team: ofTeam, user: ofUser }[kind];
}

/** Gives a file that the server made to the browser's downloads. */
function download({ name, content }: StatementFile): void {
  const bytes = Uint8Array.from(atob(content), (character) => character.charCodeAt(0));
  const address = URL.createObjectURL(new Blob([bytes], { type: "application/pdf" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // The browser has read the content by then.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Asks for the month as a PDF file and gives it to the browser's downloads. */
export function usePdf(
  { kind, id }: Whose,
  month: string,
): { readonly get: () => void; readonly isBusy: boolean } {
  const onSuccess = download;
  const own = useCall(statementApi.file, { onSuccess });
  const ofTeam = useCall(statementApi.fileOfTeam, { onSuccess });
  const ofUser = useCall(statementApi.fileOfUser, { onSuccess });
  const get = () => {
    if (kind === "own") own.mutate({ params: { month } });
    else (kind === "team" ? ofTeam : ofUser).mutate({ params: { id, month } });
  };
  return { get, isBusy: own.isPending || ofTeam.isPending || ofUser.isPending };
}
