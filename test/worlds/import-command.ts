// `tollgate import` as an operator runs it: the built program, on a file.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { buildServer, SERVER } from "./build.ts";

/** Imports a file into a data directory. Returns the exit code and what the terminal shows. */
export async function importByCommand(file: string, dataDir: string) {
  buildServer();
  const child = spawn(process.execPath, [SERVER, "import", file], {
    env: { PATH: process.env["PATH"], DATA_DIR: dataDir },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let stdout = "";
  child.stdout.on("data", (data) => {
    stdout += String(data);
  });
  const [code] = await once(child, "close");
  return { code, lines: stdout.split("\n") };
}
