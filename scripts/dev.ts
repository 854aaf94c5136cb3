// `npm run dev`: the server, restarted when its files change, and Vite with hot reload in front of the console.
import { type ChildProcess, spawn } from "node:child_process";

function startAll(): ChildProcess[] {
  const commands = [["--watch", "src/server/main.ts"], ["node_modules/vite/bin/vite.js"]];
  return commands.map((args) => spawn(process.execPath, args, { stdio: "inherit" }));
}

const children = startAll();

/** One without the other is no use: the first process that ends, or a signal, ends both. */
function stopAll(): void {
  for (const child of children) child.kill("SIGTERM");
}

for (const child of children) child.on("exit", stopAll);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, stopAll);
