// A long command tells how far it is, and does not fill a log with it.
import { expect, test } from "vitest";
import { createProgress } from "./progress.ts";

/** What a million rows in batches of ten thousand leave on a screen. */
function written(isTTY: boolean | undefined): string {
  let text = "";
  const screen = {
    write(more: string) {
      text += more;
    },
  };
  const progress = createProgress("log entries", isTTY === undefined ? screen : { ...screen, isTTY });
  for (let rows = 10_000; rows <= 1_000_000; rows += 10_000) progress.show(rows);
  progress.end();
  progress.end();
  return text;
}

test("on a terminal it is one line that is written over", () => {
  const text = written(true);
  expect(text.split("\n")).toHaveLength(2);
  expect(text.split("\r")).toHaveLength(101);
  expect(text.endsWith("\rlog entries: 1000000\n")).toBe(true);
});

test.each([false, undefined])("elsewhere a million rows are three lines (isTTY %s)", (isTTY) => {
  expect(written(isTTY)).toBe("log entries: 10000\nlog entries: 100000\nlog entries: 1000000\n");
});

test("nothing is shown of little, nor ended that was not begun", () => {
  let text = "";
  const progress = createProgress("log entries", { write: (more: string) => (text += more) });
  progress.show(60);
  progress.end();
  expect(text).toBe("");
});
