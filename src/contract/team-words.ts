// The words of teams, as data and types: roles and what each may do. Without schemas, since the store needs them.

export const TEAM_ROLES = ["owner", "manager", "finance", "member", "viewer"] as const;
export type TeamRole = (typeof TEAM_ROLES)[number];

/** What may be done in a team, and by which roles (requirements O04). */
export const TEAM_RIGHTS = {
  /** See the team, its members and its limits; leave it. */
  see: ["owner", "manager", "finance", "member", "viewer"],
  /** Invite, remove, change roles and set caps, of those below. */
  people: ["owner", "manager"],
  /** Make tokens that the wallet pays for, and change one's own. */
  token: ["owner", "manager", "member"],
  /** Make projects, and set their caps. */
  projects: ["owner", "manager"],
  /** See and change the tokens of others, never their keys. */
  tokens: ["owner", "manager"],
  /** Read the calls of others and what they cost; else only one's own. */
  calls: ["owner", "manager", "finance"],
  /** Read what was done in the team; without `people` only what moved its money. */
  acts: ["owner", "manager", "finance"],
  /** See what is in the wallet. */
  wallet: ["owner", "manager", "finance"],
  /** Ask for invoices of what it paid, and see whom they are made out to, with tax number and bank account. */
  invoice: ["owner", "finance"],
  /** Put own quota into the wallet. */
  deposit: ["owner", "finance"],
  /** Take quota out of the wallet, to the own account. */
  withdraw: ["owner"],
  /** Rename, limit the team as a whole, hand it over, close it. */
  own: ["owner"],
} as const satisfies Readonly<Record<string, readonly TeamRole[]>>;
export type TeamRight = keyof typeof TEAM_RIGHTS;

export function mayInTeam(role: TeamRole, right: TeamRight): boolean {
  const roles: readonly TeamRole[] = TEAM_RIGHTS[right];
  return roles.includes(role);
}

/** Who stands above whom: a manager acts on those below only, and gives roles below his own only. */
const RANK: Readonly<Record<TeamRole, number>> = { owner: 3, manager: 2, finance: 1, member: 1, viewer: 1 };

export function outranksInTeam(role: TeamRole, other: TeamRole): boolean {
  return RANK[role] > RANK[other];
}
