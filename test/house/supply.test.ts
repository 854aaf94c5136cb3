// What the program is made of, and what its image is built from (requirements V01). Reads files only.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const PRODUCTION_PACKAGES = 64;

function readText(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

describe("the image", () => {
  /** What the build gets: nothing but what .dockerignore lets through. */
  const context = readText(".dockerignore")
    .split("\n")
    .filter((line) => line.startsWith("!"))
    .map((line) => line.slice(1));

  test("is built from what console and server are built from, and what starts it", () => {
    const inConfig = [
      ...readText("vite.config.ts").matchAll(/readFileSync\(new URL\("([\w./-]+)", import\.meta\.url\)/g),
    ];
    const hashed = [...readText("scripts/bootstrap.js").matchAll(/sources: \[([^\]]*)\]/g)].join("\n");
    const wanted = [...inConfig, ...hashed.matchAll(/"([^"]+)"/g)].map(([, path = ""]) => path);
    expect(wanted).toEqual(expect.arrayContaining(["src/console", "src/server", "CHANGELOG.md"]));
    const isSent = (path: string) => context.some((sent) => path === sent || path.startsWith(`${sent}/`));
    expect([...wanted, ".npmrc", "scripts/bootstrap.js"].filter((path) => !isSent(path))).toEqual([]);
    expect(context.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });
});

/** Licences that ask for nothing but their text. */
const LICENCES = ["0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0"];

describe("supply chain", () => {
  interface Package {
    readonly version: string;
    readonly integrity?: string;
    readonly license?: string;
    readonly hasInstallScript?: boolean;
    readonly resolved?: string;
    readonly link?: boolean;
    readonly dev?: boolean;
    readonly optional?: boolean;
    readonly os?: readonly string[];
    readonly cpu?: readonly string[];
    readonly libc?: readonly string[];
    readonly optionalDependencies?: Readonly<Record<string, string>>;
  }
  const { packages }: { packages: Record<string, Package> } = JSON.parse(readText("package-lock.json"));
  const installed = Object.entries(packages).filter(([path]) => path !== "");

  test("every package of the lockfile has a hash and comes from the registry", () => {
    // The registry at hand had not mirrored the tools' programs for rarer systems and could not tell their hashes.
    const isCommon = ({ os, cpu, libc }: Package): boolean =>
      Boolean(os?.includes("linux") && /x64|arm64/.test(String(cpu)) && !libc?.includes("musl"));
    const isForeign = (entry: Package): boolean =>
      Boolean(entry.dev && entry.optional && entry.os && !isCommon(entry));
    const bare = installed.filter(
      ([, entry]) => !entry.integrity?.startsWith("sha512-") && !isForeign(entry),
    );
    expect(bare.map(([path]) => path)).toEqual([]);
    const npm = /^https:\/\/registry\.npmjs\.org\//;
    const elsewhere = installed.filter(([, { resolved, link }]) => link || (resolved && !npm.test(resolved)));
    expect(elsewhere.map(([path]) => path)).toEqual([]);
  });

  test("the lockfile names the programs of every system, else `npm ci` refuses it", () => {
    const names = new Set(
      installed.map(([path, { version }]) => `${path.replace(/^.*node_modules\//, "")} ${version}`),
    );
    const wanted = installed.flatMap(([, entry]) => Object.entries(entry.optionalDependencies ?? {}));
    const exact = wanted.filter(([, version]) => /^\d+\.\d+\.\d+$/.test(version));
    expect(exact.map(([name, version]) => `${name} ${version}`).filter((text) => !names.has(text))).toEqual(
      [],
    );
  });

  test("the lockfile repeats what package.json says, else npm changes it and everything is built anew", () => {
    const own = JSON.parse(readText("package.json"));
    own.bin.tollgate = own.bin.tollgate.replace("./", "");
    const repeated = Object.keys(packages[""] ?? {});
    expect(repeated).toEqual(expect.arrayContaining(["bin", "dependencies", "devDependencies"]));
    expect(packages[""]).toEqual(Object.fromEntries(repeated.map((key) => [key, own[key]])));
  });

  test("install scripts are off, and versions are exact", () => {
    expect(readText(".npmrc")).toMatch(/^ignore-scripts=true$/m);
    const { dependencies, devDependencies, optionalDependencies } = JSON.parse(readText("package.json"));
    const versions = Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies });
    expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(String(version)))).toEqual([]);
  });

  const production = installed.filter(([, { dev, optional }]) => !dev && !optional);

  test("the server needs few packages", () => {
    expect(production.length).toBeLessThanOrEqual(PRODUCTION_PACKAGES);
  });

  test("the server's packages run nothing when they are installed, and have a free licence", () => {
    const isFree = ({ license = "" }: Package) => LICENCES.includes(license);
    const odd = production.filter(([, entry]) => entry.hasInstallScript || !isFree(entry));
    expect(odd.map(([path, { license }]) => `${path} ${license}`)).toEqual([]);
  });
});
