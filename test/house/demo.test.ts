import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";

test("a demo beside one that runs leaves its data alone and says what to do", async () => {
  const root = join(import.meta.dirname, "../..");
  const mark = join(root, "data/demo/of-another-demo");
  mkdirSync(join(root, "data/demo"), { recursive: true });
  writeFileSync(mark, "");
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const address = other.address();
  const port = typeof address === "object" ? String(address?.port) : "";
  try {
    const demo = spawn(process.execPath, ["scripts/demo.ts"], {
      cwd: root,
      env: { ...process.env, PORT: port },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let text = "";
    demo.stderr.on("data", (data) => {
      text += String(data);
    });
    const [code] = await once(demo, "close");
    expect({ code, isThere: existsSync(mark) }).toEqual({ code: 1, isThere: true });
    expect(text).toBe(
      `tollgate: port ${port} is in use: stop the other program, or choose another with PORT\n`,
    );
  } finally {
    other.close();
    rmSync(mark, { force: true });
  }
});
