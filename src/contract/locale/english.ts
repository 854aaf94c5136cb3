// The English of what the contract says, for those that say it while they run.
import english from "./en/contract.json" with { type: "json" };

/** Chinese text → English text. */
export const contractEnglish: Readonly<Record<string, string>> = english;
