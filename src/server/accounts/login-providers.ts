// Login providers as their rows tell: opened, checked, sealed. Secrets leave this file towards the provider alone.
import { type ProviderDraft, type ProviderKind, ProviderSettings } from "#contract/login-provider.ts";
import { faults } from "#server/errors.ts";
import type { ProviderRow } from "#server/store/sign-on.ts";
import type { Tools } from "#server/tools.ts";

/** A provider with all it needs. */
export interface Provider {
  readonly id: number;
  readonly slug: string;
  readonly kind: ProviderKind;
  readonly name: string;
  readonly isEnabled: boolean;
  readonly settings: ProviderSettings;
  /** "" = a public client. */
  readonly secret: string;
  /** Changes with the row. */
  readonly version: string;
}

const CONTEXT = "login_providers.secret";

export function openProvider({ secrets }: Pick<Tools, "secrets">, row: ProviderRow): Provider {
  return {
    id: row.id,
    slug: row.slug,
    // The column holds kinds only.
    kind: row.kind as ProviderKind,
    name: row.name,
    isEnabled: row.is_enabled === 1,
    settings: settingsOf(row),
    secret: row.secret_sealed === "" ? "" : secrets.open(row.secret_sealed, CONTEXT),
    version: `${row.updated_at} ${row.settings} ${row.secret_sealed}`,
  };
}

export function settingsOf(row: Pick<ProviderRow, "settings">): ProviderSettings {
  return ProviderSettings.parse(JSON.parse(row.settings));
}

/** The columns a draft writes; a secret that is "" stays. */
export function providerColumns(
  { secrets, clock }: Pick<Tools, "secrets" | "clock">,
  { name, is_enabled, sort, secret, ...settings }: ProviderDraft,
) {
  return {
    name,
    is_enabled: is_enabled ? 1 : 0,
    sort,
    settings: JSON.stringify(ProviderSettings.parse(settings)),
    ...(secret === "" ? {} : { secret_sealed: secrets.seal(secret, CONTEXT) }),
    updated_at: clock.seconds(),
  };
}

/** What each kind cannot do without, and addresses that nothing may go to. Throws: AppError. */
export function checkProvider(
  { egress, options }: Pick<Tools, "egress" | "options">,
  kind: ProviderKind,
  draft: ProviderDraft,
): void {
  const { issuer, authorize_url, token_url, userinfo_url } = draft;
  const missing = missingOf(kind, draft);
  if (missing !== undefined) throw faults.invalid(missing);
  for (const address of [issuer, authorize_url, token_url, userinfo_url]) {
    const judged = address === "" ? undefined : egress.judge(address);
    if (judged && "refusal" in judged) throw faults.refused(judged.refusal);
  }
  const groups = options.get("GroupRatio");
  const strange = draft.rules.find(({ group }) => group !== "" && !Object.hasOwn(groups, group));
  if (strange) throw faults.refused(`没有这个分组：${strange.group}`);
}

/** What a draft lacks, for the operator; undefined = nothing. */
function missingOf(kind: ProviderKind, draft: ProviderDraft): string | undefined {
  const { issuer, authorize_url, token_url, userinfo_url, id_path } = draft;
  const tenants = ["允许的企业", draft.tenants.join()] as const;
  const needed: Readonly<Record<ProviderKind, readonly (readonly [label: string, value: string])[]>> = {
    feishu: [tenants],
    dingtalk: [tenants],
    wecom: [["应用 ID", draft.agent_id]],
    oidc: [["签发者地址", issuer]],
    oauth2: [
      ["授权地址", authorize_url],
      ["令牌地址", token_url],
      ["用户信息地址", userinfo_url],
      ["用户标识字段", id_path],
    ],
  };
  const empty = needed[kind].find(([, value]) => value === "");
  if (empty) return `请填写${empty[0]}`;
  if (kind === "oidc" && !draft.scopes.split(/\s+/).includes("openid")) return "授权范围须包含 openid";
  if (draft.mail_domains.length > 0 || !["oidc", "oauth2"].includes(kind)) return undefined;
  if (draft.sign_up === "domain") return "按域名开放注册时，请至少填写一个邮箱域名";
  if (draft.is_only_way) return "仅允许由此登录时，请至少填写一个邮箱域名";
  return draft.links_by_mail ? "按邮箱关联账户时，请至少填写一个邮箱域名" : undefined;
}

/** Where a provider sends browsers back: built from the server's own address, never from a header (requirements I44). "" = not set. */
export function redirectUrl({ options }: Pick<Tools, "options">, slug: string): string {
  const server = options.get("ServerAddress");
  return server === "" ? "" : `${server}/oauth/${slug}`;
}
