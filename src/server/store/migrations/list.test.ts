// What was released stays as it was: a database that was made with it refuses a program that knows it otherwise (requirements U03).
import { expect, test } from "vitest";
import { checksum } from "#server/store/migrate.ts";
import { MIGRATIONS } from "./list.ts";

test("the released migrations are the ones that were released", () => {
  const sums = MIGRATIONS.map((migration) => [
    migration.name,
    checksum(migration, "sqlite"),
    checksum(migration, "postgres"),
  ]);
  expect(sums).toMatchInlineSnapshot(`
    [
      [
        "0001-init",
        "8b97962c61b8eb66d5c5a48e39a7ae5e854559c5a38e06bdc5c821e3c29222c5",
        "925d5e792ad26d68173b6139765e0710b227cd8d5f695c762f39a12af9e4eb1f",
      ],
      [
        "0002-partner",
        "166e65df943c7689f1dc054277e9136d6ce1ebab3de611cd27a339fe3ce1c5e6",
        "ce30f61274f0cd3639a758617d1b7dc1135629eb472a9b61e4f01397a274a5a4",
      ],
      [
        "0003-logins",
        "952b1b4da00860e78de39e30307aa306f4f9ac9b9011c01cc554bdf427e578c3",
        "3878f5d6e2e936e02a6a6042aef37fcdea22f57b76b75c5cac8bbbcd4e0d7316",
      ],
      [
        "0004-operations",
        "d5d5ca4dfb14dc2565590517fbd2a8b0b5113ae938beb50968a55cfa026e6ff1",
        "9e0625246323808540b860e3139d35ff8ac99212f85310e94d85fc340d2d3ee4",
      ],
      [
        "0005-openings",
        "3f55f0f684fd35dbaf85b5487f4a9b7b6de19a6c1cc8957b17e173b9b667fe6a",
        "49d1700ea6d5d2b4d0c3ef4cd6408d331cb2058e9bb31921242fabbe8f269388",
      ],
      [
        "0006-recent-logs",
        "26caaa80930b93c5f262d5d5368a05a07a57b812d022bdb13bbfb67580ae2086",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
      ],
      [
        "0007-survivors",
        "5f76adc02dc5baf96bbdfd34020b7d77d23117550ac67de807dacd5e47e36964",
        "1ef97d9c1f32adaad532c85d0725e814c7f276c2f99f5f0ac7cfae922bcf48c2",
      ],
      [
        "0008-traffic",
        "81cbc3ec686206060d9a01d5b2602954e09c2b9684d2cfc193ee1848b325b778",
        "7e66734b2a6cefbc4a3c318c9fb51391cceaf5d862e3724e6b184a0f91fdb141",
      ],
      [
        "0009-log-trail",
        "3c2eca85da4325ac378be6ea89d36cef8f733f00f9afe9d5b0bec681bc49c6ea",
        "9b7f4c92847bbbb02697fb0ebb6b72983fb4c5d4583fc7555ecfae32a0049791",
      ],
      [
        "0010-journal",
        "3392849f636a26086e08574718e6560227aa294e32506fbd7c9a6647ce9fe6a8",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
      ],
      [
        "0011-mailboxes",
        "c89f4cce408b979db1cd1799d2757deefd09a0513da933cb9d6d65132897ac07",
        "f390a7974b483c0b560f8d623b3c3377c0ff061594519472c7c95438cbe0cd25",
      ],
      [
        "0012-names",
        "69b9ffbb27789ccc7a3a3a003e607d34439514f0230adb799aa3b02257d02030",
        "09296407f58a5e4f2b0d579f29b67a4e3e608779fc2cad4f79e50e86bfcc963f",
      ],
    ]
  `);
});
