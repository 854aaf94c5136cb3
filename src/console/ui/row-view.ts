// How rows are shown, whether as a table or as cards: columns, actions, choice. Types only.
import type { ComponentType, ReactNode } from "react";
import type { Permission } from "#contract/permission.ts";

/** What a cell of its own gets. */
export interface CellProps<Row> {
  readonly row: Row;
}

/** The names of a row's fields that hold such a value. */
type FieldOf<Row, Value> = { [Name in keyof Row]: Row[Name] extends Value ? Name : never }[keyof Row] &
  string;

/** What stands in the cells; `key` is the field's name on the wire, by which the server sorts. */
type Content<Row> =
  | { readonly key: string; readonly render: (row: Row) => ReactNode }
  | { readonly key: string; readonly cell: ComponentType<CellProps<Row>> }
  /** Seconds since 1970, quota units, or a number as it is; `none` stands for a moment that has not come. */
  | {
      readonly key: FieldOf<Row, number>;
      readonly shows: "time" | "quota" | "number";
      readonly none?: string;
    }
  /** In one line, in full on hover; `none` for an empty one. */
  | { readonly key: FieldOf<Row, string>; readonly shows: "text"; readonly none?: string };

export type Column<Row> = Content<Row> & ColumnLook;

interface ColumnLook {
  readonly title: string;
  /** Pixels; all widths together are the least width of the table. */
  readonly width: number;
  /** Takes what room is left; the width is then its least. Otherwise all columns share it. */
  readonly isGrowing?: boolean;
  readonly isNumber?: boolean;
  readonly isSortable?: boolean;
  /** Stays at the left while the rest scrolls; cannot be hidden. */
  readonly isFixed?: boolean;
  /** Shown only when the user asks for it. */
  readonly isHiddenAtFirst?: boolean;
  /** Left out on phones: the card's head shows it already. */
  readonly isInHead?: boolean;
}

export interface RowAction {
  readonly key: string;
  readonly label: string;
  /** Left out for administrators who lack it. */
  readonly permission?: Permission;
  readonly icon?: ReactNode;
  readonly onClick: () => void;
  readonly isDanger?: boolean;
  readonly isDisabled?: boolean;
  /** Asked before the click counts. */
  readonly question?: string;
  readonly confirmText?: string;
}

/** Which rows are chosen for an action on many. */
export interface Selection {
  readonly ids: readonly number[];
  readonly choose: (ids: readonly number[]) => void;
}

export interface RowView<Row> {
  readonly columns: readonly Column<Row>[];
  readonly actions?: (row: Row) => readonly RowAction[];
  /** Something richer before the actions, e.g. a copy button with its menu. */
  readonly lead?: (row: Row) => ReactNode;
  readonly actionsWidth?: number;
  /** Head of a card on phones. */
  readonly cardTitle: (row: Row) => ReactNode;
  readonly cardState?: (row: Row) => ReactNode;
  /** Keys of the columns a card shows. */
  readonly cardFacts: readonly string[];
  readonly onOpen?: (row: Row) => void;
  /** Present = rows can be chosen. */
  readonly selection?: Selection | undefined;
}
