// The roles of a team that a member can be given: there is one owner, who hands the team over himself.
import { z } from "zod";
import { TEAM_ROLES } from "./team-words.ts";

export const TeamRoleName = z.enum(TEAM_ROLES);
export const GivenTeamRole = TeamRoleName.exclude(["owner"]);
