// Addresses of price lists are kept without their query, which may be secret (requirements X03). Of listings, which are made again by the next list of
// their address, those go.
import type { Migration } from "./migration.ts";

/** `find` = what tells the place of a text in another; 0 = nowhere. */
function statements(find: string): string[] {
  const hasQuery = `${find}(source, '://') > 0 AND ${find}(source, '?') > 0`;
  return [
    `DELETE FROM price_listings WHERE ${hasQuery}`,
    ...["price_drafts", "price_versions"].map(
      (table) => `UPDATE ${table} SET source = substr(source, 1, ${find}(source, '?') - 1) WHERE ${hasQuery}`,
    ),
  ];
}

export const listSources: Migration = {
  name: "0082-list-sources",
  sqlite: statements("instr"),
  postgres: statements("strpos"),
};
