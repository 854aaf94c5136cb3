// What a user who joins by a domain may be in the team.
import type { MailDomainDraft } from "#contract/mail-domain.ts";

export const DOMAIN_ROLES: Readonly<Record<MailDomainDraft["team_role"], string>> = {
  member: "成员",
  viewer: "只读",
};
