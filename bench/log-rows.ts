// Builds a database with millions of log entries the way the server would have left them: rows, sums by hour, spans. Both databases read
// the same statements.
// Skewed as real logs are: five users make half of the calls, three models and two channels most of them.
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { openStore } from "#server/store/db.ts";
import { buildLogIndexes } from "#server/store/log-indexes.ts";
import { SPAN_SEC } from "#server/store/span.ts";

export const users = 2_000;
export const models = 40;
export const channels = 30;
/** The first accounts are wallets of teams: most calls are of three members, the others of two hundred; a quarter is of one of fifty projects. */
export const wallets = 2;
export const members = 200;
export const projects = 50;
export const startSec = 1_760_000_000;
/** Ninety days. */
export const spanSec = 90 * 86_400;
/** One entry in a hundred is no call. */
const NOT_CALLS = 100;

export const userName = (id: number) => `user${id}`;
/** Of three tokens one has a name that many users give. */
export const tokenName = (user: number, index: number) =>
  index === 0 ? "default" : `token-${user}-${index}`;
export const modelName = (index: number) => `model-${index}`;

/** Evenly spread 32 bits from the row number `i` and a salt: Knuth's multiplicative hash, twice. */
const mix = (salt: number) => `((((i + ${salt}) * 2654435761) % 4294967296) * 1103515245 % 4294967296 / 64)`;

const rowsOf = ({ from, to, of }: { from: number; to: number; of: number }) => `
  WITH RECURSIVE numbers(i) AS (SELECT cast(${from} AS bigint) UNION ALL SELECT i + 1 FROM numbers WHERE i < ${to}),
  dice AS (
    SELECT i,
      ${mix(1)} AS a, ${mix(7)} AS b, ${mix(13)} AS c, ${mix(29)} AS d,
      CASE WHEN i % ${NOT_CALLS} = 0 THEN CASE i / ${NOT_CALLS} % 4 WHEN 0 THEN 1 WHEN 1 THEN 3 WHEN 2 THEN 4 ELSE 5 END ELSE 2 END AS type,
      ${startSec} + i * ${spanSec} / ${of} AS created_at
    FROM numbers
  ),
  people AS (
    SELECT *,
      CASE WHEN a % 2 = 0 THEN 1 + b % 5 ELSE 1 + b % ${users} END AS person,
      CASE WHEN c % 10 < 8 THEN c / 16 % 3 ELSE c / 16 % ${models} END AS model,
      CASE WHEN d % 10 < 8 THEN 1 + d / 16 % 2 ELSE 1 + d / 16 % ${channels} END AS channel
    FROM dice
  )
  INSERT INTO logs (user_id, created_at, type, content, username, token_id, token_name, model_name, quota, prompt_tokens,
    completion_tokens, cached_tokens, channel_id, request_id, elapsed_time, first_byte_time, is_stream, estimated, member_id, project_id)
  SELECT person, created_at, type,
    CASE WHEN type = 2 THEN '模型倍率 1.25，补全倍率 4，分组倍率 1；(400 + 500 × 4) × 1.25 × 1 = 3000'
      WHEN type = 1 THEN '通过兑换码充值 ＄10.000000 额度' WHEN type = 5 THEN '测试渠道 main（成功）' ELSE '新用户注册赠送 ＄0.200000 额度' END,
    'user' || person, CASE type WHEN 2 THEN person * 3 + d % 3 ELSE 0 END,
    CASE WHEN type <> 2 THEN '' WHEN d % 3 = 0 THEN 'default' ELSE 'token-' || person || '-' || (d % 3) END,
    CASE type WHEN 2 THEN 'model-' || model ELSE '' END,
    CASE type WHEN 2 THEN 100 + a % 5000 ELSE 0 END, CASE type WHEN 2 THEN b % 4000 ELSE 0 END,
    CASE type WHEN 2 THEN c % 1000 ELSE 0 END, 0, CASE WHEN type IN (2, 5) THEN channel ELSE 0 END,
    CASE type WHEN 2 THEN '20261120000000000000000' || i ELSE '' END, 200 + a % 9000, 100 + b % 900, c % 2, 0,
    CASE WHEN type = 2 AND person <= ${wallets} THEN 100000 + CASE WHEN b % 10 < 8 THEN b / 16 % 3 ELSE b / 16 % ${members} END ELSE 0 END,
    CASE WHEN type = 2 AND person <= ${wallets} AND a % 4 = 0 THEN person * 1000 + c / 32 % ${projects} ELSE 0 END
  FROM people`;

const SUMS = [
  ["all", "''"],
  ["user", "cast(user_id AS text)"],
  ["token", "token_name"],
  ["model", "model_name"],
  ["channel", "cast(channel_id AS text)"],
  ["model-channel", "model_name || '\n' || channel_id"],
].map(
  ([dimension, key]) => `
  INSERT INTO log_sums (dimension, key, hour, quota, prompt_tokens, completion_tokens, requests)
  SELECT '${dimension}', ${key}, hour, sum(quota), sum(prompt_tokens), sum(completion_tokens), sum(requests)
  FROM log_rollups GROUP BY 2, 3`,
);

const ENTRY_SUMS = [
  ["member", "user_id || ' ' || member_id", "member_id > 0"],
  ["project", "cast(project_id AS text)", "project_id > 0"],
  ["token-model", "user_id || ' ' || token_id || '\n' || model_name", "type = 2"],
].map(
  ([dimension, key, where]) => `
  INSERT INTO log_sums (dimension, key, hour, quota, prompt_tokens, completion_tokens, requests)
  SELECT '${dimension}', ${key}, created_at - created_at % 3600, sum(quota), sum(prompt_tokens), sum(completion_tokens), count(*)
  FROM logs WHERE ${where} GROUP BY 2, 3`,
);

const TEAMS = [
  `WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < ${wallets})
  INSERT INTO teams (id, name, wallet_id, heir_id, created_at, closed_at) SELECT i, 'team' || i, i, i, ${startSec}, 0 FROM numbers`,
  `WITH RECURSIVE numbers(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM numbers WHERE i < ${projects} - 1)
  INSERT INTO team_projects (id, team_id, name, created_at, closed_at)
  SELECT teams.id * 1000 + i, teams.id, 'project' || i, ${startSec}, 0 FROM numbers, teams`,
];

const ROLLUPS = `
  INSERT INTO log_rollups (user_id, hour, token_name, model_name, channel_id, quota, prompt_tokens, completion_tokens, requests)
  SELECT user_id, created_at - created_at % 3600, token_name, model_name, channel_id,
    sum(quota), sum(prompt_tokens), sum(completion_tokens), count(*)
  FROM logs WHERE type = 2 GROUP BY 1, 2, 3, 4, 5`;

const SPANS = `INSERT INTO log_spans
  SELECT created_at - created_at % ${SPAN_SEC}, min(id), max(id) FROM logs GROUP BY 1`;

const PEOPLE = `
  WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < ${users})
  INSERT INTO users (id, username, password, display_name, role, status, email, github_id, wechat_id, "group", aff_code,
    inviter_id, created_at)
  SELECT i, 'user' || i, '', '', 1, 1, '', '', '', 'default', '', 0, ${startSec} FROM numbers`;

/** Three of each user, as the entries name them: one tag is of fifty users, one of the two tokens of a user that are his alone, one of many who gave the same name. */
const TOKENS = `
  WITH RECURSIVE numbers(i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM numbers WHERE i < ${users} * 3 + 2)
  INSERT INTO tokens (id, user_id, key_hash, key_sealed, status, name, created_time, accessed_time, expired_time, remain_quota,
    unlimited_quota, used_quota, models, subnet, deleted_at, tags)
  SELECT i, i / 3, 'hash' || i, '', 1, CASE WHEN i % 3 = 0 THEN 'default' ELSE 'token-' || (i / 3) || '-' || (i % 3) END,
    ${startSec}, ${startSec}, -1, 0, 1, 0, '', '', 0,
    CASE i % 3 WHEN 0 THEN 'same' || (i / 3 % 50) WHEN 1 THEN 'own,tag' || (i / 3 % 40) ELSE 'own' END FROM numbers`;

const SLICE = 500_000;
/** By the table, so that those of the log are built in one sort each, after its rows. */
const OF_SQLITE =
  "SELECT name, sql AS text FROM sqlite_master WHERE type = 'index' AND tbl_name = 'logs' AND sql IS NOT NULL";
const OF_POSTGRES =
  "SELECT indexname AS name, indexdef AS text FROM pg_indexes WHERE tablename = 'logs' AND indexname <> 'logs_pkey'";

/** Runs a statement; resolves with its rows. */
type Run = (statement: string) => Promise<readonly Record<string, unknown>[]>;
type Say = (text: string) => void;

/** Fills the empty SQLite database of `dataDir`. `say` gets each step with its seconds. */
export async function buildLogs(dataDir: string, rows: number, say: Say): Promise<void> {
  const store = await openStore({ dataDir });
  await store.close();
  const database = new DatabaseSync(`${dataDir}/tollgate.db`);
  database.exec("PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000; PRAGMA temp_store = FILE");
  await fill((statement) => Promise.resolve(database.prepare(statement).all()), OF_SQLITE, { rows, say });
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
}

/** The same on PostgreSQL, with the indexes that a job builds there. */
export async function buildPostgresLogs(databaseUrl: string, rows: number, say: Say): Promise<void> {
  const store = await openStore({ dataDir: "", databaseUrl });
  await buildLogIndexes(store.patient);
  await store.close();
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query("SET maintenance_work_mem = '1GB'");
  await fill(async (statement) => (await client.query(statement)).rows, OF_POSTGRES, { rows, say });
  await client.query("VACUUM ANALYZE");
  await client.end();
}

async function fill(run: Run, indexList: string, { rows, say }: { rows: number; say: Say }): Promise<void> {
  const step = async (name: string, statements: readonly string[]) => {
    const started = performance.now();
    for (const statement of statements) await run(statement);
    say(`${name}: ${((performance.now() - started) / 1000).toFixed(1)} s`);
  };
  const slices = Array.from({ length: Math.ceil(rows / SLICE) }, (_, at) => at * SLICE);
  const indexes = await run(indexList);
  for (const { name } of indexes) await run(`DROP INDEX ${String(name)}`);
  await step(
    "rows",
    slices.map((done) => rowsOf({ from: done + 1, to: Math.min(done + SLICE, rows), of: rows })),
  );
  await step(
    "indexes",
    indexes.map(({ text }) => String(text)),
  );
  await step("sums", [ROLLUPS, ...SUMS, ...ENTRY_SUMS]);
  await step("spans, users, tokens, teams", [SPANS, PEOPLE, TOKENS, ...TEAMS]);
}
