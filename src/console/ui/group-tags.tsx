// User groups as tags: vip and pro yellow, svip and premium red (requirements B2).
import type { TagColour } from "#console/base/colours.ts";
import { ColourTag } from "./status-tag.tsx";
import { Tooltip } from "./tooltip.tsx";

const COLOURS: Readonly<Record<string, TagColour>> = {
  vip: "yellow",
  pro: "yellow",
  svip: "red",
  premium: "red",
};

/** Tags that fit one line of a table. */
const SHOWN = 2;

/** The groups of a user or channel; none means `default`. What does not fit is behind a number. */
export function GroupTags({ groups }: { readonly groups: readonly string[] }) {
  const names = groups.length === 0 ? ["default"] : groups;
  const rest = names.slice(SHOWN);
  return (
    <span className="tg-tags">
      {names.slice(0, SHOWN).map((name) => (
        <ColourTag key={name} colour={COLOURS[name] ?? "black"}>
          {name}
        </ColourTag>
      ))}
      {rest.length === 0 ? null : (
        <Tooltip title={rest.join("、")}>
          <span className="tg-muted">+{rest.length}</span>
        </Tooltip>
      )}
    </span>
  );
}
