// Whose things the console shows: one's own, or those of the team that the address names (`/t/3/token`), so that two windows cannot mix.
import { useQuery } from "@tanstack/react-query";
import { useLocation } from "react-router";
import { query } from "#console/base/call.ts";
import { useUser } from "#console/base/session.ts";
import { type Team, teamApi } from "#contract/team.ts";
import { mayInTeam, type TeamRight } from "#contract/team-words.ts";

export interface Place {
  /** 0 = one's own account. */
  readonly team: number;
  /** The address without the context. */
  readonly path: string;
}

/** What a path says. */
export function placeAt(pathname: string): Place {
  const [, team, path] = /^\/t\/([1-9]\d{0,14})(\/.*)$/.exec(pathname) ?? [];
  return team === undefined || path === undefined
    ? { team: 0, path: pathname }
    : { team: Number(team), path };
}

/** The address of a page in a context. */
export function pathIn(team: number, path: string): string {
  return team === 0 ? path : `/t/${team}${path}`;
}

/** The team whose things this page shows; 0 = one's own. */
export function useTeam(): number {
  return placeAt(useLocation().pathname).team;
}

/** The same for what stands around a page: that of a team itself is of the team, too. */
export function useTeamAround(): number {
  const { pathname } = useLocation();
  const [, team = "0"] = /^\/team\/([1-9]\d{0,14})$/.exec(pathname) ?? [];
  return placeAt(pathname).team || Number(team);
}

/** Leads to pages of the same context. */
export function usePathHere(): (path: string) => string {
  const team = useTeam();
  return (path) => pathIn(team, path);
}

/** The teams one belongs to; undefined = not known yet. */
export function useTeams(): readonly Team[] | undefined {
  const isSignedIn = useUser() !== undefined;
  const teams = useQuery({
    ...query(teamApi.list, {}),
    enabled: isSignedIn,
    staleTime: 10_000,
    meta: { silent: true },
  });
  return teams.data ?? (teams.isError ? [] : undefined);
}

/** Whether a member may do something in a team; an administrator from outside may do nothing there. */
export function mayIn({ role }: Pick<Team, "role">, right: TeamRight): boolean {
  return role !== "" && mayInTeam(role, right);
}
