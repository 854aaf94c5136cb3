// What a section of the options is, and how its fields are listed.
import type { OptionKey } from "#contract/option.ts";

interface SectionField {
  readonly key: OptionKey;
  readonly help: string;
}

export interface Section {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly submit: string;
  readonly fields: readonly SectionField[];
}

/** The fields of a section in their order: option → one sentence about what it does. */
export function fields(helps: Partial<Record<OptionKey, string>>): readonly SectionField[] {
  // Object.entries of a literal gives exactly its keys.
  return (Object.entries(helps) as [OptionKey, string][]).map(([key, help]) => ({ key, help }));
}
