// A short list on the page of price lists: drafts, versions.
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Section } from "#console/ui/section.tsx";
import { FormState } from "#console/ui/table-states.tsx";

interface PriceRowsProps<Row> {
  readonly title: string;
  readonly lead: string;
  /** Said where there are none. */
  readonly none: string;
  readonly asked: UseQueryResult<readonly Row[]>;
  /** An item of the list, with its key. */
  readonly show: (row: Row) => ReactNode;
}

export function PriceRows<Row>({ title, lead, none, asked, show }: PriceRowsProps<Row>) {
  const { data, error, refetch } = asked;
  return (
    <Section title={title} lead={lead}>
      {data === undefined ? <FormState error={error} onRetry={() => void refetch()} /> : null}
      {data?.length === 0 ? <p>{none}</p> : null}
      <ul className="tg-price-rows">{data?.map(show)}</ul>
    </Section>
  );
}
