// What a column shows of a row.
import type { ReactNode } from "react";
import type { Column } from "./row-view.ts";
import { QuotaText, TimeText } from "./value-text.tsx";

/** A text in one line, in full on hover; `none` stands for an empty one. */
export function ClippedText({ text, none = "—" }: { readonly text: string; readonly none?: string }) {
  if (text === "") return <span className="tg-muted">{none}</span>;
  return (
    <span className="tg-clip" title={text}>
      {text}
    </span>
  );
}

export function cellOf<Row>(column: Column<Row>, row: Row): ReactNode {
  if ("render" in column) return column.render(row);
  if ("cell" in column) return <column.cell row={row} />;
  // The key of such a column names a field of its kind.
  const value = row[column.key as keyof Row];
  const none = column.none === undefined ? {} : { none: column.none };
  if (column.shows === "text") return <ClippedText text={String(value)} {...none} />;
  if (column.shows === "time") return <TimeText seconds={Number(value)} {...none} />;
  return column.shows === "quota" ? <QuotaText quota={Number(value)} /> : String(value);
}
