// Users: ids, names, password hashes and balances as they are; what must be unique here is made so (requirements W7.5).
import { Role, UserStatus } from "#contract/user.ts";
import { newAffCode } from "#server/secrets.ts";
import { mailboxOf } from "#server/store/mailbox.ts";
import { importedGithubId } from "#server/store/users.ts";
import { batches } from "./batches.ts";
import { intOf, type SourceRow, secondsOf, textOf } from "./row.ts";
import { ImportError, type Source } from "./source.ts";
import { type ImportedRow, type Opening, type Target, writeRows } from "./target.ts";

/** User id → what others need to know of the account. */
export type Users = Map<
  number,
  { readonly isDeleted: boolean; readonly isRoot: boolean; readonly group: string }
>;

const DEFAULT_GROUP = "default";

/** What may belong to one user only, and is taken already. */
interface Taken {
  readonly names: Set<string>;
  readonly codes: Set<string>;
  readonly accessTokens: Set<string>;
  /** Lower-case address, its mailbox, WeChat id or GitHub name → id of the user who keeps it. */
  readonly emails: ReadonlyMap<string, number>;
  readonly mailboxes: ReadonlyMap<string, number>;
  readonly wechat: ReadonlyMap<string, number>;
  readonly github: ReadonlyMap<string, number>;
}

/** Imports all users. Returns them. Throws: ImportError when there are none. */
export async function importUsers(source: Source, target: Target): Promise<Users> {
  const users: Users = new Map();
  const codes = await affCodes(source);
  // Else an empty database would be "filled", all sums equal, and could not be filled any more.
  if (codes.size === 0) throw new ImportError("the source has no users: was it dumped without its rows?");
  const taken: Taken = {
    names: new Set(),
    codes,
    accessTokens: new Set(),
    emails: await keepers(source, emailOf),
    mailboxes: await keepers(source, (row) => mailboxOf(emailOf(row))),
    wechat: await keepers(source, (row) => textOf(row, "wechat_id")),
    github: await keepers(source, githubOf),
  };
  const read = (rows: readonly SourceRow[]) =>
    rows.map((row) => {
      const isDeleted = statusOf(row) === UserStatus.deleted;
      const isRoot = !isDeleted && roleOf(row) === Role.root;
      users.set(intOf(row, "id"), { isDeleted, isRoot, group: groupOf(row) });
      return userOf(row, target, taken);
    });
  for await (const incoming of batches(source, "users", target.tally, read))
    await writeRows(target, "users", incoming);
  if (![...users.values()].some(({ isRoot }) => isRoot))
    target.tally.remark("the source has no super administrator: nobody can administer the result");
  return users;
}

function emailOf(row: SourceRow): string {
  return textOf(row, "email").toLowerCase();
}

/** Codes the source has; made-up ones must differ from all of them, also of users that come later. */
async function affCodes(source: Source): Promise<Set<string>> {
  const codes = new Set<string>();
  for await (const row of source.rows("users")) codes.add(textOf(row, "aff_code").toLowerCase());
  return codes;
}

/** Which user keeps a value that several have: the newest that is enabled, else the newest. */
async function keepers(source: Source, read: (row: SourceRow) => string): Promise<Map<string, number>> {
  const best = new Map<string, { id: number; rank: number }>();
  for await (const row of source.rows("users")) {
    const value = read(row);
    if (value === "") continue;
    const candidate = { id: intOf(row, "id"), rank: statusOf(row) };
    const known = best.get(value);
    // Lower statuses are better: 1 enabled, 2 disabled, 3 deleted.
    if (!known || candidate.rank < known.rank || (candidate.rank === known.rank && candidate.id > known.id))
      best.set(value, candidate);
  }
  return new Map([...best].map(([value, { id }]) => [value, id]));
}

function statusOf(row: SourceRow): number {
  // New API gives deleted rows a time.
  if (textOf(row, "deleted_at") !== "") return UserStatus.deleted;
  const status = intOf(row, "status", UserStatus.enabled);
  return status === UserStatus.enabled || status === UserStatus.deleted ? status : UserStatus.disabled;
}

function groupOf(row: SourceRow): string {
  return textOf(row, "group") || DEFAULT_GROUP;
}

function roleOf(row: SourceRow): number {
  const role = intOf(row, "role", Role.user);
  if (role >= Role.root) return Role.root;
  return role >= Role.admin ? Role.admin : Role.user;
}

/** Of later releases and New API: accounts that know no password get one by a letter, or from an administrator. */
const OTHER_LOGINS = ["lark_id", "oidc_id", "discord_id", "telegram_id", "linux_do_id"];

function userOf(row: SourceRow, target: Target, taken: Taken): ImportedRow<"users"> {
  const { tally, nowSec } = target;
  const id = intOf(row, "id");
  const quota = intOf(row, "quota");
  const usedQuota = intOf(row, "used_quota");
  tally.of("users").found += 1;
  tally.add("quota", quota);
  tally.add("used_quota", usedQuota);
  const username = uniqueName(textOf(row, "username"), id, target, taken);
  const giftQuota = rewardOf(row, id, target);
  const commission = commissionOf(row, username, target);
  const opening: Opening = {
    scope: "user",
    id,
    userId: id,
    quota: quota + giftQuota,
    usedQuota,
    requestCount: intOf(row, "request_count"),
    yuanMicro: commission,
  };
  if (quota < 0) tally.remark("balances below zero were kept", username);
  tally.tellLeftOut("ways to log in that are not here were left out", row, username, OTHER_LOGINS);
  if (githubOf(row) !== "")
    tally.remark(
      "GitHub accounts are known by name only: they open with the same proven e-mail address, or must be bound once more",
      username,
    );
  return {
    row: {
      id,
      username,
      password: textOf(row, "password"),
      display_name: textOf(row, "display_name"),
      role: roleOf(row),
      status: statusOf(row),
      ...identitiesOf(row, { id, username }, target, taken),
      access_token_hash: accessTokenOf(row, target, taken),
      quota: quota + giftQuota,
      used_quota: usedQuota,
      request_count: intOf(row, "request_count"),
      invite_commission_micro: commission,
      group: groupOf(row),
      aff_code: affCodeOf(row, username, target, taken),
      inviter_id: intOf(row, "inviter_id"),
      created_at: joinedOf(row) || nowSec,
    },
    openings: [opening],
  };
}

/** What proves a user's identity, and belongs to one account only: lost by all but one of those that share it. */
function identitiesOf(
  row: SourceRow,
  { id, username }: { id: number; username: string },
  { tally }: Target,
  taken: Taken,
) {
  const shared = (what: string) => () =>
    tally.remark(`${what} shared by several accounts stay with the newest enabled one; cleared at`, username);
  const email = kept(emailOf(row), id, taken.emails, shared("e-mail addresses"));
  return {
    email,
    mailbox: kept(mailboxOf(email), id, taken.mailboxes, () => {
      tally.remark("e-mail addresses that differ from another one only in a tag (+) were kept at", username);
    }),
    github_id: kept(githubOf(row), id, taken.github, shared("GitHub names")),
    wechat_id: kept(textOf(row, "wechat_id"), id, taken.wechat, shared("WeChat ids")),
  };
}

/** When the account was made: One API did not say, forks do. 0 = unknown. */
function joinedOf(row: SourceRow): number {
  return secondsOf(row, "invited_time") || secondsOf(row, "created_time") || secondsOf(row, "created_at");
}

function uniqueName(name: string, id: number, { tally }: Target, taken: Taken): string {
  const unique = name === "" || taken.names.has(name) ? `${name || "user"}_${id}` : name;
  if (unique !== name) tally.remark("names that are empty or taken were completed with the id", unique);
  taken.names.add(unique);
  return unique;
}

function kept(value: string, id: number, keepers: ReadonlyMap<string, number>, onLost: () => void): string {
  if (value === "" || keepers.get(value) === id) return value;
  onLost();
  return "";
}

/**
 * The family stores GitHub's login name, which can change hands; here users are known by their numeric id (requirements A16).
 * The name is kept in a form that is never an id: its owner binds the account once more.
 */
function githubOf(row: SourceRow): string {
  return importedGithubId(textOf(row, "github_id"));
}

function accessTokenOf(row: SourceRow, { secrets }: Target, taken: Taken): string | null {
  const token = textOf(row, "access_token");
  if (token === "" || taken.accessTokens.has(token)) return null;
  taken.accessTokens.add(token);
  return secrets.hash(token);
}

function affCodeOf(row: SourceRow, username: string, { tally }: Target, taken: Taken): string {
  const code = textOf(row, "aff_code");
  const gift = textOf(row, "gift_code");
  if (code !== "" && gift !== "" && gift.toLowerCase() !== code.toLowerCase())
    tally.remark(
      "gift codes that differ from the invitation code were left out: here they are one",
      username,
    );
  if (code !== "") return code;
  if (gift !== "" && !taken.codes.has(gift.toLowerCase())) return remember(gift, taken);
  let made = newAffCode();
  while (taken.codes.has(made.toLowerCase())) made = newAffCode();
  return remember(made, taken);
}

function remember(code: string, taken: Taken): string {
  taken.codes.add(code.toLowerCase());
  return code;
}

/** Invitation rewards that New API keeps apart until they are transferred: credited, and counted apart. */
function rewardOf(row: SourceRow, id: number, { tally }: Target): number {
  const reward = intOf(row, "aff_quota");
  if (reward === 0) return 0;
  tally.remark("invitation rewards (aff_quota) were added to the balance", `user ${id}: ${reward}`);
  tally.add("quota", reward);
  return reward;
}

const YUAN = /^\s*(\d{1,9})(?:\.(\d{1,6})\d*)?\s*$/;

/** Commission of the partner plan in millionths of a yuan; kept as decimal text by the deployed product. */
function commissionOf(row: SourceRow, username: string, { tally }: Target): number {
  const text = textOf(row, "invite_commission_balance") || "0";
  const found = YUAN.exec(text);
  if (!found) {
    tally.remark("commission balances that are no amount were left out", `${username}: ${text}`);
    return 0;
  }
  return Number(found[1]) * 1_000_000 + Number((found[2] ?? "").padEnd(6, "0"));
}

/** Rows of accounts that are gone but still own tokens: the ledger needs a user to book on. */
export async function importMissingUsers(
  ids: readonly number[],
  users: Users,
  target: Target,
): Promise<void> {
  const missing = [...new Set(ids)].filter((id) => !users.has(id));
  for (const id of missing) {
    users.set(id, { isDeleted: true, isRoot: false, group: DEFAULT_GROUP });
    target.tally.remark(
      "users that tokens belong to but that are gone were added as deleted accounts",
      String(id),
    );
  }
  const rows = missing.map((id) => ({ row: deletedUser(id, target.nowSec) }));
  await writeRows(target, "users", rows);
}

function deletedUser(id: number, nowSec: number): ImportedRow<"users">["row"] {
  return {
    id,
    username: `deleted_${id}`,
    password: "",
    display_name: "",
    role: Role.user,
    status: UserStatus.deleted,
    email: "",
    github_id: "",
    wechat_id: "",
    access_token_hash: null,
    group: DEFAULT_GROUP,
    aff_code: "",
    inviter_id: 0,
    created_at: nowSec,
  };
}
