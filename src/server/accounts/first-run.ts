// The first run (requirements I39): the operator who started the server on an empty database is led to a password of his own by an address
// that the terminal prints. Open for as long as the super administrator has the password that the first start made.
import { Role } from "#contract/user.ts";
import { faults } from "#server/errors.ts";
import { constantTimeEqual, randomId, type Secrets } from "#server/secrets.ts";
import type { Db } from "#server/store/db.ts";
import { findOptions, removeOption, saveOption } from "#server/store/options.ts";
import { findRootPassword } from "#server/store/users.ts";

/** The key of the address, sealed, and which password it was made beside. Not options that administrators can see. */
const KEY = "FirstRunKey";
const PASSWORD = "FirstRunPassword";

function markOf(secrets: Secrets, passwordHash: string): string {
  return secrets.hash(`first run ${passwordHash}`);
}

/** Makes the key, in the transaction that makes the super administrator with this password. */
export async function openFirstRun(secrets: Secrets, tx: Db, passwordHash: string): Promise<void> {
  await saveOption(tx, KEY, secrets.seal(randomId(), `options.${KEY}`));
  await saveOption(tx, PASSWORD, markOf(secrets, passwordHash));
}

export interface FirstRunWay {
  isOpen(): Promise<boolean>;
  /** The key of the address, for the terminal alone; undefined = closed. */
  key(): Promise<string | undefined>;
  /** Throws: AppError when it is closed, or the key is another one. */
  check(key: string): Promise<void>;
  /** Closes it in the caller's transaction. Of several that do, one succeeds; the others throw: AppError. */
  close(tx: Db): Promise<void>;
}

export function createFirstRun({ db, secrets }: { db: Db; secrets: Secrets }): FirstRunWay {
  /** The sealed key, until the super administrator gets another password, by any way. */
  async function find(from: Db): Promise<string | undefined> {
    const stored = await findOptions(from, [KEY, PASSWORD]);
    const sealed = stored.get(KEY);
    const password = sealed === undefined ? undefined : await findRootPassword(from, Role.root);
    if (password === undefined || stored.get(PASSWORD) !== markOf(secrets, password)) return undefined;
    return sealed;
  }

  async function key(): Promise<string | undefined> {
    const sealed = await find(db);
    return sealed === undefined ? undefined : secrets.open(sealed, `options.${KEY}`);
  }

  return {
    isOpen: async () => (await find(db)) !== undefined,
    key,
    async check(given) {
      const right = await key();
      if (right === undefined) throw closed();
      if (!constantTimeEqual(right, given))
        throw faults.refused("设置地址不正确，请使用终端里打印的完整地址");
    },
    async close(tx) {
      const sealed = await find(tx);
      if (sealed === undefined || !(await removeOption(tx, KEY, sealed))) throw closed();
    },
  };
}

function closed() {
  return faults.refused("首次设置已经完成，请用管理员密码登录");
}
