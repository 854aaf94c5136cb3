// Which models a visitor looks for: words, maker, ability. Pure; kept in the address of the page.
import { ABILITIES, type Ability, type CatalogueModel } from "#contract/catalogue.ts";

export interface Filter {
  readonly words: string;
  /** "" = all. */
  readonly maker: string;
  readonly ability: Ability | "";
}

export function filterOf(search: URLSearchParams): Filter {
  const ability = ABILITIES.find((name) => name === search.get("ability")) ?? "";
  return { words: search.get("q") ?? "", maker: search.get("maker") ?? "", ability };
}

/** All words must stand in the name or the maker, in any order. */
export function isWanted({ words, maker, ability }: Filter, model: CatalogueModel): boolean {
  if (maker !== "" && model.maker !== maker) return false;
  if (ability !== "" && model.ability !== ability) return false;
  const text = `${model.model} ${model.maker}`.toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/** Makers with models, the one with the most first. */
export function makersOf(models: readonly CatalogueModel[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { maker } of models) counts.set(maker, (counts.get(maker) ?? 0) + 1);
  return [...counts].toSorted(([, one], [, other]) => other - one).map(([maker]) => maker);
}

/** Abilities that some model has, in their own order. */
export function abilitiesOf(models: readonly CatalogueModel[]): readonly Ability[] {
  const known = new Set(models.map(({ ability }) => ability));
  return ABILITIES.filter((ability) => known.has(ability));
}

const SOON_MS = 90 * 86_400_000;

/** Whether the last day is near enough to warn of it (90 days). */
export function endsSoon(lastDay: string, nowMs: number): boolean {
  return lastDay !== "" && Date.parse(`${lastDay}T00:00:00+08:00`) - nowMs <= SOON_MS;
}
