// What a visitor of the catalogue looks for, and the calls that can be copied there.
import { expect, test } from "vitest";
import { ABILITIES, type CatalogueModel } from "#contract/catalogue.ts";
import { abilitiesOf, endsSoon, filterOf, isWanted, makersOf } from "./filter.ts";
import { abilitySample } from "./sample.ts";

const price = { unit: "token", input: "1", output: "2", cache_read: "", cache_write: "" } as const;
const model = (name: string, maker: string, ability: CatalogueModel["ability"] = "chat"): CatalogueModel => ({
  model: name,
  maker,
  ability,
  ...price,
  others: [],
  tiers: [],
  last_day: "",
});
const MODELS = [
  model("gpt-5", "OpenAI"),
  model("dall-e-3", "OpenAI", "image"),
  model("claude-opus-5", "Anthropic"),
];
const found = (search: string) =>
  MODELS.filter((row) => isWanted(filterOf(new URLSearchParams(search)), row)).map((row) => row.model);

test("words, maker and ability narrow the list together; what an address says wrongly does not", () => {
  expect(found("")).toHaveLength(3);
  expect(found("q=OPEN gpt")).toEqual(["gpt-5"]);
  expect(found("maker=OpenAI&ability=image")).toEqual(["dall-e-3"]);
  expect(found("ability=nonsense")).toHaveLength(3);
  expect(found("q=nobody")).toEqual([]);
  expect(makersOf(MODELS)).toEqual(["OpenAI", "Anthropic"]);
  expect(abilitiesOf(MODELS)).toEqual(["chat", "image"]);
});

test("a last day is warned of 90 days before", () => {
  const nowMs = Date.parse("2026-10-02T00:00:00+08:00");
  expect(endsSoon("2026-12-31", nowMs)).toBe(true);
  expect(endsSoon("2027-01-01", nowMs)).toBe(false);
  expect(endsSoon("", nowMs)).toBe(false);
});

test.each(ABILITIES)("the sample of %s names model and server, and the key in a header only", (ability) => {
  const sample = abilitySample(ability, { server: "https://api.example.com", key: "sk-1", model: "m/1" });
  expect(sample).toMatch(/(https|wss):\/\/api\.example\.com\/v1\//);
  expect(sample).toMatch(/m\/1|m%2F1/);
  expect(sample.split("sk-1")).toHaveLength(2);
  expect(sample).toContain("Bearer sk-1");
});
