// Bills are read whole or not at all: a file that was cut off, grew, or changed its columns says nothing (requirements Y43).
import { describe, expect, test } from "vitest";
import { archiveOf, gbk } from "#test/emulators/archive.ts";
import { billRows, linesOf } from "./bill.ts";
import { unzip } from "./zip.ts";

const SHAPE = {
  titles: { trade: /^交易号/, amount: /^金额/ },
  cellsOf: (line: string) => line.split(","),
  isLast: (line: string) => line.startsWith("#"),
};
const rowsOf = (...lines: readonly string[]) =>
  billRows(linesOf(lines.join("\r\n")), SHAPE)?.map((cell) => [cell("trade"), cell("amount")]);

describe("a bill", () => {
  test("is read by its titles, wherever they stand", () => {
    expect(rowsOf("#账单", "交易号,名称,金额（元）", "1\t,x,30.00", "", "#结束")).toEqual([["1", "30.00"]]);
    expect(rowsOf("金额（元）,新的一列,交易号", "30.00,y,1", "#结束")).toEqual([["1", "30.00"]]);
    expect(rowsOf("交易号,名称,金额（元）", "#结束")).toEqual([]);
  });

  test.each([
    ["without a title", ["交易号,名称", "1,x", "#结束"]],
    ["that was cut off", ["交易号,名称,金额（元）", "1,x,30.00"]],
    ["with a line cut off", ["交易号,名称,金额（元）", "1,x", "#结束"]],
    ["that is a page", ["<html>维护中</html>"]],
  ])("%s says nothing", (_, lines) => {
    expect(rowsOf(...lines)).toBeUndefined();
  });
});

describe("an archive", () => {
  const text = gbk("支付宝,1\r\n".repeat(500));
  const whole = archiveOf({ "a.csv": text, "b.csv": gbk("") });

  test("gives its files back", async () => {
    const files = await unzip(whole, 1_000_000);
    expect(files?.map((file) => file.equals(text))).toEqual([true, false]);
    expect(new TextDecoder("gb18030").decode(files?.[0])).toContain("支付宝,1");
  });

  test("says nothing when it is broken anywhere, and is bounded", async () => {
    expect(await unzip(whole, text.length - 1)).toBeUndefined();
    expect(await unzip(Buffer.from("<html>维护中</html>"), 1_000_000)).toBeUndefined();
    expect(await unzip(Buffer.alloc(0), 1_000_000)).toBeUndefined();
    for (let end = 1; end < whole.length; end += 7)
      expect(await unzip(whole.subarray(0, end), 1_000_000)).toBeUndefined();
    // More than its entry says.
    const bomb = Buffer.from(whole);
    bomb.writeUInt32LE(10, bomb.indexOf(Buffer.from([0x50, 0x4b, 1, 2])) + 24);
    expect(await unzip(bomb, 1_000_000)).toBeUndefined();
  });
});
