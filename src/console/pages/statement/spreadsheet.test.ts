// The files of statements and of the log hold hostile texts safely and exactly: read back by the rules of the format, and in a soak by
// LibreOffice, where it is installed (requirements Y60).
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { rowsCsv } from "#console/base/export.ts";
import { logColumns } from "#console/pages/log/export.ts";
import { LogEntry } from "#contract/log.ts";
import type { Statement } from "#contract/statement.ts";
import { IS_SOAK } from "#test/worlds/soak.ts";
import { statementCsv } from "./words.ts";

/** What users may call their keys, and clients may ask for. */
const TEXTS = [
  "=cmd|'/c calc'!A0",
  "＝1",
  '=HYPERLINK("http://x.example","y")',
  "@SUM(A1)",
  "-1",
  "+1",
  "\t=1",
  'a "b", c; d',
  "甲\n=1+1\n乙",
  "20261124000012345678",
  "-20261124000012345678",
  "007",
  "1e5",
  "1/2",
  "1 2/3",
  "3-4",
  "2026-11",
  "1:30",
  "MAR1",
  "5 Jan",
  "TRUE",
  "gpt-4.1-mini",
];
const isMoment = (text: string) => /^\d{4}-\d{2}-\d{2} [\d:]+$/.test(text);
const NUMBER = /^-?\d+(\.\d+)?$/;

function statement(): Statement {
  return {
    number: "ST-202610-7",
    month: "2026-10",
    opening: 5,
    closing: 9_007_199_254_740,
    income: 1_700,
    spent: 701,
    quota_per_unit: 500_000,
    in_currency: true,
    issuer: "Tollgate",
    account_id: 7,
    account_name: "=lihua",
    is_team: false,
    starts_at: 0,
    ends_at: 1,
    from_row: 3,
    to_row: 9,
    trail_hash: "0123456789012345678901234567890123456789",
    debt: 12,
    buyer: null,
    created_at: 2,
    sums: [{ kind: "consume", entries: 2, quota: -701 }],
    usage: TEXTS.map((text, index) => ({
      token_id: index,
      token_name: text,
      tags: text,
      model_name: text,
      calls: 2,
      quota: 701,
      plan_quota: 3,
      shortfall: 1,
      ...(index % 2 === 0 && {
        tokens: { prompt_tokens: 10, cached_tokens: 4, completion_tokens: 5 },
      }),
    })),
    tokens: TEXTS.map((text) => ({
      model_name: text,
      prompt_tokens: 10,
      cached_tokens: 4,
      completion_tokens: 5,
    })),
    payments: [{ instance_id: 1, name: "=支付宝", currency: "CNY", paid_minor: 3_000, refunded_minor: 300 }],
  };
}

const entries = TEXTS.map((text, index) =>
  LogEntry.parse({
    id: index + 1,
    user_id: 1,
    created_at: 1_800_000_000,
    type: 2,
    content: text,
    username: text,
    token_name: text,
    model_name: text,
    request_id: text,
    quota: -5,
    prompt_tokens: 1,
    completion_tokens: 2,
    channel: 3,
  }),
);
const FILES = [
  { name: "statement", csv: statementCsv(statement(), { quotaPerUnit: 500_000, inCurrency: true }) },
  { name: "log", csv: rowsCsv(entries, logColumns({ kind: "all" })) },
];

/** The cells of a file by the rules of the format (RFC 4180). */
function cellsOf(csv: string): string[][] {
  const rows: string[][] = [[]];
  const cell = /("(?:[^"]|"")*"|[^",\r\n]*)(,|\r?\n|$)/gy;
  const text = csv.replace(/^\ufeff/, "").replace(/\r?\n$/, "");
  while (cell.lastIndex < text.length) {
    const [, raw = "", end = ""] = cell.exec(text) ?? [];
    rows.at(-1)?.push(raw.startsWith('"') ? raw.slice(1, -1).replaceAll('""', '"') : raw);
    if (end === "" || end === ",") {
      if (end === "," && cell.lastIndex === text.length) rows.at(-1)?.push("");
    } else rows.push([]);
  }
  return rows;
}

test.each(FILES)("the file of a $name has each text as it was, and none that begins a formula", ({ csv }) => {
  const cells = cellsOf(csv).flat();
  for (const text of TEXTS)
    expect(
      cells.some((cell) => cell === text || cell === `'${text}`),
      text,
    ).toBe(true);
  expect(cells.filter((cell) => /^\s*[=+@＝＋－＠]/.test(cell))).toEqual([]);
  expect(cells.filter((cell) => /^\s*-/.test(cell) && !NUMBER.test(cell))).toEqual([]);
});

interface Cell {
  readonly text: string;
  readonly type: string;
  readonly isFormula: boolean;
  readonly value: string;
}

/** LibreOffice, run without a window; undefined = it is not installed. */
function office(): string | undefined {
  try {
    return execFileSync("which", ["soffice"], { encoding: "utf8" }).trim() || undefined;
  } catch {
    return undefined;
  }
}

const plain = (xml: string) =>
  xml
    .replace(/<text:s(?: text:c="(\d+)")?\/>/g, (_, count = "1") => " ".repeat(Number(count)))
    .replace(/<text:tab\/>/g, "\t")
    .replace(/<[^>]+>/g, "")
    .replace(
      /&(lt|gt|quot|apos|amp);/g,
      (_, name: string) => ({ lt: "<", gt: ">", quot: '"', apos: "'" })[name] ?? "&",
    );

/** The cells of a sheet in flat XML. */
function sheetOf(xml: string): Cell[][] {
  const attribute = (tag: string, name: string) => new RegExp(`${name}="([^"]*)"`).exec(tag)?.[1] ?? "";
  return [...xml.matchAll(/<table:table-row[^>]*>(.*?)<\/table:table-row>/gs)].map(([, row = ""]) =>
    [...row.matchAll(/<table:table-cell([^>]*?)(?:\/>|>(.*?)<\/table:table-cell>)/gs)].flatMap(
      ([, tag = "", body = ""]) => {
        const paragraphs = [...body.matchAll(/<text:p>(.*?)<\/text:p>|<text:p\/>/gs)];
        const cell: Cell = {
          text: paragraphs.map(([, text = ""]) => plain(text)).join("\n"),
          type: attribute(tag, "office:value-type"),
          isFormula: tag.includes("table:formula"),
          value: attribute(tag, "office:value"),
        };
        return Array.from(
          { length: Math.min(Number(attribute(tag, "table:number-columns-repeated") || 1), 50) },
          () => cell,
        );
      },
    ),
  );
}

if (IS_SOAK)
  test.for(FILES)(
    "LibreOffice opens the file of a $name and saves it as it was",
    { timeout: 300_000 },
    ({ name, csv }, { skip }) => {
      const soffice = office();
      if (soffice === undefined) return skip("LibreOffice is not installed");
      const folder = mkdtempSync(join(tmpdir(), "tollgate-office-"));
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      const converted = (from: string, to: string, filter: string) => {
        const profile = `-env:UserInstallation=file://${folder}/profile`;
        const how = [
          "--headless",
          ...(from.endsWith(".csv") ? ["--infilter=CSV:44,34,76,1"] : []),
          "--convert-to",
          filter,
        ];
        execFileSync(soffice, [profile, ...how, "--outdir", join(folder, "out"), join(folder, from)], {
          stdio: "ignore",
        });
        return readFileSync(join(folder, "out", to), "utf8");
      };
      writeFileSync(join(folder, `${name}.csv`), csv);
      const xml = converted(`${name}.csv`, `${name}.fods`, "fods");
      const sheet = sheetOf(xml);
      const rows = cellsOf(csv);
      expect(sheet.flat().filter(({ isFormula }) => isFormula)).toEqual([]);
      for (const [at, row] of rows.entries())
        for (const [column, text] of row.entries()) {
          const cell = sheet[at]?.[column];
          const where = `row ${at}, column ${column}`;
          if (text === "") expect(cell?.text ?? "", where).toBe("");
          else if (NUMBER.test(text))
            expect([cell?.type, Number(cell?.value)], where).toEqual(["float", Number(text)]);
          // A moment is one there, too.
          else if (isMoment(text)) expect(cell?.type, where).toBe("date");
          else expect([cell?.type, cell?.text], where).toEqual(["string", text]);
        }
      const again = cellsOf(
        converted(`${name}.csv`, `${name}.csv`, "csv:Text - txt - csv (StarCalc):44,34,76"),
      );
      // 30.00 is 30 there, and a moment has another form.
      const bare = (text: string) => (NUMBER.test(text) ? String(Number(text)) : text);
      const saved = again.map((row, at) =>
        row.map((text, column) =>
          isMoment(rows[at]?.[column] ?? "") ? (rows[at]?.[column] ?? "") : bare(text),
        ),
      );
      expect(saved).toEqual(rows.map((row) => row.map(bare)));
    },
  );
