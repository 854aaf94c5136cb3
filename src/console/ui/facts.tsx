// What is known of one row, fact by fact: label and value.
import { Descriptions } from "antd";
import type { ReactNode } from "react";

/** false = nothing is known. */
export type Fact = readonly [label: string, value: ReactNode] | false;

export interface FactsProps {
  readonly facts: readonly Fact[];
  readonly columns?: number;
  /** Pixels of the labels; undefined = as long as they are. */
  readonly labelWidth?: number;
}

export function Facts({ facts, columns = 1, labelWidth }: FactsProps) {
  return (
    <Descriptions
      column={columns}
      size="small"
      items={facts
        .filter((fact) => fact !== false)
        .map(([label, children]) => ({ key: label, label, children }))}
      {...(labelWidth === undefined ? {} : { styles: { label: { width: labelWidth } } })}
    />
  );
}
