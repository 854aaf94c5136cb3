// The log by a tag of tokens: the tokens that have it are found first, and the entries of each along the index of accounts and names of tokens. An
// entry is known by the name its token has now, as where the log is filtered by token. Reads only.
import type { Db } from "./db.ts";
import { BY_TOKEN, type LogFilter, resolveUser } from "./log-filter.ts";
import { hasName } from "./page.ts";

/** Tokens that one tag may have in a view of the log: the entries of each are looked up by themselves. */
export const MOST_TAGGED = 50;

const COLUMNS = ["id", "name", "user_id", "wallet_id"] as const;

interface TaggedToken {
  readonly id: number;
  readonly name: string;
  readonly user_id: number;
  readonly wallet_id: number;
}

/** The account that pays for a token's calls, and that their entries are of. */
function accountOf({ user_id, wallet_id }: TaggedToken): number {
  return wallet_id === 0 ? user_id : wallet_id;
}

/**
 * A filter by tag as filters by token, one for each that has it, deleted ones too; a filter without a tag as it is; undefined = more tokens
 * have the tag than a view can hold.
 */
export async function byToken(db: Db, given: LogFilter): Promise<readonly LogFilter[] | undefined> {
  const { tag, ...rest } = given;
  if (!tag) return [given];
  const filter = await resolveUser(db, rest);
  const tokens = await tagged(db, tag, filter.userId);
  if (tokens.length > MOST_TAGGED) return undefined;
  const chosen = tokens.filter(({ name }) => !filter.tokenName || filter.tokenName === name);
  const shared = await sharedNames(db, chosen);
  return chosen.map((token) => ({ ...filter, ...entriesOf(token, shared) }));
}

/** The entries of one token, under the name it has now. */
export async function entriesOfToken(db: Db, token: TaggedToken): Promise<LogFilter> {
  return entriesOf(token, await sharedNames(db, [token]));
}

function entriesOf(token: TaggedToken, shared: ReadonlySet<string>): LogFilter {
  return {
    userId: accountOf(token),
    tokenName: token.name,
    // Where another token has the name too, entries are told apart by the token itself.
    tokenId: shared.has(nameIn(token)) ? token.id : 0,
    driver: BY_TOKEN,
  };
}

/** A token's name in its account. */
function nameIn(token: TaggedToken): string {
  return `${accountOf(token)} ${token.name}`;
}

/** The tokens of an account that have a tag; 0 or undefined = of all. One more than a view can hold at the most. */
async function tagged(db: Db, tag: string, account: number | undefined): Promise<TaggedToken[]> {
  const query = db
    .selectFrom("tokens")
    .select(COLUMNS)
    .where(hasName(db, "tags", tag))
    // Entries of tokens without a name are found by nothing.
    .where("name", "<>", "")
    .orderBy("id")
    .limit(MOST_TAGGED + 1);
  if (!account) return query.execute();
  const own = await query.where("user_id", "=", account).where("wallet_id", "=", 0).execute();
  return own.length > 0 ? own : query.where("wallet_id", "=", account).execute();
}

/** Which of their names another token of the same account has too; deleted ones count. */
async function sharedNames(db: Db, tokens: readonly TaggedToken[]): Promise<ReadonlySet<string>> {
  if (tokens.length === 0) return new Set();
  const own = tokens.filter(({ wallet_id }) => wallet_id === 0).map(({ user_id }) => user_id);
  const wallets = tokens.map(({ wallet_id }) => wallet_id).filter((id) => id !== 0);
  const namesakes = await db
    .selectFrom("tokens")
    .select(COLUMNS)
    .where("name", "in", [...new Set(tokens.map(({ name }) => name))])
    .where(({ or, and, eb }) =>
      or([
        and([eb("wallet_id", "=", 0), eb("user_id", "in", [0, ...own])]),
        and([eb("wallet_id", ">", 0), eb("wallet_id", "in", [0, ...wallets])]),
      ]),
    )
    .execute();
  const byName = Map.groupBy(namesakes, nameIn);
  return new Set([...byName].filter(([, same]) => same.length > 1).map(([name]) => name));
}
